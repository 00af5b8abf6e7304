import pytest


def python(tree, text, name="shapes"):
    tree.write("python/scanloom/__init__.py", '"""The package."""\n')
    tree.write(f"python/scanloom/{name}.py", text)


def test_accepts_files_without_circles(tree):
    tree.write("src/base/status.h", "#include <string>\n")
    tree.write("src/tensor/shape.h", '#include "base/status.h"\n')
    tree.write("src/tensor/shape.cpp", '#include "tensor/shape.h"\n#include "base/status.h"\n')
    python(tree, "from . import sizes\nfrom .sizes import most\n")
    tree.write("python/scanloom/sizes.py", "import os\n")
    tree.write("bench/run.py", "import graph\n")
    tree.write("bench/graph.py")
    assert "8 files: ok" in tree.passes("check_imports.py")


def test_headers_that_include_each_other(tree):
    tree.write("src/ir/a.h", "// head\n" + '#include "ir/b.h"\n')
    tree.write("src/ir/b.h", '#include "c.h"\n')  # next to it
    tree.write("src/ir/c.h", '#include "ir/a.h"\n')
    output = tree.fails("check_imports.py")
    assert "src/ir/a.h:2: a circle: src/ir/a.h -> src/ir/b.h -> src/ir/c.h -> src/ir/a.h" in output
    assert "1 problem" in output


@pytest.mark.parametrize("line", ["from .sizes import most", "from . import sizes",
                                  "import scanloom.sizes", "from scanloom.sizes import most"])
def test_modules_that_import_each_other(tree, line):
    python(tree, f"{line}\n")
    tree.write("python/scanloom/sizes.py", "from .shapes import least\n")
    output = tree.fails("check_imports.py")
    assert "python/scanloom/shapes.py:1: a circle: python/scanloom/shapes.py -> " in output
    assert "1 problem" in output


def test_a_circle_is_found_from_its_members_alone(tree):
    tree.write("bench/a.py", "import b\n")
    tree.write("bench/b.py", "import c\n")
    tree.write("bench/c.py", "import b\n")
    assert "bench/b.py:1: a circle: bench/b.py -> bench/c.py -> bench/b.py" in tree.fails(
        "check_imports.py"
    )


def test_packages_and_their_modules(tree):
    tree.write("bench/peers/__init__.py", "from peers import torch\n")
    tree.write("bench/peers/torch.py", "import numpy\n")
    tree.passes("check_imports.py")
    tree.write("bench/peers/torch.py", "import peers\n")
    assert "bench/peers/torch.py -> bench/peers/__init__.py" in tree.fails("check_imports.py")


def test_imports_within_functions_make_circles_too(tree):
    python(tree, "def f():\n    from .sizes import most  # few need it\n    return most\n")
    tree.write("python/scanloom/sizes.py", "from .shapes import f\n")
    assert "a circle" in tree.fails("check_imports.py")


def test_imports_for_the_type_checker_make_none(tree):
    python(tree, "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from .sizes import Size\n")
    tree.write("python/scanloom/sizes.py", "from .shapes import Shape\n")
    tree.passes("check_imports.py")
    python(tree, "import typing\n\nif typing.TYPE_CHECKING:\n    pass\nelse:\n    from .sizes import Size\n")
    assert "a circle" in tree.fails("check_imports.py")


def test_extensions_are_known_by_their_stubs(tree):
    python(tree, "from . import _native\n")
    tree.write("python/scanloom/__init__.py", "from . import shapes\n")
    tree.write("python/scanloom/_native.pyi", "def version() -> str: ...\n")
    tree.passes("check_imports.py")


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    import json\n",
        "class A:\n    def f(self):\n        if self:\n            from json import loads\n",
        "def f():\n    import json  # noqa: E402\n",
        "def f():\n    import json  # type: ignore[import]\n",
        "# of f\n\ndef f():\n    import json\n",
    ],
)
def test_an_import_within_a_function_needs_a_reason(tree, text):
    python(tree, text)
    output = tree.fails("check_imports.py")
    assert "python/scanloom/shapes.py:" in output
    assert "an import within a function: move it to the top" in output


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    import json  # only profiles need it\n",
        "def f():\n    # only profiles need it\n    import json\n",
        "def f():\n    from json import (  # only profiles need it\n        loads,\n    )\n",
        "try:\n    import json\nexcept ImportError:\n    pass\n",
    ],
)
def test_with_a_reason_or_outside_of_functions_it_passes(tree, text):
    python(tree, text)
    tree.passes("check_imports.py")


def test_other_folders_import_where_they_like(tree):
    tree.write("bench/run.py", "def f():\n    import json\n")
    tree.passes("check_imports.py")


def test_rooms_of_the_package_that_are_closed(tree):
    python(tree, "from .._theano import scan\n", "_ort/session")
    tree.write("python/scanloom/_ort/__init__.py")
    tree.write("python/scanloom/_theano/__init__.py")
    tree.write("python/scanloom/_theano/scan.py", "from .._ort import options\n")
    tree.write("python/scanloom/_ort/options.py")
    output = tree.fails("check_imports.py")
    assert "python/scanloom/_ort/session.py:1: imports python/scanloom/_theano/scan.py" in output
    assert "_ort may not import _theano" in output
    assert "1 problem" in output
