"""The digit reader in Keras 3 on TensorFlow, saved and loaded again."""

ID = "keras-tensorflow"
TITLE = (
    "Keras on TensorFlow: train, save, load",
    "Keras（TensorFlow 后端）：训练、保存、加载",
)
SCENARIO = "rapid-prototyping"
FRAMEWORKS = ("keras", "tensorflow")
PACKAGES = ("keras", "tensorflow-cpu", "numpy")
LIMIT_S = 300.0
PLATFORMS = ("linux", "win32")
PROVES = (
    "Keras 3 with TensorFlow behind it trains here, and a saved model answers exactly as before.",
    "以 TensorFlow 为后端的 Keras 3 能在本机训练，保存后的模型结果完全一致。",
)
LIMITS = (
    "1,797 small pictures; the speed of large models is another question.",
    "只有 1797 张小图；大模型的速度是另一回事。",
)
NEAREST = "torch-quickstart"


def run(report):
    report.shared("keras_digits").run(report, "tensorflow")
