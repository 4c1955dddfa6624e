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
    import subprocess
    import sys
    import time

    # A grandchild in a session of its own, as Ray and Triton start theirs.
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(97)"], start_new_session=True)
    time.sleep(98)
