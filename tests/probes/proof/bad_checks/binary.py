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

    os.write(2, bytes(range(256)) * 300)
    report._stream.write(
        "\x00\x01 not json\n" + '{"event": "measure", "id": "x", "value": 1e999, "unit": "s", "en": "a", "zh": "b"}\n'
    )
    report._stream.write('{"event": "measure", "id": 3}\n[1]\n' + "{" * 5000 + "\n")
    report.measure("nan", float("nan"), "s", "N", "非")
    report.outcome("Binary.", "二进制。")
