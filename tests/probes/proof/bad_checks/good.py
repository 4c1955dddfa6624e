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
    report.step("Half", "一半", 0.5)
    print("chatter on standard output")
    report.measure("m", 1.5, "s", "M", "量", "lower")
    report.series("s", [(1, 2), (2, 3)], "S", "列", ("x", "横"), ("y", "纵"))
    report.fact("f 1", "here")
    report.outcome("Good.", "好。")
