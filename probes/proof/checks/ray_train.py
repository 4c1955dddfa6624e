"""Ray Train: two CPU workers train one model; one is killed, and the run goes on from its checkpoint."""

import os
import tempfile
import time

ID = "ray-train"
TITLE = (
    "Ray Train: two workers, one of them killed",
    "Ray Train：两个工作进程，其中一个被杀",
)
SCENARIO = "distributed-training"
FRAMEWORKS = ("ray-train", "ray")
PACKAGES = ("torch", "numpy", "ray[train]")
LIMIT_S = 400.0
PLATFORMS = ("linux", "darwin")
ON_REQUEST = True
PROVES = (
    "Ray Train starts two workers here, they share the gradients, and after one is killed Ray starts again from the checkpoint by itself.",
    "Ray Train 能在本机启动两个工作进程并共享梯度；其中一个被杀后，Ray 会自动从检查点重新开始。",
)
LIMITS = (
    "Two CPU workers on one machine; several nodes and a shared file system have to be tried on the cluster.",
    "仅为单机上的两个 CPU 工作进程；多节点与共享文件系统需要在集群上验证。",
)
NEAREST = "torch-ddp"

STEPS, SAVED_AT, DIE_AT = 24, 10, 15


def short_folder(scratch):
    """Ray's sockets lie below this folder, and a socket's path may have about 100 characters."""
    return scratch if len(scratch) < 40 else tempfile.mkdtemp(prefix="sf-", dir="/tmp")


def run(report):
    began = time.perf_counter()
    report.step("Loading Ray", "正在加载 Ray", 0.05)
    import ray
    import torch
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    report.imported(began)
    report.version(ray, torch)
    start = time.perf_counter()
    ray.init(
        num_cpus=3, include_dashboard=False, object_store_memory=100_000_000, log_to_driver=False,
        _temp_dir=short_folder(report.scratch),
    )  # fmt: skip
    report.measure("ray_start", time.perf_counter() - start, "s", "Time to start Ray", "启动 Ray 用时", "lower")
    x, y, _, _ = report.digits()
    work = worker()

    def trained(name, die):
        mark = os.path.join(report.scratch, name + ".died")
        told = os.path.join(report.scratch, name + ".losses")
        trainer = TorchTrainer(
            work,
            train_loop_config={"x": x, "y": y, "mark": mark if die else None, "told": told},
            scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
            torch_config=TorchConfig(backend="gloo"),
            run_config=RunConfig(
                name=name, storage_path=os.path.join(report.scratch, "runs"),
                failure_config=FailureConfig(max_failures=1),
            ),
        )  # fmt: skip
        begun = time.perf_counter()
        trainer.fit()
        with open(told) as stream:
            lines = [line.split() for line in stream]
        return [(int(s), float(v)) for s, v in lines], time.perf_counter() - begun, os.path.exists(mark)

    report.step("Training with 2 workers", "正在用 2 个工作进程训练", 0.3)
    whole, seconds, _ = trained("whole", False)
    report.measure("run", seconds, "s", "One run, workers' start included", "一次运行（含启动）", "lower")
    report.step("Killing one worker", "正在杀死一个进程", 0.6)
    broken, longer, died = trained("broken", True)
    report.need(died, "No worker was killed.", "没有进程被杀死。")
    report.measure(
        "recovery", longer - seconds, "s", "Time that the killed worker cost", "进程被杀带来的额外用时", "lower"
    )
    # After the kill the steps since the checkpoint stand in the file a second time.
    turn = max(place for place in range(1, len(broken)) if broken[place][0] <= broken[place - 1][0])
    again = broken[turn:]
    axis = (("step", "步"), ("loss", "损失"))
    report.series("loss_unbroken", whole, "Loss without a break", "未中断的损失", *axis)
    report.series("loss_recovered", again, "Loss after recovery", "恢复后的损失", *axis)
    report.measure("resumed_at", again[0][0] - 1, "", "Step at which training went on", "恢复训练的步数")
    report.need(again[0][0] == SAVED_AT + 1, "Training did not go on from the checkpoint.", "训练没有从检查点继续。")
    reference = dict(whole)
    difference = max(abs(reference[step] - value) for step, value in again)
    report.measure(
        "recovery_difference", difference, "", "Largest difference of the loss after recovery",
        "恢复后损失的最大差异", "lower",
    )  # fmt: skip
    begun = time.perf_counter()
    ray.shutdown()
    report.measure("stop", time.perf_counter() - begun, "s", "Time to stop", "停止用时", "lower")
    report.need(
        difference < 1e-4, "The loss after recovery differs by %g." % difference, "恢复后的损失相差 %g。" % difference
    )
    report.need(whole[-1][1] < whole[0][1], "The loss did not fall.", "损失没有下降。")
    report.outcome(
        "The loss fell from %.2f to %.2f; Ray went on from step %d after a worker was killed."
        % (whole[0][1], whole[-1][1], again[0][0] - 1),
        "损失从 %.2f 降到 %.2f；一个进程被杀后，Ray 从第 %d 步继续。" % (whole[0][1], whole[-1][1], again[0][0] - 1),
    )


def worker():
    """The training function; made inside another so that Ray carries its code, for workers cannot import this file."""
    saved_at, die_at, steps = SAVED_AT, DIE_AT, STEPS

    def work(options):
        import os
        import tempfile

        import ray.train
        import ray.train.torch
        import torch
        from torch import nn

        torch.manual_seed(0)
        torch.set_num_threads(1)
        context = ray.train.get_context()
        rank, world = context.get_world_rank(), context.get_world_size()
        inner = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
        optimiser = torch.optim.SGD(inner.parameters(), lr=0.05, momentum=0.9)
        x, y = torch.tensor(options["x"]), torch.tensor(options["y"])
        first, checkpoint = 0, ray.train.get_checkpoint()
        if checkpoint is not None:
            with checkpoint.as_directory() as folder:
                saved = torch.load(os.path.join(folder, "state.pt"), weights_only=True)
            inner.load_state_dict(saved["model"])
            optimiser.load_state_dict(saved["optimiser"])
            first = saved["step"]
        model = ray.train.torch.prepare_model(inner)
        for step in range(first, steps):
            mark = options["mark"]
            if mark and step == die_at and rank == 1 and not os.path.exists(mark):
                open(mark, "w").close()
                os.kill(os.getpid(), 9)
            # The global batch is one and the same however many workers share it.
            place = step * 128 % (len(x) - 128)
            mine = slice(place + rank * 128 // world, place + (rank + 1) * 128 // world)
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model(x[mine]), y[mine])
            loss.backward()
            optimiser.step()
            mean = loss.detach().clone()
            torch.distributed.all_reduce(mean)
            value = float(mean) / world
            if rank == 0:
                with open(options["told"], "a") as stream:
                    stream.write("%d %r\n" % (step + 1, value))
            if step + 1 == saved_at:
                with tempfile.TemporaryDirectory() as folder:
                    state = {"model": inner.state_dict(), "optimiser": optimiser.state_dict(), "step": step + 1}
                    torch.save(state, os.path.join(folder, "state.pt"))
                    mine_too = ray.train.Checkpoint.from_directory(folder) if rank == 0 else None
                    ray.train.report({"loss": value}, checkpoint=mine_too)
            else:
                ray.train.report({"loss": value})

    return work
