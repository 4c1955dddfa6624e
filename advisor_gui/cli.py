"""The command line: which commands and options there are, and how an outcome becomes an exit code."""

from __future__ import annotations

import argparse
import errno
import io
import re
import sys
from collections.abc import Callable
from typing import NoReturn

from knowledge.documents import BadInput
from knowledge.text import Text

OK, NO, BAD, COULD_NOT = 0, 1, 2, 3
SCHEMAS = (
    "machine", "answers", "recommendation", "assessment", "memory", "findings", "resolve", "smoke", "report", "framework",
    "scenario",
)  # fmt: skip


class _Parser(argparse.ArgumentParser):
    """Bad usage is one sentence and exit code 2, as for any other bad input."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(Text(
            f"{self.prog}: {message}. `{self.prog} --help` shows what it takes.",
            f"{self.prog}：{_in_chinese(message)}。`{self.prog} --help` 说明用法。",
        ))  # fmt: skip


def _seconds(word: str) -> float:
    """A time limit: a positive number of seconds, at most a week."""
    try:
        seconds = float(word)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= 604_800:  # also false for nan
        raise argparse.ArgumentTypeError(f"found {word[:40]!r}; allowed are numbers above 0 and up to 604800")
    return seconds


def _in_chinese(message: str) -> str:
    """A complaint of argparse in Chinese; what has no rule here stays as it is."""
    rules = (
        (r"unrecognized arguments: (.*)", r"无法识别的参数：\1"),
        (r"the following arguments are required: (.*)", r"缺少必需的参数：\1"),
        (r"argument (.*?): invalid choice: (.*?) \(choose from (.*)\)", r"参数 \1：发现 \2；允许的值有 \3"),
        (r"argument (.*?): expected one argument", r"参数 \1：需要一个值"),
        (r"argument (.*?): expected at least one argument", r"参数 \1：至少需要一个值"),
        (r"argument (.*?): invalid (?:float|int) value: (.*)", r"参数 \1：发现 \2；应为数字"),
        (r"argument (.*?): found (.*?); allowed are numbers above 0 and up to (\d+)", r"参数 \1：发现 \2；应为大于 0、不超过 \3 的数字"),
        (r"ambiguous option: (.*?) could match (.*)", r"选项 \1 有多种可能：\2"),
    )
    for rule, said in rules:
        match = re.fullmatch(rule, message, re.DOTALL)
        if match is not None:
            return match.expand(said)
    return message


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = _Parser(
        prog="stackfit",
        description="Find, explain and prove the machine-learning stack that fits this computer and your project.",
        epilog="Without a command the window opens. Exit codes: 0 ok, 1 the answer is no, 2 bad input, 3 could not do it.",
    )
    top.add_argument("--version", action="store_true", help="say the version and end")
    top.add_argument("--self-test", action="store_true", help="start every part once and say what works")
    common = _Parser(add_help=False)
    common.add_argument("--format", choices=("text", "json"), default="text", help="text for people (default) or json")
    common.add_argument("--lang", choices=("en", "zh"), default=None, help="language of sentences")
    common.add_argument("--machine", metavar="FILE", help="a machine file or recording; default: this machine")
    common.add_argument("--policy", metavar="FILE", help="a team policy to obey")
    project = _Parser(add_help=False)
    project.add_argument("--answers", metavar="FILE", help="an answers file (YAML or JSON)")
    project.add_argument("--scenario", metavar="ID", help="a scenario, such as llm-finetuning")
    project.add_argument("--set", action="append", default=[], metavar="key=value", help="one answer, dotted key")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)

    def add(name: str, what: str, *parents: _Parser) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=what, description=what, parents=[common, *parents])

    one = add("probe", "Say what this computer is.")
    one.add_argument("--no-environments", action="store_true", help="skip the search for Python environments")
    one = add("record", "Write a recording of this computer, personal details replaced.")
    one.add_argument("out", metavar="FILE.zip")
    one = add("doctor", "Find what is wrong with the machine and its Python environments, with repairs.")
    one.add_argument("--python", metavar="PATH", help="look at this environment")
    one = add("advise", "Recommend a stack for a project on this computer.", project)
    one.add_argument("--what-if", action="store_true", help="also say what would change the answer")
    one = add("assess", "Say whether one framework can be used here, and why or why not.", project)
    one.add_argument("framework", metavar="FRAMEWORK")
    one = add("size", "Estimate the memory that a model needs here.", project)
    one.add_argument("--model", metavar="FILE_OR_PARAMS", help="config.json, GGUF, safetensors, a preset, or 7B")
    one.add_argument("--method", choices=("full", "lora", "qlora", "scratch", "infer"))
    one = add("resolve", "Ask the resolver whether the plan installs here.", project)
    one.add_argument("--framework", metavar="ID")
    one.add_argument("--client", choices=("uv", "pip"), default="uv")
    one.add_argument("--lock", metavar="FILE", help="write the lock with hashes to FILE")
    one.add_argument("--python", metavar="PATH", help="an environment that the plan would go into")
    one = add("smoke", "Prove a stack with a short test on this computer.", project)
    one.add_argument("check", nargs="?", metavar="CHECK")
    one.add_argument("--list", action="store_true", help="list the checks and whether they run here")
    one.add_argument("--all", action="store_true", help="run every check that runs here")
    one.add_argument("--framework", metavar="ID")
    one.add_argument("--python", metavar="PATH", help="run in this environment and install nothing")
    one.add_argument("--limit", type=_seconds, metavar="SECONDS", help="end the check after so many seconds")
    one.add_argument("--bundle", metavar="DIR", help="write a folder to run on another device")
    one.add_argument("--script", metavar="FILE_OR_DIR", help="run your own code on the stack in place of a check")
    one.add_argument("--result", metavar="FILE", help="read what a bundle brought back from a device")
    one = add("report", "Write the report: html, pdf, md or json by the suffix.", project)
    one.add_argument("--out", required=True, metavar="FILE")
    one.add_argument("--title")
    one.add_argument("--smoke", action="append", default=[], metavar="CHECK", help="run this check for the report")
    one.add_argument("--verify", action="store_true", help="ask the resolver for the report")
    one.add_argument("--against", action="append", default=[], metavar="FRAMEWORK", help="compare the stack with this one")
    one.add_argument("--compare", nargs="+", default=[], metavar="MACHINE", help="compare these machine files or recordings")
    one = add("starter", "Write a starter project for the recommended stack.", project)
    one.add_argument("--out", required=True, metavar="DIR")
    one.add_argument("--lock", action="store_true", help="ask the resolver and add the lock with hashes")
    one = add("go", "Do the whole job here: probe, advise, embedded smoke test, report.", project)
    one.add_argument("--out", default="stackfit-report.html", metavar="FILE")
    one = add("knowledge", "Look into the knowledge base.")
    one.add_argument("action", choices=("check", "list", "show", "refresh"))
    one.add_argument("id", nargs="?", metavar="ID")
    one.add_argument("--out", metavar="FILE", help="refresh: write the diff to FILE")
    one = add("fleet", "One table over many machines, and the stack that runs on all of them.", project)
    one.add_argument("paths", nargs="+", metavar="FOLDER_OR_FILE")
    one.add_argument("--csv", metavar="FILE")
    one = add("policy", "Check a team policy.")
    one.add_argument("action", choices=("check",))
    one.add_argument("file", metavar="FILE")
    one = add("wheelhouse", "Collect the packages of a plan, with hashes, for machines without network.", project)
    one.add_argument("--out", required=True, metavar="DIR")
    one.add_argument("--framework", metavar="ID")
    one = add("schema", "Print the JSON Schema of one document.")
    one.add_argument("name", choices=SCHEMAS)
    one = add("window", "Open the window.")
    one.add_argument("file", nargs="?", metavar="FILE.stackfit")
    return top


def main(argv: list[str], *, window: Callable[[str | None], int], self_test: Callable[[], int]) -> int:
    """Run one command; no exception leaves, no traceback reaches the user.

    WINDOW and SELF_TEST are handed in, since the command line itself knows no toolkit.
    """
    cancelled = "已取消。" if _language(argv) == "zh" else "Cancelled."
    if sys.stdout is None:  # closed by who started it; the exit code is then the answer
        sys.stdout = io.StringIO()
    try:
        return _main(argv, window, self_test)
    except BadInput as error:
        return _complain(said(error, _language(argv)), BAD)
    except KeyboardInterrupt:
        return _complain(cancelled, COULD_NOT)
    except BrokenPipeError:
        # The reader (head, less) went away: not our fault, and nobody is left to tell.
        sys.stdout = None
        return OK
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # the table printer ends the program where the reader left
            return OK
        return stop.code if isinstance(stop.code, int) else OK
    except Exception as error:  # noqa: BLE001 - the last door: a person gets a sentence, the log gets the traceback
        from advisor_gui import session
        from probes.progress import Cancelled

        if isinstance(error, session.CouldNot):
            return _complain(said(error, _language(argv)), COULD_NOT)
        if isinstance(error, Cancelled):
            return _complain(cancelled, COULD_NOT)
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            full = Text("The output could not be written: no space left on the device.", "输出无法写入：设备已没有剩余空间。")
            return _complain(full.said(_language(argv)), COULD_NOT)
        return _complain(_unexpected(error).said(_language(argv)), COULD_NOT)


def _main(argv: list[str], window: Callable[[str | None], int], self_test: Callable[[], int]) -> int:
    if argv[:1] == ["--probe-child"]:  # a frozen program starts itself for limited native calls
        from probes import native

        return native.child_main(argv[1:])
    if argv[:1] == ["--child-script"] and len(argv) >= 2:  # a frozen program is its own Python for a check in it
        import runpy

        sys.argv = argv[1:]
        runpy.run_path(argv[1], run_name="__main__")
        return OK
    options = parser().parse_args(argv)
    if options.version:
        from advisor_gui import session

        print(f"stackfit {session.version()}")
        return OK
    if options.self_test:
        return self_test()
    if options.command is None or options.command == "window":
        return _window(options, window)
    from advisor_gui import cli_commands

    return cli_commands.run(options)


def _window(options: argparse.Namespace, window: Callable[[str | None], int]) -> int:
    from advisor_gui import session

    if not session.has_display():
        return _complain(
            Text(
                "There is no display here, so no window can open. The same job in the terminal: `stackfit go`; "
                "`stackfit --help` lists the single steps.",
                "这里没有显示器，无法打开窗口。在终端完成同样的工作：`stackfit go`；`stackfit --help` 列出各个步骤。",
            ).said(session.default_language()),
            COULD_NOT,
        )
    try:
        return window(getattr(options, "file", None))
    except ImportError as error:
        return _complain(
            Text(
                f"The window needs PySide6 and its system libraries ({error}). The same job in the terminal: `stackfit go`.",
                f"窗口需要 PySide6 及其系统库（{error}）。在终端完成同样的工作：`stackfit go`。",
            ).said(session.default_language()),
            COULD_NOT,
        )


def _language(argv: list[str]) -> str:
    """The language asked for on this command line, readable even where the rest of it is not."""
    for place, word in enumerate(argv):
        if word in ("--lang=zh", "--lang=en"):
            return word[-2:]
        if word == "--lang" and argv[place + 1 : place + 2] in (["zh"], ["en"]):
            return argv[place + 1]
    from advisor_gui import session

    return session.default_language()


def said(error: BaseException, language: str) -> str:
    """The sentence of an error that carries a Text, else its message."""
    text = getattr(error, "text", None)
    return text.said(language) if text is not None else str(error)


def _complain(sentence: str, code: int) -> int:
    print(sentence, file=sys.stderr)
    return code


def _unexpected(error: BaseException) -> Text:
    """Keeps the traceback for a bug report and says where it is."""
    import tempfile
    import traceback

    kind = f"{type(error).__name__}: {error}"[:200]
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="stackfit-fault-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as log:
            log.write("".join(traceback.format_exception(error)))
    except OSError as full:  # a full or read-only disk must not hide what went wrong first
        why = full.strerror or str(full)
        return Text(
            f"Something went wrong inside Stackfit ({kind}). Its details could not be kept: {why}.",
            f"Stackfit 内部出错（{kind}）。详细信息无法保存：{why}。",
        )
    return Text(
        f"Something went wrong inside Stackfit ({kind}). The details are in {log.name}.",
        f"Stackfit 内部出错（{kind}）。详细信息在 {log.name}。",
    )
