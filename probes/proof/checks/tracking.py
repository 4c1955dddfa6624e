"""One run recorded by MLflow in a local SQLite file and by Weights & Biases offline."""

import os
import time

ID = "tracking"
TITLE = (
    "Experiment tracking without a server: MLflow and W&B offline",
    "无需服务器的实验跟踪：MLflow 与离线 W&B",
)
SCENARIO = "research"
FRAMEWORKS = ("mlflow", "wandb")
PACKAGES = ("mlflow", "wandb")
LIMIT_S = 300.0
PROVES = (
    "MLflow on SQLite and W&B offline record a run here without any network, and the numbers can be read back.",
    "MLflow（SQLite）与离线 W&B 能在本机无网络记录一次运行，数值可读回。",
)
LIMITS = (
    "The servers and their pages are not started.",
    "没有启动服务器及其网页。",
)
NEAREST = "reproducibility"


def run(report):
    began = time.perf_counter()
    report.step("Loading MLflow", "正在加载 MLflow", 0.1)
    import mlflow

    report.imported(began)
    report.version(mlflow)
    place = os.path.join(report.scratch, "mlflow.sqlite")
    mlflow.set_tracking_uri("sqlite:///" + place)
    start = time.perf_counter()
    number = mlflow.create_experiment("check", artifact_location="file://" + report.scratch + "/artifacts")
    with mlflow.start_run(experiment_id=number) as record:
        mlflow.log_param("seed", 0)
        for step in range(50):
            mlflow.log_metric("loss", 1 / (step + 1), step=step)
    report.measure(
        "mlflow", time.perf_counter() - start, "s", "MLflow: 50 values recorded", "MLflow：记录 50 个数值", "lower"
    )
    kept = mlflow.MlflowClient().get_metric_history(record.info.run_id, "loss")
    report.need(
        len(kept) == 50 and abs(kept[-1].value - 0.02) < 1e-9,
        "MLflow gave other numbers back.",
        "MLflow 读回的数值不同。",
    )

    report.step("Recording with W&B offline", "正在用 W&B 离线记录", 0.6)
    import wandb

    report.version(wandb)
    start = time.perf_counter()
    offline = wandb.init(
        project="check", mode="offline", dir=report.scratch, settings=wandb.Settings(console="off", silent=True)
    )
    for step in range(50):
        offline.log({"loss": 1 / (step + 1)})
    folder = offline.dir
    offline.finish()
    report.measure("wandb", time.perf_counter() - start, "s", "W&B: 50 values recorded", "W&B：记录 50 个数值", "lower")
    found = [
        os.path.join(base, n)
        for base, _, names in os.walk(os.path.dirname(folder))
        for n in names
        if n.endswith(".wandb")
    ]
    size = sum(os.path.getsize(path) for path in found)
    report.measure("wandb_size", size, "bytes", "Size of the offline file", "离线文件大小")
    report.need(size > 1000, "W&B wrote no offline file.", "W&B 没有写出离线文件。")
    report.outcome(
        "Both recorded 50 values offline; MLflow gave them back.", "两者都在离线状态下记录了 50 个数值，MLflow 已读回。"
    )
