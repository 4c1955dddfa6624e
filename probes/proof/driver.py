"""Runs one check file inside the environment under test and writes what it says as JSON lines.

Run as a script by any Python 3.9 or newer, standard library only:
    python driver.py CHECK_FILE
Standard output is kept for the JSON lines alone: whatever the check or a framework prints goes to standard error.
"""

import json
import math
import os
import sys
import time
import traceback


class CannotRun(Exception):
    """A check raises this where the machine lacks something; en and zh are one sentence each."""

    def __init__(self, en, zh):
        super().__init__(en)
        self.en, self.zh = en, zh


class CheckFailed(Exception):
    """A check raises this where it ran and the answer is no."""

    def __init__(self, en, zh):
        super().__init__(en)
        self.en, self.zh = en, zh


class Report:
    """What a check is given: it tells steps, measures and series, and asks for data and a scratch folder."""

    CannotRun = CannotRun
    CheckFailed = CheckFailed

    def __init__(self, stream, folder, settings):
        self._stream = stream
        self.data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
        self.scratch = folder
        self.settings = settings
        self.started = time.perf_counter()
        self.passed = None

    def step(self, en, zh, share=None):
        self._say(event="step", en=en, zh=zh, share=share)

    def measure(self, id, value, unit, en, zh, better="neither"):
        self._say(event="measure", id=id, value=float(value), unit=unit, en=en, zh=zh, better=better)

    def series(self, id, points, en, zh, x, y, x_unit="", y_unit="", kind="line", predicted=False):
        """POINTS: pairs of numbers. X and Y: (English, Chinese) names of the axes."""
        clean = [[float(a), float(b)] for a, b in points]
        self._say(
            event="series", id=id, en=en, zh=zh, x=list(x), y=list(y), x_unit=x_unit, y_unit=y_unit, kind=kind,
            predicted=predicted, points=clean,
        )  # fmt: skip

    def fact(self, text, source):
        """One fact with its source, shown as evidence (a version, a device name)."""
        self._say(event="fact", fact=str(text), source=str(source))

    def outcome(self, en, zh):
        """The sentence of a check that passed."""
        self.passed = (en, zh)

    def need(self, condition, en, zh):
        """Ends the check as failed where CONDITION is false."""
        if not condition:
            raise CheckFailed(en, zh)

    def digits(self):
        """numpy arrays of handwritten digits: pixels (n, 64) in 0..1 and labels to learn from, then the same held out.

        Every fifth row is held out (359 of 1,797); a fixed shuffle keeps neighbours, who are one writer's, apart.
        """
        import gzip

        import numpy

        with gzip.open(os.path.join(self.data, "digits.u8.gz")) as stream:
            rows = numpy.frombuffer(stream.read(), numpy.uint8).reshape(-1, 65)
        held = numpy.arange(len(rows)) % 5 == 4
        learn = rows[~held][numpy.random.RandomState(0).permutation(int((~held).sum()))]
        test = rows[held]
        return (
            learn[:, 1:].astype(numpy.float32) / 16, learn[:, 0].astype(numpy.int64),
            test[:, 1:].astype(numpy.float32) / 16, test[:, 0].astype(numpy.int64),
        )  # fmt: skip

    def _say(self, **event):
        for key, value in event.items():
            if isinstance(value, float) and not math.isfinite(value):
                event[key] = None
        self._stream.write(json.dumps(event, ensure_ascii=True) + "\n")
        self._stream.flush()


def private_output():
    """A copy of standard output for the JSON lines; standard output itself becomes standard error."""
    copy = os.dup(1)
    os.set_inheritable(copy, False)
    sys.stdout.flush()
    os.dup2(2, 1)
    return os.fdopen(copy, "w", encoding="ascii", newline="\n")


def load(path):
    """The check file as a module of its own name, so that processes which it spawns can find its functions."""
    import importlib.util

    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location("check_" + name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def out_of_memory(error):
    """Whether ERROR says that memory ran out, as Python, torch, TensorFlow, JAX and CUDA say it."""
    if isinstance(error, MemoryError):
        return True
    words = (type(error).__name__ + " " + str(error)).lower()
    signs = ("out of memory", "can't allocate memory", "cannot allocate memory", "outofmemory", "resource_exhausted",
             "bad_alloc", "failed to allocate memory")  # fmt: skip
    return any(sign in words for sign in signs)


def main(argv):
    stream = private_output()
    # The check's folder must not be searched for packages: it holds files named after frameworks.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if p and os.path.abspath(p) not in (here, os.path.join(here, "checks"))]
    settings = json.loads(os.environ.get("STACKFIT_CHECK", "{}"))
    report = Report(stream, settings.get("scratch") or os.getcwd(), settings)
    report._say(event="begin", python=sys.version.split()[0], executable=sys.executable)
    try:
        load(argv[1]).run(report)
    except CannotRun as error:
        report._say(event="result", outcome="cannot_run", en=error.en, zh=error.zh)
    except CheckFailed as error:
        report._say(event="result", outcome="failed", en=error.en, zh=error.zh)
    except ImportError as error:
        traceback.print_exc()
        name = error.name or "?"
        report._say(
            event="result", outcome="failed", missing=name, en="%s cannot be imported: %s" % (name, short(error)),
            zh="无法导入 %s：%s" % (name, short(error)),
        )  # fmt: skip
    except BaseException as error:
        traceback.print_exc()
        outcome = "out_of_memory" if out_of_memory(error) else "failed"
        said = "%s: %s" % (type(error).__name__, short(error))
        report._say(event="result", outcome=outcome, error=True, en=said, zh=said)
    else:
        en, zh = report.passed or ("The check ran to its end.", "检查已完整运行。")
        report._say(event="result", outcome="passed", en=en, zh=zh)
    stream.flush()
    sys.stdout.flush()
    sys.stderr.flush()
    # Frameworks' threads and atexit hooks may hang or crash after the work is done; the answer is already written.
    os._exit(0)


def short(error):
    return " ".join(str(error).split())[:300]


if __name__ == "__main__":
    main(sys.argv)
