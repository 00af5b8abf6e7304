"""Modules that have moved: the names in pickles of earlier versions, and the module names that
users see."""

import importlib
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

import scanloom
import scanloom.tensor as T

# Names in pickles of earlier versions, in addition to the classes of PUBLIC.
PICKLED = [
    "_config _Scan", "_config _Section", "_convert convert", "_from_onnx from_onnx",
    "_function function", "_graph clone", "_loading Source", "_pickling ModelFile",
    "_pickling restore_session", "_pickling restore_stream", "_saving from_bytes", "_saving load",
    "_scan scan", "_session InferenceSession", "_shared _restored", "_shared shared",
    "_shared updates_of", "_variable _input", "_variable _listen", "_views map",
]  # fmt: skip

PUBLIC = {
    scanloom.CheckReport: "_loading", scanloom.ExecutionMode: "_peer", scanloom.In: "_function",
    scanloom.GraphOptimizationLevel: "_options", scanloom.IOBinding: "_binding",
    scanloom.InferenceSession: "_session", scanloom.ModelMetadata: "_session",
    scanloom.NoTestValue: "_test_values", scanloom.NodeArg: "_feeding",
    scanloom.OrderedUpdates: "_shared", scanloom.OrtDevice: "_values",
    scanloom.OrtMemoryInfo: "_peer", scanloom.OrtValue: "_values", scanloom.Out: "_function",
    scanloom.RunOptions: "_options", scanloom.SessionOptions: "_options",
    scanloom.SharedVariable: "_shared", scanloom.Stream: "_stream",
    scanloom.change_flags: "_config", type(scanloom.config): "_config",
    T.TensorConstant: "_variable", T.TensorType: "_types", T.TensorVariable: "_variable",
}  # fmt: skip


@pytest.mark.parametrize("named", PICKLED)
def test_what_pickles_name_is_there(named):
    module, name = named.split()
    found = pickle.loads(f"cscanloom.{module}\n{name}\n.".encode())
    assert found is getattr(importlib.import_module(f"scanloom.{module}"), name)


@pytest.mark.parametrize("public", PUBLIC, ids=lambda public: public.__name__)
def test_public_classes_keep_their_module(public):
    assert public.__module__ == f"scanloom.{PUBLIC[public]}"
    assert repr(type.__repr__(public)) == f'"<class \'scanloom.{PUBLIC[public]}.{public.__name__}\'>"'
    assert pickle.loads(pickle.dumps(public)) is public


def test_inspect_finds_the_source():
    assert "class InferenceSession" in inspect.getsource(scanloom.InferenceSession)
    assert "class SharedVariable" in inspect.getsource(scanloom.SharedVariable)


def test_a_function_of_an_earlier_version():
    x = T.vector("x")
    pickled = pickle.dumps(scanloom.function([x], 2 * x), protocol=0)
    module = scanloom.load.__module__.encode()
    earlier = pickled.replace(b"c" + module + b"\nfrom_bytes", b"cscanloom._saving\nfrom_bytes")
    assert earlier != pickled
    assert pickle.loads(earlier)([1.0, 2.0]).tolist() == [2.0, 4.0]


def test_unpickling_in_another_process_imports_what_it_needs():
    """A variable whose pickle is read before anything else works as any."""
    pickled = b"cscanloom._shared\n_restored\n"
    pickled += pickle.dumps((np.ones(3), "s", (False,)), protocol=0)[:-1] + b"R."
    program = (
        "import pickle, numpy\n"
        f"s = pickle.loads({pickled!r})\n"
        "print((numpy.exp(s - 1) * 2).take([0, 1]).eval())\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.split() == ["[2.", "2.]"], run.stderr


def test_unknown_names_of_a_former_module():
    former = importlib.import_module("scanloom._values")
    with pytest.raises(AttributeError):
        former.absent
    assert not hasattr(former, "__path__")
