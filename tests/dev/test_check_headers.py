def test_compiles_each_header_alone_and_once(tree):
    tree.write("src/base/id.h", "#pragma once\nstruct Id { int raw; };\n")
    tree.write("src/ir/node.h", '#pragma once\n#include "base/id.h"\nstruct Node { Id id; };\n')
    assert "2 headers, 2 compiled: ok" in tree.passes("check_headers.py")
    assert "2 headers, 0 compiled: ok" in tree.passes("check_headers.py")
    tree.write("src/base/id.h", "#pragma once\nstruct Id { long raw; };\n")
    assert "2 headers, 2 compiled: ok" in tree.passes("check_headers.py")


def test_names_the_header_that_leans_on_another(tree):
    tree.write("src/ir/node.h", "#pragma once\nstd::vector<int> nodes;\n")
    output = tree.fails("check_headers.py")
    assert "src/ir/node.h: does not compile alone" in output
    assert "vector" in output
    assert "1 compiled: 1 problem" in tree.fails("check_headers.py")


def test_gives_no_header_what_others_include(tree):
    includes = "#include <functional>\n#include <string>\n#include <vector>\n"
    for i in range(6):
        tree.write(f"src/ir/part{i}.h", f"#pragma once\n{includes}std::vector<int> part{i};\n")
    tree.write("src/ir/node.h", "#pragma once\n#include <string>\nstd::vector<std::string> nodes;\n")
    conditional = "#if 0\n#include <vector>\n#endif\n"
    tree.write("src/ir/edge.h", f"#pragma once\n#include <string>\n{conditional}std::vector<int> edges;\n")
    output = tree.fails("check_headers.py")
    assert "8 compiled: 2 problems" in output
    assert "src/ir/node.h: does not" in output and "src/ir/edge.h: does not" in output


def test_gives_no_header_what_it_includes_too_late_or_not_at_all(tree):
    tree.write("src/base/id.h", "#pragma once\n#include <functional>\nstruct Id { int raw; };\n")
    for i in range(6):
        tree.write(f"src/ir/part{i}.h", f'#pragma once\n#include "base/id.h"\nstruct Part{i} {{ Id id; }};\n')
    tree.write("src/ir/node.h", "#pragma once\n#include <functional>\nstruct Node { Id id; };\n")
    tree.write("src/ir/edge.h", '#pragma once\nvoid cut(Id edge);\n#include "base/id.h"\n')
    output = tree.fails("check_headers.py")
    assert "9 compiled: 2 problems" in output
    assert "src/ir/node.h: does not" in output and "src/ir/edge.h: does not" in output


def test_wants_pragma_once(tree):
    tree.write("include/scanloom/api.h", "struct Api {};\n")
    assert "api.h: has no #pragma once" in tree.fails("check_headers.py")


def test_tries_each_header_of_a_chain_where_the_chain_fails(tree):
    tree.write("src/base/id.h", "#pragma once\nstruct Id { int raw; };\n")
    tree.write("src/ir/node.h", '#pragma once\n#include "base/id.h"\nstruct Node { Id id; Edge edge; };\n')
    tree.write("src/ir/graph.h", '#pragma once\n#include "ir/node.h"\nstruct Graph { Node node; };\n')
    tree.write("src/ir/path.h", '#pragma once\n#include "base/id.h"\nstruct Path { Id first, last; };\n')
    output = tree.fails("check_headers.py")
    assert "4 compiled: 2 problems" in output
    assert "src/ir/node.h: does not" in output and "src/ir/graph.h: does not" in output
    assert "4 headers, 2 compiled" in tree.fails("check_headers.py")


def test_chains_no_header_to_one_that_it_includes_too_late(tree):
    tree.write("src/base/id.h", "#pragma once\nstruct Id { int raw; };\n")
    tree.write("src/ir/node.h", '#pragma once\n#include "base/id.h"\nstruct Node { Id id; };\n')
    tree.write("src/ir/edge.h", '#pragma once\nvoid cut(Node edge);\n#include "ir/node.h"\n')
    tree.write("src/ir/face.h", '#pragma once\n#ifdef NONE\n#include "ir/node.h"\n#endif\nvoid cut(Node face);\n')
    output = tree.fails("check_headers.py")
    assert "4 compiled: 2 problems" in output
    assert "src/ir/edge.h: does not" in output and "src/ir/face.h: does not" in output
