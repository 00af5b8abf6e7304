"""new_operator.py in a copy of the tree, which the checks of the sources must accept."""

import re
import shutil
import subprocess
import sys

import pytest
from conftest import PROJECT, Tree

FOLDERS = ("docs", "include", "python", "src", "tests", "tools")
WHOLE = ("check_lists.py", "check_layers.py")
FUNCTIONS = "include/scanloom/functions.inc"
EACH_FILE = ("check_words.py", "check_sizes.py", "check_format.sh")


def copy_of_the_tree(root) -> Tree:
    ignored = shutil.ignore_patterns("__pycache__", "data")
    for folder in FOLDERS:
        shutil.copytree(PROJECT / folder, root / folder, ignore=ignored)
    for name in (".clang-format", "CMakeLists.txt"):
        shutil.copy(PROJECT / name, root)
    return Tree(root)


def lines(tree, path):
    return (tree.root / path).read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A copy with the operators softsign, which both formats know, and log_cosh, which neither
    does; and what the script has said of each."""
    tree = copy_of_the_tree(tmp_path_factory.mktemp("tree"))
    said = {"softsign": tree.passes("new_operator.py", "softsign", "--doc", "x / (1 + |x|)."),
            "log_cosh": tree.passes("new_operator.py", "log_cosh", "--group",
                                    "Trigonometric and hyperbolic functions")}
    return tree, said


@pytest.fixture(scope="module")
def written(made, tmp_path_factory):
    """The written files alone, which checks of single files are quick for."""
    tree, said = made
    alone = Tree(tmp_path_factory.mktemp("written"))
    paths = {path for text in said.values()
             for path in re.findall(r"^  (\S+/\S+)$", text.split("left to fill in:")[0], re.M)}
    for path in {*paths, ".clang-format"}:
        alone.write(path, (tree.root / path).read_text(encoding="utf-8"))
    return alone


@pytest.mark.parametrize("check", WHOLE)
def test_checks_of_the_tree_accept_the_skeleton(made, check):
    made[0].passes(check)


@pytest.mark.parametrize("check", EACH_FILE)
def test_checks_of_each_file_accept_the_skeleton(written, check):
    assert len(list(written.root.rglob("*.cpp"))) > 5
    written.passes(check)


def test_names_the_files_and_what_is_left(made):
    _, said = made
    written, left = said["log_cosh"].split("left to fill in:")
    assert "src/ops/elementwise/log_cosh.cpp" in written and "src/ops/list.inc" in written
    assert "frontends" not in written and "exporters" not in written
    assert "src/ops/elementwise/log_cosh.cpp: scalar()" in left and "pull_log_cosh" in left


def test_reads_and_writes_what_a_format_knows(made):
    tree, said = made
    assert "convert_softsign was removed" in said["softsign"]
    onnx, openvino = "src/frontends/onnx", "src/frontends/openvino"
    assert 'SCANLOOM_ONNX_OP(Softsign, "", pointwise, 1, 1, 1, 1, 22)' in lines(tree, f"{onnx}/list.inc")
    assert '    {"Softsign", &ops::softsign_op},' in lines(tree, f"{onnx}/ops/pointwise.cpp")
    assert "SCANLOOM_OPENVINO(SoftSign, unary, 1, 1, 9)" in lines(tree, f"{openvino}/list.inc")
    assert '    {"SoftSign", &ops::softsign_op},' in lines(tree, f"{openvino}/ops/pointwise.cpp")
    forms = lines(tree, "src/exporters/openvino/forms.cpp")
    assert '    {&ops::softsign_op, nullptr, "SoftSign", 9},' in forms
    assert '    {&ops::softsign_op, "Softsign"},' in lines(tree, "src/exporters/onnx/forms.cpp")


def test_rows_stand_in_their_order(made):
    rows = lines(made[0], "src/ops/list.inc")[1:]
    assert "SCANLOOM_OP(softsign)" in rows and rows == sorted(rows, key=lambda row: row[:-1])


def test_documents_the_function_in_its_group(made):
    tree, _ = made
    page = (tree.root / "docs/tensor-functions.md").read_text()
    group = page.split("### Trigonometric and hyperbolic functions")[1].split("###")[0]
    assert group.rstrip().endswith("| `log_cosh` | The function log_cosh. |")
    listed = (tree.root / FUNCTIONS).read_text()
    section = listed.split("// Trigonometric and hyperbolic functions")[1].split("//")[0]
    assert 'SCANLOOM_FUNCTION(log_cosh, "log_cosh", "The function log_cosh.")' in section


def test_generates_the_python_function(made):
    tree, _ = made
    assert "def log_cosh(x: Expr, /) -> Expr: ..." in lines(tree, "python/scanloom/_native.pyi")
    assert ('log_cosh = _unary(_native.log_cosh, "The function log_cosh.")'
            in lines(tree, "python/scanloom/tensor/_elementwise.py"))


def test_writes_five_files_by_hand_and_three_that_are_generated(made):
    _, said = made
    written = re.findall(r"^  (\S+/\S+)$", said["log_cosh"].split("left to fill in:")[0], re.M)
    generated = {"docs/tensor-functions.md", "python/scanloom/_native.pyi",
                 "python/scanloom/tensor/_elementwise.py"}
    assert set(written) - generated == {
        FUNCTIONS, "src/grad/elementwise.cpp", "src/ops/elementwise/log_cosh.cpp",
        "src/ops/list.inc", "tests/ops/elementwise/log_cosh.cpp"}
    assert generated < set(written)


@pytest.mark.parametrize(("name", "problem"), [
    ("Softsign", "is no name of an operator"),
    ("tanh", "has the operator tanh"),
    ("square", "include/scanloom/expr.h has the function square"),
    ("log2", "scanloom.tensor has the function log2"),
])
def test_refuses_a_name(name, problem):
    script = str(PROJECT / "tools/dev/new_operator.py")
    run = subprocess.run([sys.executable, script, name], capture_output=True, text=True)
    assert run.returncode == 1 and problem in run.stderr


def test_writes_nothing_where_a_place_is_missing(tmp_path):
    tree = copy_of_the_tree(tmp_path)
    listed = (tree.root / FUNCTIONS).read_text()
    tree.write(FUNCTIONS, listed.replace("// Exponentials and logarithms", "// Exponentials"))
    answer = tree.fails("new_operator.py", "log_cosh")
    assert f"{FUNCTIONS}: no group '// Exponentials and logarithms'" in answer
    assert "log_cosh" not in (tree.root / "src/ops/list.inc").read_text()
    assert not (tree.root / "src/ops/elementwise/log_cosh.cpp").exists()
