"""A real Triton server started by PyTriton without a container: latency, load, clean stop."""

import socket
import threading
import time
from importlib import metadata

ID = "triton-server"
TITLE = (
    "Triton Inference Server through PyTriton",
    "通过 PyTriton 运行 Triton 推理服务器",
)
SCENARIO = "production-serving"
FRAMEWORKS = ("triton-inference-server",)
PACKAGES = ("nvidia-pytriton", "numpy", "setuptools")
LIMIT_S = 300.0
PLATFORMS = ("linux",)
NEEDS = ("shared_python",)
ON_REQUEST = True
PROVES = (
    "A Triton server starts here without a container, answers several clients over gRPC, and stops.",
    "Triton 服务器能在本机不经容器启动，通过 gRPC 响应多个客户端并停止。",
)
LIMITS = (
    "The model runs in Python on the processor; TensorRT and GPUs are not shown.",
    "模型以 Python 在 CPU 上运行；未展示 TensorRT 与 GPU。",
)
NEAREST = "onnxruntime-http"


def run(report):
    began = time.perf_counter()
    report.step("Loading PyTriton", "正在加载 PyTriton", 0.05)
    import numpy as np
    from pytriton.client import ModelClient
    from pytriton.decorators import batch
    from pytriton.model_config import ModelConfig, Tensor
    from pytriton.triton import Triton, TritonConfig

    report.imported(began)
    report.fact("nvidia-pytriton " + metadata.version("nvidia-pytriton"), "importlib.metadata")
    w = report.shared("digits_weights").weights(report.data + "/digits.onnx")

    @batch
    def infer(pixels):
        return [np.maximum(pixels @ w["w1"] + w["b1"], 0) @ w["w2"] + w["b2"]]

    _, _, x, y = report.digits()
    ports = free_ports(3)
    settings = TritonConfig(http_port=ports[0], grpc_port=ports[1], metrics_port=ports[2], exit_on_error=True)
    start = time.perf_counter()
    report.step("Starting the server", "正在启动服务器", 0.3)
    errors, rates = [0], []
    with Triton(config=settings) as server:
        server.bind(
            model_name="digits", infer_func=infer, inputs=[Tensor(name="pixels", dtype=np.float32, shape=(64,))],
            outputs=[Tensor(name="scores", dtype=np.float32, shape=(10,))], config=ModelConfig(max_batch_size=64),
        )  # fmt: skip
        server.run()
        address = "grpc://127.0.0.1:%d" % ports[1]
        with ModelClient(address, "digits") as client:
            scores = client.infer_batch(x[:50])["scores"]
            right = float((scores.argmax(1) == y[:50]).mean())
            report.measure(
                "start", time.perf_counter() - start, "s", "Time until the first answer", "到首次响应的用时", "lower"
            )
            times = report.latency(lambda: client.infer_batch(x[:1]), 20, 200)
        report.measure("p50", times[100], "ms", "One request, median", "单个请求（中位数）", "lower")
        report.measure("p99", times[197], "ms", "One request, 99 of 100 are faster", "单个请求（99 百分位）", "lower")
        for clients in (1, 2, 4):
            report.step("%d clients at once" % clients, "%d 个并发客户端" % clients, 0.4 + 0.1 * clients)
            done = [0]

            def work(done=done):
                try:
                    with ModelClient(address, "digits") as mine:
                        until = time.perf_counter() + 1.0
                        while time.perf_counter() < until:
                            mine.infer_batch(x[:1])
                            done[0] += 1
                except Exception:
                    errors[0] += 1

            threads = [threading.Thread(target=work) for _ in range(clients)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            rates.append((clients, done[0]))
        stopping = time.perf_counter()
    report.measure("stop", time.perf_counter() - stopping, "s", "Time to stop", "停止用时", "lower")
    report.series(
        "throughput",
        rates,
        "Requests per second by clients",
        "不同客户端数的每秒请求",
        ("clients", "客户端"),
        ("requests per second", "每秒请求"),
        "",
        "requests/s",
    )
    report.measure("errors", errors[0], "", "Failed clients", "失败的客户端", "lower")
    report.need(
        right > 0.9, "Only %.0f %% of the answers are right." % (right * 100), "正确率只有 %.0f %%。" % (right * 100)
    )
    report.need(errors[0] == 0, "%d clients failed." % errors[0], "%d 个客户端失败。" % errors[0])
    report.outcome(
        "Triton serves: p50 %.1f ms, up to %d requests per second, no errors, stopped."
        % (times[100], max(r for _, r in rates)),
        "Triton 可服务：p50 为 %.1f 毫秒，最高每秒 %d 个请求，无错误，已停止。"
        % (times[100], max(r for _, r in rates)),
    )


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports
