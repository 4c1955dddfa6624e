"""One iteration of PPO with Ray RLlib, and a clean stop of Ray."""

import tempfile
import time

ID = "rllib-ppo"
TITLE = (
    "Ray RLlib: PPO, start and clean stop",
    "Ray RLlib：PPO，启动与干净退出",
)
SCENARIO = "reinforcement-learning"
FRAMEWORKS = ("rllib", "ray")
PACKAGES = ("torch", "numpy", "ray[rllib]")
LIMIT_S = 400.0
ON_REQUEST = True
PROVES = (
    "Ray starts here, RLlib trains, and everything stops again.",
    "Ray 能在本机启动，RLlib 能训练，并能全部停止。",
)
LIMITS = (
    "One iteration on one machine.",
    "单机上的一次迭代。",
)
NEAREST = "sb3-ppo"


def short_folder(scratch):
    """Ray's sockets lie below this folder, and a socket's path may have about 100 characters."""
    return scratch if len(scratch) < 40 else tempfile.mkdtemp(prefix="sf-", dir="/tmp")


def run(report):
    began = time.perf_counter()
    report.step("Loading Ray", "正在加载 Ray", 0.05)
    import ray

    report.version(ray)
    start = time.perf_counter()
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=100_000_000,
        log_to_driver=False,
        _temp_dir=short_folder(report.scratch),
    )
    report.measure("ray_start", time.perf_counter() - start, "s", "Time to start Ray", "启动 Ray 用时", "lower")

    @ray.remote
    def square(number):
        return number * number

    report.need(
        ray.get([square.remote(n) for n in range(8)]) == [n * n for n in range(8)],
        "Ray's tasks gave wrong answers.",
        "Ray 任务结果错误。",
    )
    report.step("Loading RLlib", "正在加载 RLlib", 0.4)
    from ray.rllib.algorithms.ppo import PPOConfig

    report.imported(began)
    made = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0)
        .training(train_batch_size_per_learner=1000, minibatch_size=128, num_epochs=4)
        .debugging(seed=0)
    )
    algorithm = made.build_algo()
    points = []
    start = time.perf_counter()
    for turn in range(1, 4):
        report.step("Iteration %d" % turn, "第 %d 次迭代" % turn, 0.5 + 0.1 * turn)
        told = algorithm.train()
        points.append((turn, told["env_runners"]["episode_return_mean"]))
    seconds = time.perf_counter() - start
    report.series("reward", points, "Mean reward", "平均奖励", ("iteration", "迭代"), ("reward", "奖励"))
    report.measure("steps_per_s", 3000 / seconds, "steps/s", "Training speed", "训练速度", "higher")
    algorithm.stop()
    ray.shutdown()
    report.need(points[-1][1] > points[0][1], "The reward did not rise.", "奖励没有上升。")
    report.outcome(
        "The reward rose from %.0f to %.0f in 3 iterations; Ray stopped." % (points[0][1], points[-1][1]),
        "3 次迭代奖励从 %.0f 升到 %.0f；Ray 已停止。" % (points[0][1], points[-1][1]),
    )
