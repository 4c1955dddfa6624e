"""The digit reader in Keras 3 on PyTorch, saved and loaded again."""

ID = "keras-torch"
TITLE = (
    "Keras on PyTorch: train, save, load",
    "Keras（PyTorch 后端）：训练、保存、加载",
)
SCENARIO = "rapid-prototyping"
FRAMEWORKS = ("keras", "pytorch")
PACKAGES = ("keras", "torch", "numpy")
LIMIT_S = 300.0
PROVES = (
    "Keras 3 with PyTorch behind it trains here, and a saved model answers exactly as before.",
    "以 PyTorch 为后端的 Keras 3 能在本机训练，保存后的模型结果完全一致。",
)
LIMITS = (
    "1,797 small pictures; the speed of large models is another question.",
    "只有 1797 张小图；大模型的速度是另一回事。",
)
NEAREST = "torch-quickstart"


def run(report):
    report.shared("keras_digits").run(report, "torch")
