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
    import ctypes

    ctypes.string_at(0)
