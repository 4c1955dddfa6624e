"""The digit reader as logistic regression and a small network in scikit-learn."""

import time

EPOCHS = 20

ID = "sklearn-quickstart"
TITLE = (
    "scikit-learn quickstart: the smallest download",
    "scikit-learn 快速上手：下载量最小",
)
SCENARIO = "classic-teaching"
FRAMEWORKS = ("scikit-learn",)
PACKAGES = ("scikit-learn", "numpy")
LIMIT_S = 120.0
ORDER = 1
PROVES = (
    "scikit-learn installs, learns and predicts here, with the smallest download of all the checks that train.",
    "scikit-learn 能在本机安装、学习和预测，是所有训练类检查中下载量最小的。",
)
LIMITS = (
    "1,797 small pictures; the speed of large models is another question.",
    "只有 1797 张小图；大模型的速度是另一回事。",
)
NEAREST = "torch-quickstart"


def run(report):
    began = time.perf_counter()
    report.step("Loading scikit-learn", "正在加载 scikit-learn", 0.05)
    import sklearn
    from sklearn.neural_network import MLPClassifier

    report.imported(began)
    report.version(sklearn)
    x, y, test_x, test_y = report.digits()
    model = MLPClassifier((64,), learning_rate_init=3e-3, batch_size=32, random_state=0)
    clock = report.training(EPOCHS)
    for _ in range(EPOCHS):
        model.partial_fit(x, y, classes=list(range(10)))
        clock.epoch(model.loss_, model.score(test_x, test_y), len(x))
    clock.finish()
