"""A small network learns digits in TensorFlow; SavedModel, LiteRT conversion and XLA agree with it."""

import os
import time

EPOCHS = 12

ID = "tensorflow-quickstart"
TITLE = (
    "TensorFlow quickstart: train, SavedModel, LiteRT",
    "TensorFlow 快速上手：训练、SavedModel、LiteRT",
)
SCENARIO = "rapid-prototyping"
FRAMEWORKS = ("tensorflow", "savedmodel", "tensorflow-lite")
PACKAGES = ("tensorflow-cpu", "numpy")
LIMIT_S = 300.0
PLATFORMS = ("linux", "win32")
PROVES = (
    "TensorFlow trains here, and its SavedModel, its converted LiteRT model and its XLA-compiled function give the same numbers.",
    "TensorFlow 能在本机训练，其 SavedModel、转换后的 LiteRT 模型与 XLA 编译函数结果一致。",
)
LIMITS = (
    "1,797 small pictures; the speed of large models is another question.",
    "只有 1797 张小图；大模型的速度是另一回事。",
)
NEAREST = "torch-quickstart"


def run(report):
    began = time.perf_counter()
    report.step("Loading TensorFlow", "正在加载 TensorFlow", 0.05)
    import numpy as np
    import tensorflow as tf

    report.imported(began)
    report.fact("tensorflow " + tf.__version__, "tensorflow.__version__")
    tf.keras.utils.set_random_seed(0)
    x, y, test_x, test_y = report.digits()
    weights = [
        tf.Variable(tf.random.normal((64, 128), stddev=0.12)), tf.Variable(tf.zeros(128)),
        tf.Variable(tf.random.normal((128, 10), stddev=0.09)), tf.Variable(tf.zeros(10)),
    ]  # fmt: skip
    optimiser = tf.keras.optimizers.Adam(3e-3)
    optimiser.build(weights)

    def forward(pixels):
        return tf.nn.relu(pixels @ weights[0] + weights[1]) @ weights[2] + weights[3]

    @tf.function
    def learn(pixels, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, forward(pixels)))
        optimiser.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    clock = report.training(EPOCHS)
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x), seed=0).batch(32)
    for _ in range(EPOCHS):
        losses = [float(learn(a, b)) for a, b in data]
        right = (forward(test_x).numpy().argmax(1) == test_y).mean()
        clock.epoch(sum(losses) / len(losses), right, len(x))
    expected = forward(test_x).numpy()

    report.step("SavedModel, LiteRT and XLA", "SavedModel、LiteRT 与 XLA", None)
    module = tf.Module()
    module.weights = weights
    module.serve = tf.function(forward, input_signature=[tf.TensorSpec((None, 64), tf.float32)])
    folder = os.path.join(report.scratch, "saved")
    tf.saved_model.save(module, folder, signatures=module.serve)
    loaded = tf.saved_model.load(folder)
    saved = loaded.serve(test_x).numpy()
    compiled = tf.function(forward, jit_compile=True)(tf.constant(test_x)).numpy()
    converter = tf.lite.TFLiteConverter.from_saved_model(folder)
    content = converter.convert()
    reader = tf.lite.Interpreter(model_content=content)
    first = reader.get_input_details()[0]["index"]
    reader.resize_tensor_input(first, test_x.shape)
    reader.allocate_tensors()
    reader.set_tensor(first, test_x)
    reader.invoke()
    lite = reader.get_tensor(reader.get_output_details()[0]["index"])
    for id, got, en, zh in (
        ("savedmodel", saved, "SavedModel", "SavedModel"), ("xla", compiled, "XLA", "XLA"), ("litert", lite, "LiteRT", "LiteRT"),
    ):  # fmt: skip
        worst = float(np.abs(got - expected).max())
        report.measure(id + "_difference", worst, "", en + ": largest difference", zh + "：最大差异", "lower")
        report.need(worst < 1e-3, "%s differs by %g." % (en, worst), "%s 相差 %g。" % (zh, worst))
    report.measure("litert_size", len(content), "bytes", "Size of the LiteRT model", "LiteRT 模型大小", "lower")
    clock.finish()
