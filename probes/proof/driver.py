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
        """UNIT as in the field ("s", "ms", "bytes", "samples/s", "ratio"); "share" is told in per cent."""
        if unit == "share":
            value, unit = value * 100, "%"
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

    def version(self, *modules):
        """Facts: the version that each imported module says of itself."""
        for module in modules:
            self.fact(
                "%s %s" % (module.__name__, getattr(module, "__version__", "?")), module.__name__ + ".__version__"
            )

    def imported(self, began):
        """The measure of an import that began at BEGAN (time.perf_counter)."""
        self.measure("import", time.perf_counter() - began, "s", "Time to import", "导入用时", "lower")

    def shared(self, name):
        """A part that several checks share: the module of checks/_NAME.py."""
        return load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "checks", "_%s.py" % name))

    def training(self, epochs, goal=0.95):
        """A clock for the same work in every framework: call `epoch` after each pass, `finish` at the end."""
        return Training(self, epochs, goal)

    def latency(self, work, warm=20, count=100):
        """Sorted milliseconds of COUNT calls of WORK after WARM calls that do not count."""
        for _ in range(warm):
            work()
        times = []
        for _ in range(count):
            start = time.perf_counter()
            work()
            times.append((time.perf_counter() - start) * 1e3)
        return sorted(times)

    def _say(self, **event):
        for key, value in event.items():
            if isinstance(value, float) and not math.isfinite(value):
                event[key] = None
        self._stream.write(json.dumps(event, ensure_ascii=True) + "\n")
        self._stream.flush()


class Training:
    """Learning curve, speed and time to a stated accuracy on the digits, the same measures for every framework."""

    def __init__(self, report, epochs, goal):
        self.report, self.epochs, self.goal = report, epochs, goal
        self.losses, self.accuracies, self.rows, self.reached = [], [], 0, None
        self.start = time.perf_counter()

    def epoch(self, loss, accuracy, rows):
        """After one pass over ROWS rows: the mean training LOSS and the ACCURACY on held-out digits."""
        number = len(self.losses) + 1
        self.rows += rows
        self.losses.append((number, float(loss)))
        self.accuracies.append((number, float(accuracy)))
        if self.reached is None and accuracy >= self.goal:
            self.reached = time.perf_counter() - self.start
        percent = accuracy * 100
        self.report.step(
            "Epoch %d of %d: %.1f %% right" % (number, self.epochs, percent),
            "第 %d/%d 轮：正确率 %.1f %%" % (number, self.epochs, percent), 0.1 + 0.9 * number / self.epochs,
        )  # fmt: skip

    def finish(self):
        """Tells the measures, and fails the check where the loss did not fall or the goal was missed."""
        report, seconds = self.report, time.perf_counter() - self.start
        accuracy = self.accuracies[-1][1]
        axis = ("epoch", "轮")
        report.series("loss", self.losses, "Training loss", "训练损失", axis, ("loss", "损失"))
        report.series(
            "accuracy",
            self.accuracies,
            "Accuracy on held-out digits",
            "留出数字上的准确率",
            axis,
            ("accuracy", "准确率"),
        )
        report.measure("accuracy", accuracy, "share", "Accuracy on held-out digits", "留出数字上的准确率", "higher")
        report.measure("train", seconds, "s", "Training time", "训练用时", "lower")
        report.measure("throughput", self.rows / seconds, "samples/s", "Training speed", "训练速度", "higher")
        goal = self.goal * 100
        if self.reached is not None:
            report.measure(
                "to_goal", self.reached, "s", "Training time to %d %%" % goal, "训练到 %d %% 用时" % goal, "lower"
            )
        whole = time.perf_counter() - report.started
        report.measure("script", whole, "s", "From starting Python to trained", "从启动 Python 到训练完成", "lower")
        first, last = self.losses[0][1], self.losses[-1][1]
        if len(self.losses) > 1:
            report.need(last < first * 0.5, "The loss did not fall: %.3f to %.3f." % (first, last),
                        "损失没有下降：%.3f 到 %.3f。" % (first, last))  # fmt: skip
        report.need(
            accuracy >= self.goal, "Accuracy %.1f %%, below the goal of %d %%." % (accuracy * 100, goal),
            "准确率 %.1f %%，低于目标 %d %%。" % (accuracy * 100, goal),
        )  # fmt: skip
        report.outcome(
            "Trained in %.1f s to %.1f %% accuracy; %.0f s from starting Python, of the half hour that is allowed."
            % (seconds, accuracy * 100, whole),
            "训练 %.1f 秒，准确率 %.1f %%；从启动 Python 起共 %.0f 秒，远低于半小时的要求。"
            % (seconds, accuracy * 100, whole),
        )


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
    report._say(event="begin", python=sys.version.split()[0], versions=versions(settings.get("packages", ())))
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


def versions(names):
    """The installed version of each distribution in NAMES that is there."""
    from importlib import metadata

    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def short(error):
    return " ".join(str(error).split())[:300]


if __name__ == "__main__":
    main(sys.argv)
