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
    import os
    import time

    for _ in range(12):
        if os.fork() == 0:
            os.setsid()
            time.sleep(96)
            os._exit(0)
    report.outcome("Forked.", "已分叉。")
