"""The digit reader through Lightning's trainer."""

import time
import warnings

EPOCHS = 15

ID = "lightning-quickstart"
TITLE = (
    "Lightning quickstart: the same reader, less code",
    "Lightning 快速上手：更少的代码",
)
SCENARIO = "rapid-prototyping"
FRAMEWORKS = ("lightning", "pytorch")
PACKAGES = ("lightning", "torch", "numpy")
LIMIT_S = 300.0
PROVES = (
    "Lightning drives a PyTorch training here, with validation and a checkpoint that is loaded again.",
    "Lightning 能在本机驱动 PyTorch 训练，包含验证与检查点的保存和加载。",
)
LIMITS = (
    "1,797 small pictures; the speed of large models is another question.",
    "只有 1797 张小图；大模型的速度是另一回事。",
)
NEAREST = "torch-quickstart"


def run(report):
    began = time.perf_counter()
    report.step("Loading Lightning", "正在加载 Lightning", 0.05)
    import lightning
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    report.imported(began)
    report.version(lightning, torch)
    warnings.filterwarnings("ignore", module="lightning")
    lightning.seed_everything(0, verbose=False)
    x, y, test_x, test_y = (torch.from_numpy(part) for part in report.digits())

    class Reader(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
            self.total = 0.0

        def training_step(self, batch, _):
            loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
            self.total += float(loss.detach()) * len(batch[0])
            return loss

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=3e-3)

        def on_train_epoch_end(self):
            with torch.no_grad():
                right = float((self.net(test_x).argmax(1) == test_y).float().mean())
            clock.epoch(self.total / len(x), right, len(x))
            self.total = 0.0

    trainer = lightning.Trainer(
        max_epochs=EPOCHS, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=report.scratch,
    )  # fmt: skip
    model = Reader()
    clock = report.training(EPOCHS)
    trainer.fit(model, DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True))
    path = report.scratch + "/digits.ckpt"
    trainer.save_checkpoint(path)
    again = Reader.load_from_checkpoint(path, weights_only=False)
    same = torch.equal(again.net(test_x), model.net(test_x))
    report.need(same, "The checkpoint answers differently.", "检查点的结果不同。")
    clock.finish()
