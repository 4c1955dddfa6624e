"""A model served by Ray Serve on this machine: requests, tail latency, clean stop."""

import os
import socket
import tempfile
import time
import urllib.request

ID = "ray-serve"
TITLE = (
    "Ray Serve: requests, p99, clean stop",
    "Ray Serve：请求、p99 与干净停止",
)
SCENARIO = "production-serving"
FRAMEWORKS = ("ray-serve", "ray")
PACKAGES = ("ray[serve]", "onnxruntime", "numpy")
LIMIT_S = 400.0
PLATFORMS = ("linux", "darwin")
ON_REQUEST = True
PROVES = (
    "Ray Serve starts a replica here, answers several clients and stops.",
    "Ray Serve 能在本机启动副本、响应多个客户端并停止。",
)
LIMITS = (
    "One machine; scaling over machines is not shown.",
    "仅单机；未展示多机扩展。",
)
NEAREST = "onnxruntime-http"


def short_folder(scratch):
    """Ray's sockets lie below this folder, and a socket's path may have about 100 characters."""
    return scratch if len(scratch) < 40 else tempfile.mkdtemp(prefix="sf-", dir="/tmp")


def run(report):
    began = time.perf_counter()
    report.step("Loading Ray", "正在加载 Ray", 0.05)
    import ray
    from ray import serve

    report.imported(began)
    report.version(ray)
    start = time.perf_counter()
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=100_000_000,
        log_to_driver=False,
        _temp_dir=short_folder(report.scratch),
    )
    path = os.path.join(report.data, "digits.onnx")

    @serve.deployment(num_replicas=1, ray_actor_options={"num_cpus": 1})
    class Reader:
        def __init__(self, model):
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1
            self.session = onnxruntime.InferenceSession(model, options)

        async def __call__(self, request):
            import numpy

            row = numpy.frombuffer(await request.body(), numpy.float32).reshape(1, 64)
            return str(int(self.session.run(None, {"pixels": row})[0].argmax()))

    port = free_port()
    serve.start(http_options={"port": port, "host": "127.0.0.1"})
    serve.run(Reader.bind(path))
    report.measure("start", time.perf_counter() - start, "s", "Time until it serves", "到可服务的用时", "lower")
    _, _, x, y = report.digits()
    report.step("Measuring", "正在测量", 0.7)
    right, times, errors = 0, [], 0
    for row, label in zip(x[:200], y[:200]):
        begun = time.perf_counter()
        try:
            with urllib.request.urlopen(
                urllib.request.Request("http://127.0.0.1:%d/" % port, data=row.tobytes()), timeout=10
            ) as answer:
                right += int(answer.read()) == int(label)
        except OSError:
            errors += 1
        times.append((time.perf_counter() - begun) * 1e3)
    times.sort()
    report.measure("p50", times[100], "ms", "One request, median", "单个请求（中位数）", "lower")
    report.measure("p99", times[197], "ms", "One request, 99 of 100 are faster", "单个请求（99 百分位）", "lower")
    report.measure("errors", errors, "", "Failed requests", "失败的请求", "lower")
    begun = time.perf_counter()
    serve.shutdown()
    ray.shutdown()
    report.measure("stop", time.perf_counter() - begun, "s", "Time to stop", "停止用时", "lower")
    report.need(
        errors == 0 and right >= 180,
        "%d requests failed, %d of 200 digits were right." % (errors, right),
        "%d 个请求失败，200 个数字中 %d 个正确。" % (errors, right),
    )
    report.outcome(
        "p50 %.1f ms, p99 %.1f ms, no errors; Ray stopped." % (times[100], times[197]),
        "p50 为 %.1f 毫秒，p99 为 %.1f 毫秒，无错误；Ray 已停止。" % (times[100], times[197]),
    )


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
