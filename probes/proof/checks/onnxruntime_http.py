"""ONNX Runtime behind a small HTTP server under rising load, and a clean stop."""

import http.client
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time

ID = "onnxruntime-http"
TITLE = (
    "ONNX Runtime behind HTTP: throughput and p99 under load",
    "HTTP 服务中的 ONNX Runtime：负载下的吞吐与 p99",
)
SCENARIO = "production-serving"
FRAMEWORKS = ("onnxruntime",)
PACKAGES = ("onnxruntime", "numpy")
LIMIT_S = 180.0
ORDER = 1
PLATFORMS = ("linux", "darwin")
PROVES = (
    "A served model answers several clients at once here: throughput, p50, p99 and errors at rising concurrency, and the server stops cleanly.",
    "部署的模型能在本机同时响应多个客户端：不同并发下的吞吐、p50、p99 与错误数，并能干净停止。",
)
LIMITS = (
    "Server and clients share this machine; the standard library's server is no production server.",
    "服务器与客户端共用本机；标准库服务器并非生产级。",
)
NEAREST = "onnxruntime-embedded"


def run(report):
    start = time.perf_counter()
    report.step("Starting the server", "正在启动服务器", 0.1)
    server = subprocess.Popen(
        [sys.executable, "-I", __file__, os.path.join(report.data, "digits.onnx")], stdout=subprocess.PIPE, text=True
    )
    try:
        told = json.loads(server.stdout.readline())
        port = told["port"]
        report.fact("onnxruntime " + told["version"], "onnxruntime.__version__")
        _, _, x, y = report.digits()
        right = sum(
            ask(http.client.HTTPConnection("127.0.0.1", port), row) == int(label) for row, label in zip(x[:40], y[:40])
        )
        report.measure(
            "start", time.perf_counter() - start, "s", "Time until the first answer", "到首次响应的用时", "lower"
        )
        rates, tails, errors, best = [], [], 0, 0.0
        for place, clients in enumerate((1, 2, 4, 8, 16)):
            report.step("%d clients at once" % clients, "%d 个并发客户端" % clients, 0.2 + 0.15 * place)
            times, failed = load(port, x, clients, 1.0)
            errors += failed
            rate = len(times) / 1.0
            best = max(best, rate)
            rates.append((clients, rate))
            tails.append((clients, times[int(len(times) * 0.99)] if times else 0.0))
            if clients in (1, 8):
                report.measure(
                    "p50_%d" % clients,
                    times[len(times) // 2],
                    "ms",
                    "%d clients: median" % clients,
                    "%d 个客户端：中位数" % clients,
                    "lower",
                )
                report.measure(
                    "p99_%d" % clients,
                    tails[-1][1],
                    "ms",
                    "%d clients: 99 of 100 are faster" % clients,
                    "%d 个客户端：99 百分位" % clients,
                    "lower",
                )
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
        report.series(
            "p99",
            tails,
            "99th percentile by clients",
            "不同客户端数的 99 百分位",
            ("clients", "客户端"),
            ("time", "时间"),
            "",
            "ms",
        )
        report.measure("throughput", best, "requests/s", "Most requests per second", "最高每秒请求数", "higher")
        report.measure("errors", errors, "", "Failed requests", "失败的请求", "lower")
        stopped = time.perf_counter()
        server.send_signal(signal.SIGTERM)
        code = server.wait(timeout=10)
        report.measure("stop", time.perf_counter() - stopped, "s", "Time to stop", "停止用时", "lower")
    finally:
        if server.poll() is None:
            server.kill()
    report.need(right >= 36, "Only %d of 40 digits were right." % right, "40 个数字中只有 %d 个正确。" % right)
    report.need(errors == 0, "%d requests failed." % errors, "%d 个请求失败。" % errors)
    report.need(code == 0, "The server ended with code %s." % code, "服务器以代码 %s 结束。" % code)
    report.outcome(
        "%.0f requests per second, p99 with 8 clients %.1f ms, no errors, clean stop." % (best, dict(tails)[8]),
        "每秒 %.0f 个请求，8 个客户端时 p99 为 %.1f 毫秒，无错误，干净停止。" % (best, dict(tails)[8]),
    )


def ask(connection, row):
    connection.request("POST", "/", body=row.tobytes())
    answer = connection.getresponse()
    return int(answer.read()) if answer.status == 200 else None


def load(port, x, clients, seconds):
    times, failed, until = [], [0], time.perf_counter() + seconds

    def client(number):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        place = number
        while time.perf_counter() < until:
            start = time.perf_counter()
            try:
                if ask(connection, x[place % len(x)]) is None:
                    failed[0] += 1
            except (OSError, http.client.HTTPException):
                failed[0] += 1
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            times.append((time.perf_counter() - start) * 1e3)
            place += clients

    threads = [threading.Thread(target=client, args=(n,)) for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(times), failed[0]


def serve(path):
    import numpy as np
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):
            row = np.frombuffer(self.rfile.read(int(self.headers["Content-Length"])), np.float32).reshape(1, 64)
            answer = str(int(session.run(None, {"pixels": row})[0].argmax())).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

    server = Server(("127.0.0.1", 0), Handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(json.dumps({"port": server.server_address[1], "version": ort.__version__}), flush=True)
    server.serve_forever()
    server.server_close()


if __name__ == "__main__":
    serve(sys.argv[1])
