"""Other files called libscanloom.so.0, which the dynamic linker could take for the package's."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import scanloom


def shared_library(path: pathlib.Path, source: str, *options: str) -> pathlib.Path:
    path.with_suffix(".cpp").write_text(source)
    subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", *options, path.with_suffix(".cpp"), "-o", path],
                   check=True)
    return path


def import_with(**variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", "import scanloom; print(scanloom.__version__)"],
                          env={**os.environ, **variables}, capture_output=True, text=True)


def test_the_search_path_does_not_replace_the_library(tmp_path: pathlib.Path) -> None:
    shared_library(tmp_path / "libscanloom.so.0", "int nothing;", "-Wl,-soname,libscanloom.so.0")
    answer = import_with(LD_LIBRARY_PATH=str(tmp_path))
    assert (answer.returncode, answer.stdout) == (0, f"{scanloom.__version__}\n"), answer.stderr
    (tmp_path / "libscanloom.so.0").write_text("damaged")
    assert import_with(LD_LIBRARY_PATH=str(tmp_path)).returncode == 0


def test_another_version_is_named(tmp_path: pathlib.Path) -> None:
    older = shared_library(tmp_path / "older.so", """
        #include <string_view>
        namespace scanloom { std::string_view version() noexcept { return "0.0.9"; } }
    """)
    answer = import_with(LD_PRELOAD=str(older))
    assert answer.returncode == 1
    assert f"ImportError: scanloom {scanloom.__version__} cannot use the library " in answer.stderr
    assert "which is version 0.0.9 and was loaded into this process before it" in answer.stderr
