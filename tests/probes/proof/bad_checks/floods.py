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
    import sys

    for _ in range(20_000):
        print("o" * 100)
        sys.stderr.write("e" * 100 + "\n")
    report.outcome("Flooded.", "淹没。")
