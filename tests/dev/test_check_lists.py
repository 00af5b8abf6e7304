import pytest

OPERATOR = "namespace scanloom::ops {\nconstinit const OpDef %s_op{\n    .name = \"%s\",\n};\n}\n"


@pytest.fixture
def ops(tree):
    tree.write("src/ops/elementwise/abs.cpp", OPERATOR % ("abs", "abs"))
    tree.write("src/ops/elementwise/tanh.cpp", OPERATOR % ("tanh", "tanh"))
    tree.write("src/ops/list.inc", "// sorted\nSCANLOOM_OP(abs)\nSCANLOOM_OP(tanh)\n")
    tree.write("tests/ops/elementwise/abs.cpp")
    tree.write("tests/ops/hyperbolic.cpp", "std::vector<Sample> tanh_samples() {}\n")
    return tree


def test_accepts_lists_in_step(ops):
    ops.passes("check_lists.py")


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (["tanh", "abs"], "abs must stand before tanh"),
        (["abs", "abs", "tanh"], "abs stands twice"),
        (["abs"], "src/ops/elementwise/tanh.cpp: tanh has no row in src/ops/list.inc"),
        (["abs", "sin", "tanh"], "src/ops/list.inc: sin is not defined in a sin.cpp of src/ops"),
    ],
)
def test_names_what_is_out_of_step(ops, rows, problem):
    ops.write("src/ops/list.inc", "// sorted\n" + "".join(f"SCANLOOM_OP({r})\n" for r in rows))
    assert problem in ops.fails("check_lists.py")


def test_rows_of_two_keys_are_sorted_by_both(tree):
    path = "src/frontends/onnx/list.inc"
    rows = ['SCANLOOM_ONNX_OP(Gelu, "", 1)\n', 'SCANLOOM_ONNX_OP(Gelu, "com.microsoft", 1)\n']
    tree.write(path, "// Sorted by operator, then by domain.\n" + "".join(rows))
    tree.passes("check_lists.py")
    tree.write(path, "// Sorted by operator, then by domain.\n" + "".join(reversed(rows)))
    assert "Gelu of '' must stand before Gelu of 'com.microsoft'" in tree.fails("check_lists.py")
    tree.write(path, "// Sorted by operator, then by domain.\n" + rows[0] * 2)
    assert "Gelu of '' stands twice" in tree.fails("check_lists.py")


def test_wants_samples_for_each_operator(ops):
    ops.write("tests/ops/hyperbolic.cpp", "std::tanh(1);\n")
    assert "tanh is in no file of tests/ops" in ops.fails("check_lists.py")


def test_the_order_of_passes_is_free(tree):
    for name in ("inline_branch", "fold"):
        tree.write(f"src/passes/{name}.cpp", f"Expected<Change> {name}(ir::Module& module) {{}}\n")
        tree.write(f"tests/passes/{name}.ir")
    tree.write("src/passes/run.cpp", "Expected<Change> one_round(ir::Module& module) {}\n")
    tree.write("src/passes/list.inc", "SCANLOOM_PASS(inline_branch)\nSCANLOOM_PASS(fold)\n")
    tree.passes("check_lists.py")
    tree.write("src/passes/drop.cpp", "Expected<Change> drop(ir::Module& module) {}\n")
    assert "drop has no row in src/passes/list.inc" in tree.fails("check_lists.py")
