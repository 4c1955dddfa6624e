"""The llama.cpp server of llama-cpp-python on a GGUF file of random weights: start, stream, several clients, stop."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

ID = "llama-cpp-server"
TITLE = (
    "llama.cpp server: first token, throughput, clean stop",
    "llama.cpp 服务器：首词元、吞吐与干净停止",
)
SCENARIO = "llm-serving"
FRAMEWORKS = ("llama-cpp",)
PACKAGES = ("llama-cpp-python[server]", "gguf", "numpy")
LIMIT_S = 300.0
PLATFORMS = ("linux", "darwin")
NEEDS = ("compiler",)
ON_REQUEST = True
PROVES = (
    "llama.cpp loads a GGUF file here and its server streams tokens to several clients: first-token time, tokens per second, errors, and a clean stop.",
    "llama.cpp 能在本机加载 GGUF 文件，其服务器可向多个客户端流式输出：首词元时间、每秒词元数、错误数与干净停止。",
)
LIMITS = (
    "0.1 M random weights, and clients wait for each other in this server. The package has no wheels: the first install compiles it, about 11 minutes of processor time.",
    "只有 10 万随机权重，且该服务器中的客户端依次等待。该软件包没有轮子：首次安装需要编译，约 11 分钟 CPU 时间。",
)
NEAREST = "ctranslate2-serving"

WIDTH, INNER, BLOCKS, HEADS, VOCABULARY, TOKENS = 64, 128, 2, 4, 259, 32


def run(report):
    began = time.perf_counter()
    report.step("Loading llama.cpp", "正在加载 llama.cpp", 0.05)
    import llama_cpp

    report.imported(began)
    report.version(llama_cpp)
    path = os.path.join(report.scratch, "random.gguf")
    write(path)
    report.measure("model_size", os.path.getsize(path), "bytes", "Model size", "模型大小", "lower")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    report.step("Starting the server", "正在启动服务器", 0.3)
    start = time.perf_counter()
    server = subprocess.Popen(
        [sys.executable, "-I", "-m", "llama_cpp.server", "--model", path, "--host", "127.0.0.1", "--port", str(port),
         "--n_ctx", "128", "--n_threads", "1", "--n_threads_batch", "1", "--interrupt_requests", "False",
         "--verbose", "False"],
        stdout=sys.stderr,
    )  # fmt: skip
    try:
        while not up(port):
            report.need(server.poll() is None, "The server ended at its start.", "服务器启动时退出。")
            report.need(time.perf_counter() - start < 90, "The server did not start.", "服务器没有启动。")
            time.sleep(0.1)
        report.measure("start", time.perf_counter() - start, "s", "Time until it serves", "到可服务的用时", "lower")
        ask(port)
        rates, firsts, errors = [], [], 0
        for clients in (1, 2, 4):
            report.step("%d clients" % clients, "%d 个客户端" % clients, 0.4 + 0.1 * clients)
            first, tokens, failed, seconds = load(port, clients, 4)
            errors += failed
            report.need(first and tokens, "No tokens came.", "没有收到词元。")
            rates.append((clients, tokens / seconds))
            firsts.append((clients, sorted(first)[len(first) // 2]))
        axis = ("clients", "客户端")
        report.series(
            "throughput", rates, "Tokens per second by clients", "不同客户端数的每秒词元", axis,
            ("tokens per second", "每秒词元"), "", "tokens/s",
        )  # fmt: skip
        report.series(
            "first_token", firsts, "Time to the first token by clients", "不同客户端数的首词元时间", axis,
            ("time", "时间"), "", "ms",
        )  # fmt: skip
        best = max(rate for _, rate in rates)
        report.measure("first_token", firsts[0][1], "ms", "Time to the first token", "首词元时间", "lower")
        report.measure(
            "first_token_4",
            firsts[-1][1],
            "ms",
            "Time to the first token, 4 clients",
            "4 个客户端的首词元时间",
            "lower",
        )
        report.measure("throughput", best, "tokens/s", "Most tokens per second", "最高每秒词元数", "higher")
        report.measure("errors", errors, "", "Failed requests", "失败的请求", "lower")
        stopped = time.perf_counter()
        server.send_signal(signal.SIGINT)
        code = server.wait(timeout=20)
        report.measure("stop", time.perf_counter() - stopped, "s", "Time to stop", "停止用时", "lower")
    finally:
        if server.poll() is None:
            server.kill()
    report.need(errors == 0, "%d requests failed." % errors, "%d 个请求失败。" % errors)
    # uvicorn stops in order and then hands the signal on to itself.
    report.need(
        code in (0, -signal.SIGINT, 128 + signal.SIGINT), "The server ended with code %s." % code,
        "服务器以代码 %s 结束。" % code,
    )  # fmt: skip
    report.outcome(
        "First token after %.0f ms, up to %.0f tokens per second, no errors, clean stop." % (firsts[0][1], best),
        "首词元 %.0f 毫秒，每秒最多 %.0f 个词元，无错误，干净停止。" % (firsts[0][1], best),
    )


def up(port):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        connection.request("GET", "/v1/models")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False


def ask(port):
    """Milliseconds to the first token of one streamed completion, and its number of tokens."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    words = {"prompt": "1 plus 2 is", "max_tokens": TOKENS, "stream": True, "temperature": 1.0, "seed": 1,
             "logit_bias": {"2": -100}}  # fmt: skip
    start, first, tokens = time.perf_counter(), None, 0
    connection.request("POST", "/v1/completions", json.dumps(words), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    if answer.status != 200:
        raise OSError("status %d" % answer.status)
    for line in answer:
        if line.startswith(b"data:") and b"[DONE]" not in line:
            event = json.loads(line[5:])
            if "choices" not in event:
                raise OSError("the server sent an error")
            if first is None:
                first = (time.perf_counter() - start) * 1e3
            tokens += event["choices"][0]["finish_reason"] is None
    if first is None:
        raise OSError("an empty answer")
    return first, tokens


def load(port, clients, each):
    """CLIENTS threads with EACH requests: first-token times (ms), tokens, failures, seconds."""
    first, tokens, failed = [], [], []

    def client():
        for _ in range(each):
            try:
                waited, count = ask(port)
            except (OSError, http.client.HTTPException, ValueError) as error:
                failed.append(error)
                print("request failed: %r" % error, file=sys.stderr)
            else:
                first.append(waited)
                tokens.append(count)

    threads = [threading.Thread(target=client) for _ in range(clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return first, sum(tokens), len(failed), time.perf_counter() - start


def write(path):
    """A GGUF file at PATH: a llama of random weights whose tokens are single bytes."""
    import gguf
    import numpy as np

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(128)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(BLOCKS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS // 2)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(["<unk>", "<s>", "</s>"] + ["<0x%02X>" % byte for byte in range(256)])
    writer.add_token_scores([0.0] * VOCABULARY)
    writer.add_token_types([2, 3, 3] + [6] * 256)  # unknown, control, control, bytes
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    seed = np.random.RandomState(0)

    def add(name, *shape):
        writer.add_tensor(name, seed.normal(0, 0.3, shape).astype(np.float32))

    add("token_embd.weight", VOCABULARY, WIDTH)
    add("output.weight", VOCABULARY, WIDTH)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for block in range(BLOCKS):
        part = "blk.%d." % block
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(part + name + ".weight", np.ones(WIDTH, np.float32))
        add(part + "attn_q.weight", WIDTH, WIDTH)
        add(part + "attn_k.weight", WIDTH // 2, WIDTH)
        add(part + "attn_v.weight", WIDTH // 2, WIDTH)
        add(part + "attn_output.weight", WIDTH, WIDTH)
        add(part + "ffn_gate.weight", INNER, WIDTH)
        add(part + "ffn_up.weight", INNER, WIDTH)
        add(part + "ffn_down.weight", WIDTH, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
