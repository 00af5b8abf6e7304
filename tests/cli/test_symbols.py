"""The library exports its public interface and nothing else, so that it can share a process with any
other library."""

import platform
import re
import shutil
import subprocess

import pytest
from command_line import BUILD, PROJECT

HEADERS = PROJECT / "include" / "scanloom"
OF_THE_LINKER = ("_edata", "_end", "__bss_start", "_init", "_fini")


def exported(name):
    """{(kind, name without arguments)} of what a library defines for others."""
    if shutil.which("nm") is None:
        pytest.skip("there is no nm (Debian's binutils)")
    path = BUILD / "lib" / name
    if not path.exists():
        pytest.skip(f"this build has no {name}")
    answer = subprocess.run(["nm", "-D", "--defined-only", "-C", str(path)], capture_output=True, text=True,
                            check=True)  # fmt: skip
    # "00000000000307d0 T scanloom::Error::code() const"
    symbols = {tuple(line.split(maxsplit=2)[1:]) for line in answer.stdout.splitlines()}
    return {(kind, name) for kind, name in symbols if name not in OF_THE_LINKER}


def plain(symbol):
    """The name of a function or a member: scanloom::Error::text[abi:cxx11]() const is Error::text."""
    name = re.sub(r"\[abi:\w+\]", "", symbol.removeprefix("scanloom::"))
    operator = re.match(r"((?:\w+::)*operator(?:\(\)|[^\w(]+))", name)
    return operator[1] if operator else name.partition("(")[0].partition("<")[0]


def public_names():
    """What the headers mark with SCANLOOM_API: classes, and functions outside of them."""
    classes, functions = set(), set()
    for path in sorted(HEADERS.glob("*.h")):
        text = re.sub(r"//[^\n]*|^#[^\n]*", "", path.read_text(), flags=re.M)
        classes |= set(re.findall(r"\b(?:class|struct) SCANLOOM_API (\w+)", text))
        for declared in re.findall(r"SCANLOOM_API\s+(?!\w+\s*(?::[^:]|[{;]))([^;{]*?)\(", text):
            functions.add(re.sub(r"\s+", "", re.search(r"(operator\W+|\w+)$", declared)[1]))
    for name in re.findall(r"^SCANLOOM_FUNCTION\((\w+),", (HEADERS / "functions.inc").read_text(), re.M):
        functions.add(name)
    return classes, functions


def of_the_standard_library(kind, symbol):
    """Whether it is a template of the standard library that the library has instantiated. Any other
    library may have the same one, and the loader takes either."""
    name = re.sub(r"^(vtable|typeinfo|typeinfo name|guard variable) for ", "", symbol)
    return kind in "VWu" and ("std::" in name or "__gnu_cxx::" in name or not name.startswith("scanloom::"))


def unexpected(symbols, classes, functions):
    found = []
    for kind, symbol in sorted(symbols):
        described = re.match(r"(vtable|typeinfo|typeinfo name) for scanloom::(\w+)$", symbol)
        if described and described[2] in classes:
            continue
        name = plain(symbol)
        owner, _, member = name.rpartition("::")
        is_public = owner in classes if owner else name in functions
        is_public |= symbol.startswith("scanloom_") and symbol in functions
        if not is_public and not of_the_standard_library(kind, symbol):
            found.append(f"{kind} {symbol}")
    return found


def test_the_library_exports_what_the_headers_mark():
    classes, functions = public_names()
    assert {"Session", "Stream", "Error"} <= classes
    assert {"environment", "scanloom_version", "exp", "operator+", "calibrate"} <= functions
    symbols = exported("libscanloom.so")
    found = unexpected(symbols, classes, functions)
    assert found == [], "\n".join(found)
    # And all that they mark.
    names = {plain(symbol) for _, symbol in symbols}
    assert sorted(functions - names) == []


def test_a_leak_is_seen():
    classes, functions = public_names()
    leaks = {("T", "scanloom::plan::bind()"), ("T", "scanloom::Session::Impl::run()"), ("T", "png_read"),
             ("W", "scanloom::ir::Module::Module()"), ("B", "scanloom_counter")}  # fmt: skip
    fine = {("T", "scanloom::Session::run(int)"), ("T", "scanloom::operator+(scanloom::Expr const&)"),
            ("W", "std::vector<scanloom::View>::push_back()"), ("V", "typeinfo for scanloom::Failure"),
            ("T", "scanloom_version")}  # fmt: skip
    assert unexpected(leaks | fine, classes, functions) == [f"{kind} {name}" for kind, name in sorted(leaks)]


@pytest.mark.parametrize("part", ["jit", "images"])
def test_a_plug_in_exports_its_entry(part):
    symbols = exported(f"libscanloom_{part}.so")
    names = {name for _, name in symbols}
    assert f"scanloom_{part}_plugin" in names
    classes, functions = public_names()
    found = unexpected({(kind, name) for kind, name in symbols if name != f"scanloom_{part}_plugin"},
                       classes, functions)  # fmt: skip
    assert found == [], "\n".join(found)


@pytest.mark.skipif(platform.libc_ver() != ("glibc", "2.36"), reason="this is not Debian 12's C library")
@pytest.mark.parametrize("name", ["lib/libscanloom.so", "lib/libscanloom_jit.so", "bin/scanloom"])
def test_wheels_run_with_the_c_library_that_their_tag_names(name):
    """Wheels are built on this system, and a function that is new in its C library, or has a new
    version there, would exclude older ones: manylinux_2_34 is what the wheels promise."""
    path = BUILD / name
    if shutil.which("nm") is None:
        pytest.skip("there is no nm (Debian's binutils)")
    if not path.exists():
        pytest.skip(f"this build has no {name}")
    answer = subprocess.run(["nm", "-D", "--undefined-only", str(path)], capture_output=True, text=True, check=True)
    used = re.findall(r"(\w+)@GLIBC_2\.(\d+)", answer.stdout)
    assert len(used) > 20
    assert [function for function, version in used if int(version) > 34] == []
