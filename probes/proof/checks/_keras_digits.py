"""The digit reader in Keras 3, shared by the checks of its back ends."""

import os
import time

EPOCHS = 10


def run(report, backend):
    os.environ["KERAS_BACKEND"] = backend
    began = time.perf_counter()
    report.step("Loading Keras on " + backend, "正在加载 Keras（" + backend + " 后端）", 0.05)
    import keras
    import numpy as np

    report.imported(began)
    report.version(keras)
    report.fact("keras backend " + keras.config.backend(), "keras.config.backend()")
    keras.utils.set_random_seed(0)
    x, y, test_x, test_y = report.digits()
    x, test_x = x.reshape(-1, 8, 8, 1), test_x.reshape(-1, 8, 8, 1)
    model = keras.Sequential(
        [
            keras.layers.Input((8, 8, 1)), keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
            keras.layers.Conv2D(32, 3, padding="same", activation="relu"), keras.layers.MaxPooling2D(2),
            keras.layers.Flatten(), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10),
        ]
    )  # fmt: skip
    model.compile(
        optimizer=keras.optimizers.Adam(2e-3), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    clock = report.training(EPOCHS)
    for _ in range(EPOCHS):
        told = model.fit(x, y, batch_size=32, epochs=1, verbose=0)
        right = (np.asarray(model.predict(test_x, verbose=0)).argmax(1) == test_y).mean()
        clock.epoch(told.history["loss"][-1], right, len(x))
    path = os.path.join(report.scratch, "digits.keras")
    model.save(path)
    again = keras.saving.load_model(path)
    difference = float(
        np.abs(np.asarray(model.predict(test_x, verbose=0)) - np.asarray(again.predict(test_x, verbose=0))).max()
    )
    report.measure(
        "reload_difference",
        difference,
        "",
        "Largest difference after saving and loading",
        "保存并重新加载后的最大差异",
        "lower",
    )
    report.need(
        difference < 1e-5,
        "The saved model answers differently: %g." % difference,
        "保存后的模型结果不同：%g。" % difference,
    )
    clock.finish()
