from conftest import PROJECT


def test_reports_and_restores_the_layout(tree):
    tree.write(".clang-format", (PROJECT / ".clang-format").read_text())
    tree.write("src/ir/node.h", "#pragma once\nint  f ( );\n")
    assert "type: make format" in tree.fails("check_format.sh")
    tree.passes("check_format.sh", "--fix")
    assert "format: 1 files: ok" in tree.passes("check_format.sh")
    assert (tree.root / "src/ir/node.h").read_text() == "#pragma once\nint f();\n"


def test_keeps_the_layout_of_the_style_guide(tree):
    tree.write(".clang-format", (PROJECT / ".clang-format").read_text())
    snippet = """\
Expected<int> normalise_axis(int axis, int rank, Where where) {
  if (axis < -rank || axis >= rank)
    return error(Code::invalid_argument, where)
           << "axis " << axis << " is outside [-" << rank << ", " << rank << ")";
  return axis < 0 ? axis + rank : axis;
}

Expected<int64_t> scan_steps(const Shape& x, int axis, Where where) {
  SCANLOOM_TRY(const int dim, normalise_axis(axis, x.rank(), where));
  SCANLOOM_ASSERT(dim < x.rank());  // a bug here is ours, not the model's
  return x[dim];
}
"""
    tree.write("src/ir/axis.cpp", snippet)
    tree.passes("check_format.sh", "--fix")
    assert (tree.root / "src/ir/axis.cpp").read_text() == snippet
