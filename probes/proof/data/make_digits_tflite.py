"""How digits_float.tflite and digits_int8.tflite were made: the network of digits.onnx, converted by TensorFlow.

Run by hand in an environment with TensorFlow: python make_digits_tflite.py
"""

from __future__ import annotations

from pathlib import Path

import make_digits_onnx
import numpy as np
import tensorflow as tf


def main() -> None:
    w1, b1, w2, b2 = (tf.constant(w) for w in make_digits_onnx.train())

    @tf.function(input_signature=[tf.TensorSpec((1, 64), tf.float32)])
    def read(pixels: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(pixels @ w1 + b1) @ w2 + b2

    folder = Path(__file__).parent
    pixels, _ = make_digits_onnx.rows_to_learn()
    for name in ("float", "int8"):
        converter = tf.lite.TFLiteConverter.from_concrete_functions([read.get_concrete_function()])
        if name == "int8":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
            converter.representative_dataset = lambda: ([row[None].astype(np.float32)] for row in pixels[:200])
            converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
            converter.inference_input_type = converter.inference_output_type = tf.int8
        (folder / f"digits_{name}.tflite").write_bytes(converter.convert())


if __name__ == "__main__":
    main()
