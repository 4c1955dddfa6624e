"""A check that misbehaves on purpose."""

ID = "bad"
TITLE = ("Bad", "坏")
SCENARIO = "research"
FRAMEWORKS = ()
PACKAGES = ()
LIMIT_S = 5.0
PROVES = ("Nothing.", "无。")
LIMITS = ("None.", "无。")


def run(report):
    raise report.CannotRun("Needs a tail.", "需要尾巴。")
