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
    report.need(False, "The answer is no.", "答案是否。")
