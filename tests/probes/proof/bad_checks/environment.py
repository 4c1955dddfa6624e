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
    import json
    import os

    report.fact(json.dumps(sorted(os.environ)), "environment")
    report.fact(os.environ.get("OMP_NUM_THREADS", ""), "threads")
    report.fact(
        os.environ.get("TF_X", "") + os.environ.get("LD_PRELOAD", "") + os.environ.get("PYTHONPATH", ""), "plan"
    )
    report.outcome("Seen.", "已见。")
