"""Libraries that share a process with Scanloom: a small piece of work for each, which fails if its
result is wrong. As a program, imports the named ones in this order, with Scanloom anywhere among
them, and lets each work: after its import, after all imports, in threads at the same time, and
Scanloom in a child after a fork. Prints a checksum of Scanloom's results.

    python neighbours.py LOOP.onnx PRODUCT.onnx numba scanloom torch
"""

from __future__ import annotations

import concurrent.futures
import importlib
import os
import signal
import sys
import threading
import zlib
from typing import Any, Callable

NAMES = ("onnxruntime", "openvino", "torch", "jax", "numba", "llvmlite", "pyarrow")

# OpenMP's and LLVM's of several libraries meet here, so more than one thread is wanted.
THREADS = 2
ROUNDS = 3

LOOP = """
g (float[T,8] x, float[8] h0, string[n] words) => (float[8] h, float[T,8] y, bool[n] vowel) {
  h, y = Scan <num_scan_inputs = 1, body = step (float[8] before, float[8] row)
               => (float[8] after, float[8] out) {
    sum = Add(before, row)
    after = Tanh(sum)
    out = Identity(after)
  }> (h0, x)
  vowel = RegexFullMatch <pattern = "[aeiou].*"> (words)
}"""
PRODUCT = "g (float[n,n] x) => (float[n,n] y) { p = MatMul(x, x) y = Tanh(p) }"


def is_near(found: Any, expected: Any) -> bool:
    import numpy as np  # so that the order of imports is the caller's

    return bool(np.allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-5))


def square() -> Any:
    import numpy as np  # as above

    return np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64)


def of_scanloom(paths: list[str]) -> int:
    """Compiles and runs a loop, matches an expression of RE2, multiplies. Returns a checksum."""
    import numpy as np  # as above
    import scanloom

    session = scanloom.InferenceSession(paths[0], execution="compiled", threads=THREADS)
    x = np.linspace(-1, 1, 800, dtype=np.float32).reshape(100, 8)
    feeds = {"x": x, "h0": np.zeros(8, np.float32), "words": np.array(["apple", "pear"])}
    h, y, vowel = session.run(None, feeds)
    before = np.zeros(8, np.float32)
    for row in x:
        before = np.tanh(before + row)
    assert is_near(h, before) and list(vowel) == [True, False]
    if scanloom.environment()["loop_compiler"].get("holds"):
        assert "compiled" in session.explain(), session.explain()
    (product,) = scanloom.InferenceSession(paths[1], threads=THREADS).run(None, {"x": square()})
    assert is_near(product, np.tanh(square() @ square()))
    return zlib.crc32(h.tobytes() + y.tobytes() + product.tobytes())


def of_onnxruntime(paths: list[str]) -> None:
    import numpy as np  # as above
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(paths[1], options, providers=["CPUExecutionProvider"])
    assert is_near(session.run(None, {"x": square()})[0], np.tanh(square() @ square()))


def of_openvino(paths: list[str]) -> None:
    import numpy as np  # as above
    import openvino

    settings = {"INFERENCE_NUM_THREADS": THREADS, "INFERENCE_PRECISION_HINT": "f32"}
    model = openvino.Core().compile_model(paths[1], "CPU", settings)
    assert is_near(model([square()])[0], np.tanh(square() @ square()))


def of_torch(paths: list[str]) -> None:
    import numpy as np  # as above
    import torch

    x = torch.from_numpy(square()).requires_grad_()
    y = torch.tanh(x @ x)
    y.sum().backward()
    assert is_near(y.detach(), np.tanh(square() @ square())) and bool(torch.isfinite(x.grad).all())
    states, _ = torch.nn.LSTM(8, 4)(torch.ones(20, 1, 8))
    assert states.shape == (20, 1, 4)


def of_jax(paths: list[str]) -> None:
    import jax  # compiles with an LLVM of its own
    import numpy as np  # as above

    def step(h: Any, row: Any) -> Any:
        after = jax.numpy.tanh(h + row)
        return after, after

    x = square()
    h, _ = jax.jit(lambda rows: jax.lax.scan(step, jax.numpy.zeros(64), rows))(x)
    before = np.zeros(64, np.float32)
    for row in x:
        before = np.tanh(before + row)
    assert is_near(h, before)


def of_numba(paths: list[str]) -> None:
    import numba  # compiles with llvmlite's LLVM
    import numpy as np  # as above

    @numba.njit(parallel=True)
    def sum_of_squares(x: Any) -> Any:
        total = 0.0
        for i in numba.prange(len(x)):
            total += x[i] * x[i]
        return total

    assert sum_of_squares(np.arange(1000.0)) == 332833500.0


def of_llvmlite(paths: list[str]) -> None:
    import ctypes

    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly("define i32 @twice(i32 %x) { %y = add i32 %x, %x ret i32 %y }")
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    twice = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(engine.get_function_address("twice"))
    assert twice(21) == 42


def of_pyarrow(paths: list[str]) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc  # has RE2 inside

    assert pc.sum(pa.array([1, 2, 3])).as_py() == 6
    matches = pc.match_substring_regex(pa.array(["apple", "pear"]), "^[aeiou]")
    assert matches.to_pylist() == [True, False]


WORK: dict[str, Callable[[list[str]], Any]] = {
    "scanloom": of_scanloom,
    "onnxruntime": of_onnxruntime,
    "openvino": of_openvino,
    "torch": of_torch,
    "jax": of_jax,
    "numba": of_numba,
    "llvmlite": of_llvmlite,
    "pyarrow": of_pyarrow,
}


def in_threads(names: list[str], paths: list[str]) -> set[int]:
    """Lets all work at the same time, each several times, and returns Scanloom's checksums. Numba's
    pool serves one thread at a time, so each library has one thread."""
    begin = threading.Barrier(len(names))

    def repeat(name: str) -> list[Any]:
        begin.wait(60)
        return [WORK[name](paths) for _ in range(ROUNDS)]

    with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
        results = dict(zip(names, pool.map(repeat, names)))
    return set(results["scanloom"])


def in_child(paths: list[str], expected: int) -> None:
    """Scanloom works in a child, whatever threads the parent has. The others do not promise to."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends it if it waits for a thread that it does not have
        os._exit(0 if of_scanloom(paths) == expected else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with status {status}"


def main(paths: list[str], names: list[str]) -> int:
    checksums = set()
    for name in names:
        importlib.import_module(name)
        found = WORK[name](paths)
        checksums |= {found} if name == "scanloom" else set()
    for name in reversed(names):
        found = WORK[name](paths)
        checksums |= {found} if name == "scanloom" else set()
    checksums |= in_threads(names, paths)
    assert len(checksums) == 1, checksums
    in_child(paths, *checksums)
    print(*checksums)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:3], sys.argv[3:]))
