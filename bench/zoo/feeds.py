"""Makes the inputs of a model: the same ones every time, in a file next to it."""

import pathlib
import zlib
from collections.abc import Mapping

import numpy as np
import onnx

from zoo.model_list import Input

LONGEST = 1 << 28  # elements of one input


class FeedError(Exception):
    """The inputs of a model cannot be made from what the file and the list say."""


def declared_inputs(model: onnx.ModelProto) -> dict[str, tuple[np.dtype, list[int | None]]]:
    """{name: (dtype, sizes)} of the inputs that a caller has to feed; None for an open size."""
    constants = {tensor.name for tensor in model.graph.initializer}
    found = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            raise FeedError(f"input {value.name!r} is a {kind}, which the zoo does not make")
        tensor = value.type.tensor_type
        sizes = [axis.dim_value if axis.HasField("dim_value") and axis.dim_value > 0 else None
                 for axis in tensor.shape.dim]
        found[value.name] = (onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type), sizes)
    return found


def make(model: onnx.ModelProto, listed: Mapping[str, Input]) -> dict[str, np.ndarray]:
    """Values for every input: as listed, otherwise of the declared sizes."""
    declared = declared_inputs(model)
    unknown = sorted(set(listed) - set(declared))
    if unknown:
        raise FeedError(f"the list names input {unknown[0]!r}; the model has {', '.join(declared)}")
    return {name: _values(name, dtype, sizes, listed.get(name, Input()))
            for name, (dtype, sizes) in declared.items()}


def _values(name: str, dtype: np.dtype, sizes: list[int | None], spec: Input) -> np.ndarray:
    shape = spec.shape if spec.shape is not None else sizes
    if None in shape:
        raise FeedError(f"input {name!r} has open sizes {sizes}; list its shape")
    if np.prod(shape, dtype=np.float64) > LONGEST:
        raise FeedError(f"input {name!r} would have more than {LONGEST} elements")
    if spec.fill is not None:
        return np.full(shape, spec.fill, dtype)
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    if spec.low is not None:
        if np.issubdtype(dtype, np.integer):
            return generator.integers(int(spec.low), int(spec.high), shape).astype(dtype)
        return generator.uniform(spec.low, spec.high, shape).astype(dtype)
    if not np.issubdtype(dtype, np.floating):
        raise FeedError(f"input {name!r} has elements of {dtype}; list low and high, or fill")
    return generator.standard_normal(shape).astype(dtype)


def write(model_path: pathlib.Path, listed: Mapping[str, Input], path: pathlib.Path) -> None:
    """Writes the inputs of the model as .npz."""
    model = onnx.load(str(model_path), load_external_data=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **make(model, listed))
