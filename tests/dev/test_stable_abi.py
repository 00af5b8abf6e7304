"""The Python extension is also compiled for Python's stable ABI (make wheel), which has no macros that
look into objects."""

import re

from conftest import PROJECT

MACROS = re.compile(r"\bPy[A-Za-z]+_(?:[A-Z]+_)*(?:ITEM|SIZE|LENGTH|STRING|DATA|KIND)\(")


def test_the_extension_uses_no_macros_that_look_into_objects():
    sources = sorted((PROJECT / "python" / "src").glob("*.*"))
    found = {source.name: MACROS.findall(source.read_text()) for source in sources}
    assert len(sources) > 10
    assert {name: macros for name, macros in found.items() if macros} == {}
