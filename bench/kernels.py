"""Models of a single node, for kernels_bench.cpp: the cost of a call to one kernel."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from model_file import save

# name: (operator, shapes of the fed inputs, shapes of the constant inputs, attributes, rank of the
# result)
KERNELS = {
    "add_16": ("Add", [[16], [16]], [], {}, 1),
    "add_64k": ("Add", [[65536], [65536]], [], {}, 1),
    "tanh_256": ("Tanh", [[256]], [], {}, 1),
    "matmul_1x64x64": ("MatMul", [[1, 64]], [[64, 64]], {}, 2),
    "matmul_128x128x128": ("MatMul", [[128, 128], [128, 128]], [], {}, 2),
    "softmax_64x64": ("Softmax", [[64, 64]], [], {"axis": -1}, 2),
    "mean_64x64": ("ReduceMean", [[64, 64]], [], {"axes": [1], "keepdims": 0}, 1),
    "conv_128x129x3": ("Conv", [[1, 129, 4]], [[128, 129, 3]], {"pads": [1, 1]}, 3),
}


def write_all(folder):
    """Writes every model as FOLDER/<name>.onnx."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (operator, fed, constant, attributes, rank) in KERNELS.items():
        generator = np.random.default_rng(11)
        constants = [
            onnx.numpy_helper.from_array(
                (generator.standard_normal(shape) * 0.1).astype(np.float32), f"constant{index}"
            )
            for index, shape in enumerate(constant)
        ]
        names = [f"input{index}" for index in range(len(fed))]
        node = helper.make_node(
            operator, names + [constant.name for constant in constants], ["result"], **attributes
        )
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in zip(names, fed)
        ]
        save(
            folder / f"{name}.onnx",
            [node],
            inputs,
            [helper.make_tensor_value_info("result", TensorProto.FLOAT, [None] * rank)],
            constants,
        )
