"""The types that the package promises: mypy accepts the package and programs that use it."""

import ast
import pathlib
import subprocess
import sys

import pytest

import scanloom
from places import PROJECT
from scanloom import _native

PACKAGE = pathlib.Path(scanloom.__file__).parent
SOURCES = PROJECT / "python" / "scanloom"

PROGRAM = '''
import numpy as np
import scanloom
from scanloom.capi.onnxruntime_pybind11_state import NoSuchFile

options = scanloom.SessionOptions(threads=2, states={"state": "stateN"})
options.enable_mem_pattern = False
options.graph_optimization_level = scanloom.GraphOptimizationLevel.ORT_ENABLE_ALL
session = scanloom.InferenceSession("model.onnx", options, providers=["CPUExecutionProvider"])
names: list[str] = [value.name for value in session.get_inputs()]
(y,) = session.run(["y"], {"x": np.zeros(3)}, scanloom.RunOptions(deadline=0.5, max_steps=10))
binding = session.io_binding()
binding.bind_cpu_input("x", np.zeros(3, np.float32))
value = scanloom.OrtValue.ortvalue_from_numpy(np.zeros(3))
element: int = value.element_type()
session.run_with_iobinding(binding)
stream = session.stream()
stream.push({"x": y})
warnings: list[str] = session.warnings()
scanloom.convert("model.xml", "model.onnx", external_data=True, options=options)
try:
    report: scanloom.CheckReport = scanloom.check(b"")
except scanloom.InvalidModel as error:
    notes: tuple[str, ...] = error.notes
except NoSuchFile:
    pass
'''

WRONG = '''
import scanloom

session = scanloom.InferenceSession("model.onnx")
options = scanloom.SessionOptions(thread=2)
options.enable_mem_pattern = "no"
session.get_inputs()[0].nam
scanloom.OrtValue.ortvalue_from_numpy(3).element_type() + "text"
'''


def mypy(folder, *arguments):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache")]
    return subprocess.run(
        [*command, *arguments], cwd=folder, capture_output=True, text=True, timeout=600
    )


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """A folder from which the package's sources are found as a typed package."""
    folder = tmp_path_factory.mktemp("types")
    (folder / "scanloom").symlink_to(SOURCES, target_is_directory=True)
    return folder


def test_mypy_accepts_the_package_in_strict_mode(checked):
    answer = mypy(checked, "-p", "scanloom")
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_mypy_accepts_a_program_and_finds_its_mistakes(checked):
    (checked / "right.py").write_text(PROGRAM)
    (checked / "wrong.py").write_text(WRONG)
    answer = mypy(checked, "right.py")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    answer = mypy(checked, "wrong.py")
    lines = {line.split(":")[1] for line in answer.stdout.splitlines() if ": error:" in line}
    assert {"5", "6", "7", "8"} <= lines, answer.stdout


def stub_names():
    """Names of the stub: of the module, and of each class."""
    tree = ast.parse((SOURCES / "_native.pyi").read_text())
    names = {"": set()}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            names[""].add(node.name)
            names[node.name] = {member.name for member in node.body} - {"__init__"}
        elif isinstance(node, ast.FunctionDef):
            names[""].add(node.name)
    return names


def public(holder):
    return {name for name in dir(holder) if not name.startswith("_")}


def test_the_stub_names_what_the_module_has():
    names = stub_names()
    assert names.pop("") == public(_native)
    for name, members in names.items():
        assert members == public(getattr(_native, name)), name


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").is_file() and (PACKAGE / "_native.pyi").is_file()
    assert set(scanloom.__all__) <= public(scanloom)
