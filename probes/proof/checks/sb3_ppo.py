"""PPO learns to balance a pole with Stable-Baselines3; the same seed gives the same bits."""

import time

STEPS = 10240

ID = "sb3-ppo"
TITLE = (
    "Stable-Baselines3: PPO balances a pole",
    "Stable-Baselines3：PPO 平衡倒立摆",
)
SCENARIO = "reinforcement-learning"
FRAMEWORKS = ("stable-baselines3", "pytorch")
PACKAGES = ("torch", "numpy", "stable-baselines3", "gymnasium")
LIMIT_S = 300.0
ORDER = 1
PROVES = (
    "PPO learns here: the reward rises, so many steps a second, and a second run gives the same weights.",
    "PPO 能在本机学习：奖励上升，给出每秒步数，第二次运行得到相同的权重。",
)
LIMITS = (
    "A toy environment; real simulators are the bottleneck in practice.",
    "玩具环境；实际瓶颈通常是模拟器。",
)
NEAREST = "torch-quickstart"


def run(report):
    began = time.perf_counter()
    report.step("Loading Stable-Baselines3", "正在加载 Stable-Baselines3", 0.05)
    import gymnasium
    import numpy as np
    import stable_baselines3
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback

    report.imported(began)
    report.version(torch, stable_baselines3, gymnasium)

    class Watch(BaseCallback):
        def __init__(self):
            super().__init__()
            self.points = []

        def _on_step(self):
            return True

        def _on_rollout_end(self):
            ends = [e["r"] for e in self.model.ep_info_buffer]
            if ends:
                self.points.append((self.num_timesteps, float(np.mean(ends[-20:]))))
                report.step(
                    "%d steps, mean reward %.0f" % self.points[-1],
                    "%d 步，平均奖励 %.0f" % self.points[-1],
                    min(0.1 + self.num_timesteps / STEPS * 0.7, 0.8),
                )

    def learn(steps, watch=None):
        model = PPO(
            "MlpPolicy",
            gymnasium.make("CartPole-v1"),
            seed=0,
            device="cpu",
            n_steps=512,
            batch_size=64,
            learning_rate=1e-3,
        )
        model.learn(steps, callback=watch)
        return model

    watch = Watch()
    start = time.perf_counter()
    learn(STEPS, watch)
    seconds = time.perf_counter() - start
    report.series(
        "reward",
        watch.points,
        "Mean reward of the last episodes",
        "最近各回合的平均奖励",
        ("steps", "步数"),
        ("reward", "奖励"),
    )
    report.measure("steps_per_s", STEPS / seconds, "steps/s", "Training speed", "训练速度", "higher")
    report.step("Running it twice", "正在重复运行", 0.85)
    bits = [b"".join(p.detach().numpy().tobytes() for p in learn(1024).policy.parameters()) for _ in range(2)]
    same = bits[0] == bits[1]
    report.measure(
        "same_bits", float(same), "", "Two runs give the same bits (1: yes)", "两次运行逐位相同（1 为是）", "higher"
    )
    first, best = watch.points[0][1], max(p for _, p in watch.points)
    report.measure("reward", best, "", "Best mean reward", "最高平均奖励", "higher")
    report.need(
        best > first * 2,
        "The reward did not rise: %.0f to %.0f." % (first, best),
        "奖励没有上升：%.0f 到 %.0f。" % (first, best),
    )
    report.need(same, "Two runs gave different weights.", "两次运行得到的权重不同。")
    report.outcome(
        "The reward rose from %.0f to %.0f at %.0f steps a second." % (first, best, STEPS / seconds),
        "奖励从 %.0f 升到 %.0f，每秒 %.0f 步。" % (first, best, STEPS / seconds),
    )
