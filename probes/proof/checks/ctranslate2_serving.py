"""A tiny language model in INT8 behind a streaming server: first token, throughput, errors."""

import http.client
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time

ID = "ctranslate2-serving"
TITLE = (
    "Language model serving: first token and throughput under load",
    "语言模型服务：负载下的首词元时间与吞吐",
)
SCENARIO = "llm-serving"
FRAMEWORKS = ("transformers",)
PACKAGES = ("torch", "numpy", "transformers", "ctranslate2")
LIMIT_S = 400.0
ORDER = 1
PLATFORMS = ("linux", "darwin")
PROVES = (
    "A converted INT8 language model streams tokens to several clients at once here; first-token time, tokens per second and errors.",
    "转换为 INT8 的语言模型能在本机同时向多个客户端流式输出；首词元时间、每秒词元数与错误数。",
)
LIMITS = (
    "A model of 0.1 M random weights: the serving path is proven, the speed of a 7 B model is not.",
    "只有 10 万随机权重的模型：证明了服务流程，不代表 7B 模型的速度。",
)
NEAREST = "onnxruntime-http"


def run(report):
    began = time.perf_counter()
    report.step("Loading Transformers and CTranslate2", "正在加载 Transformers 与 CTranslate2", 0.05)
    import ctranslate2
    import torch
    import transformers

    report.imported(began)
    report.version(torch, transformers, ctranslate2)
    tiny = report.shared("tiny_llama")
    folder, made = os.path.join(report.scratch, "model"), os.path.join(report.scratch, "int8")
    model, tokens = tiny.model(transformers, torch).eval(), tiny.tokenizer()
    model.save_pretrained(folder)
    tokens.save_pretrained(folder)
    report.step("Converting to INT8", "正在转换为 INT8", 0.3)
    start = time.perf_counter()
    ctranslate2.converters.TransformersConverter(folder).convert(made, quantization="int8")
    report.measure("convert", time.perf_counter() - start, "s", "Time to convert", "转换用时", "lower")
    size = sum(os.path.getsize(os.path.join(made, n)) for n in os.listdir(made))
    report.measure("model_size", size, "bytes", "Size of the INT8 model", "INT8 模型大小", "lower")
    prompt = tokens.convert_ids_to_tokens(tokens("7 plus 5 is")["input_ids"])
    # Exact in float32, so the conversion itself is compared there.
    exact = os.path.join(report.scratch, "f32")
    ctranslate2.converters.TransformersConverter(folder).convert(exact)
    wanted = model.generate(**tokens("7 plus 5 is", return_tensors="pt"), max_new_tokens=16, do_sample=False)
    wanted = wanted[0][len(prompt) :].tolist()
    got = (
        ctranslate2.Generator(exact, compute_type="float32")
        .generate_batch([prompt], max_length=16, sampling_topk=1, include_prompt_in_result=False)[0]
        .sequences_ids[0]
    )
    same = sum(a == b for a, b in zip(wanted, got)) / 16
    report.measure(
        "same_tokens",
        same,
        "share",
        "Tokens as in Transformers (float32)",
        "与 Transformers 相同的词元比例（float32）",
        "higher",
    )

    report.step("Starting the server", "正在启动服务器", 0.5)
    server = subprocess.Popen([sys.executable, "-I", __file__, made], stdout=subprocess.PIPE, text=True)
    errors, rates = 0, []
    try:
        port = json.loads(server.stdout.readline())["port"]
        for clients in (1, 2, 4, 8):
            report.step("%d clients at once" % clients, "%d 个并发客户端" % clients, 0.5 + 0.05 * clients)
            firsts, count, failed, seconds = load(port, prompt, clients)
            errors += failed
            rates.append((clients, count / seconds))
            report.measure(
                "first_token_%d" % clients,
                firsts[len(firsts) // 2] if firsts else 0,
                "ms",
                "%d clients: first token, median" % clients,
                "%d 个客户端：首词元（中位数）" % clients,
                "lower",
            )
        server.send_signal(signal.SIGTERM)
        code = server.wait(timeout=10)
    finally:
        if server.poll() is None:
            server.kill()
    report.series(
        "throughput",
        rates,
        "Tokens per second by clients",
        "不同客户端数的每秒词元",
        ("clients", "客户端"),
        ("tokens per second", "每秒词元"),
        "",
        "tokens/s",
    )
    best = max(r for _, r in rates)
    report.measure("throughput", best, "tokens/s", "Most tokens per second", "最高每秒词元数", "higher")
    report.measure("errors", errors, "", "Failed requests", "失败的请求", "lower")
    report.need(
        same >= 0.9,
        "Only %.0f %% of the tokens agree with Transformers." % (same * 100),
        "与 Transformers 相同的词元只有 %.0f %%。" % (same * 100),
    )
    report.need(errors == 0, "%d requests failed." % errors, "%d 个请求失败。" % errors)
    report.need(code == 0, "The server ended with code %s." % code, "服务器以代码 %s 结束。" % code)
    report.outcome(
        "%.0f tokens per second, no errors, clean stop." % best, "每秒 %.0f 个词元，无错误，干净停止。" % best
    )


def load(port, prompt, clients, requests=6):
    firsts, counts, failed = [], [], [0]

    def client():
        for _ in range(requests):
            start = time.perf_counter()
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
                connection.request("POST", "/", body=json.dumps(prompt))
                answer = connection.getresponse()
                line = answer.readline()
                firsts.append((time.perf_counter() - start) * 1e3)
                count = 0
                while line:
                    count += 1
                    line = answer.readline()
                counts.append(count)
                if count != 48:
                    failed[0] += 1
            except (OSError, http.client.HTTPException):
                failed[0] += 1

    threads = [threading.Thread(target=client) for _ in range(clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(firsts), sum(counts), failed[0], time.perf_counter() - start


def serve(path):
    import ctranslate2

    generator = ctranslate2.Generator(path, compute_type="int8", inter_threads=2, intra_threads=1)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            prompt = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()
            for told in generator.generate_tokens(
                prompt, max_length=48, min_length=48, sampling_topk=1, end_token="<pad>"
            ):
                self.wfile.write((json.dumps(told.token) + "\n").encode())
                self.wfile.flush()

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

    server = Server(("127.0.0.1", 0), Handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(json.dumps({"port": server.server_address[1]}), flush=True)
    server.serve_forever()
    server.server_close()


if __name__ == "__main__":
    serve(sys.argv[1])
    os._exit(0)
