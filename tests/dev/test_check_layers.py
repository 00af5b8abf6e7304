import re
import sys

import pytest
from conftest import PROJECT

sys.path.insert(0, str(PROJECT / "tools" / "dev"))
import check_layers  # noqa: E402


def test_the_table_is_that_of_the_architecture():
    text = (PROJECT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| L\d \| `(src/[\w/]+)` \|[^|]*\|([^|]*)\|([^|]*)\|$", text, re.M)
    assert {folder for folder, _, _ in rows} == {f for f in check_layers.LAYERS if "src/" in f}
    for folder, may_include, third_party in rows:
        layer = check_layers.LAYERS[folder]
        if "everything above" not in may_include and "public" not in may_include:
            named = re.sub(r"`[^`]*`|,", "", may_include).split()
            assert sorted(named) == sorted(layer.folders), folder
        libraries = [each for each in third_party.replace(",", "").split() if each != "-"]
        assert libraries == list(layer.third_party), folder


def test_accepts_what_the_table_allows(tree):
    tree.write("include/scanloom/error.h", "#include <string>\n")
    tree.write("src/base/status.h", "#include <fmt/format.h>\n#include <scanloom/error.h>\n")
    tree.write("src/tensor/shape.h", '#include "base/status.h"\n')
    tree.write("src/tensor/shape.cpp", '#include "tensor/shape.h"\n\n#include <array>\n')
    tree.write("src/frontends/onnx/read.h", '#include <protozero/pbf_reader.hpp>\n'
               '#include "tensor/shape.h"\n')
    assert "5 files: ok" in tree.passes("check_layers.py")


@pytest.mark.parametrize(
    ("path", "line", "reason"),
    [
        ("src/base/a.h", '#include "ir/node.h"', "src/base may include no folder of src"),
        ("src/ir/a.h", '#include "kernels/gemm.h"', "src/ir may include base, tensor"),
        ("src/passes/a.h", '#include "interp/run.h"', "src/passes may include base"),
        ("src/interp/a.h", "#include <fmt/format.h>", "src/interp may not use fmt"),
        ("src/plan/a.h", '#include "jit/loop.h"', "src/plan may include"),
        ("src/ops/a.h", "#include <llvm/IR/Module.h>", "src/ops may not use LLVM"),
        ("src/ops/a.h", "#include <scanloom/session.h>", "only api.h"),
        ("src/ops/a.h", "#include <unistd.h>", "headers of the system"),
        ("src/ops/a.h", '#include "ops/absent.h"', "no such file"),
        ("src/ops/a.h", "#include <boost/any.hpp>", "neither the standard library's"),
        ("src/ops/a.h", "#include <stdint.h>", "neither the standard library's"),
        ("src/misc/a.h", "", "has no row"),
        ("include/scanloom/a.h", '#include "ir/node.h"', "include may include no folder of src"),
        ("include/scanloom/a.h", "#include <fmt/format.h>", "include may not use fmt"),
        ("tools/scanloom/a.h", '#include "ir/node.h"', "tools/scanloom may include no folder"),
    ],
)
def test_names_the_line_and_the_reason(tree, path, line, reason):
    for header in ("ir/node.h", "kernels/gemm.h", "interp/run.h", "jit/loop.h"):
        tree.write(f"src/{header}", "\n")
    tree.write("include/scanloom/session.h", "\n")
    tree.write(path, f"// head\n{line}\n")
    output = tree.fails("check_layers.py")
    assert reason in output
    assert path in output
    assert "1 problem" in output


def test_files_of_c_use_the_library_of_c(tree):
    tree.write("examples/a.c", "#include <stdio.h>\n#include <scanloom/scanloom.h>\n")
    tree.write("include/scanloom/scanloom.h", "#include <stdint.h>\n")
    tree.passes("check_layers.py")
    tree.write("examples/a.c", "#include <stdio.h>\n#include <llvm/IR/Module.h>\n")
    assert "examples may not use LLVM" in tree.fails("check_layers.py")


def test_opens_one_header_of_the_compiler_to_the_planner(tree):
    tree.write("src/jit/interface.h")
    tree.write("src/plan/select.cpp", '#include "jit/interface.h"\n')
    tree.passes("check_layers.py")


def test_wants_the_own_header_first(tree):
    tree.write("src/ir/node.h")
    tree.write("src/ir/node.cpp", '#include <vector>\n#include "ir/node.h"\n')
    assert "node.h is not the first include" in tree.fails("check_layers.py")


def test_tests_may_include_all(tree):
    tree.write("src/ir/node.h")
    tree.write("tests/ir/node_test.cpp", '#include <gtest/gtest.h>\n#include "ir/node.h"\n')
    tree.passes("check_layers.py")
