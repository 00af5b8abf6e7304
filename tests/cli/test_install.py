"""An installed Scanloom is found and used by a project outside the tree."""

import os
import re
import shutil
import subprocess

import pytest
from command_line import BUILD, MODELS, PROJECT, RECORDINGS


def run(*command, **options):
    answer = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=300, **options
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("install") / "prefix"
    run("cmake", "--install", BUILD, "--prefix", folder)
    return folder


def test_the_installed_program_runs(prefix):
    assert run(prefix / "bin" / "scanloom", "--version").strip() == "0.1.0"


def test_a_project_outside_the_tree_builds_with_it(prefix, tmp_path):
    shutil.copytree(PROJECT / "examples", tmp_path / "project")
    build = tmp_path / "build"
    strict = "-Wall -Wextra -Werror"
    environment = {**os.environ, "CXXFLAGS": strict, "CFLAGS": f"{strict} -pedantic"}
    configure = ["cmake", "-G", "Ninja", "-S", tmp_path / "project", "-B", build]
    run(*configure, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release", env=environment)
    run("cmake", "--build", build)
    recording = sorted(RECORDINGS.glob("*.wav"))[0]
    for program in ("voice_detection", "voice_detection_c"):
        answer = run(build / program, MODELS / "silero_vad.onnx", recording)
        assert answer.startswith("speech from ")
    assert run(build / "recurrence").startswith("h ")


C_PROJECT = """cmake_minimum_required(VERSION 3.25)
project(c_only LANGUAGES C)
find_package(scanloom 0.1 REQUIRED)
add_executable(c_only main.c)
set_target_properties(c_only PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
target_link_libraries(c_only PRIVATE scanloom::scanloom)
"""


def functions_of_the_c_interface(prefix):
    header = (prefix / "include" / "scanloom" / "scanloom.h").read_text()
    return re.findall(r"^SCANLOOM_API [^(]*\b(scanloom_\w+)\(", header, re.M)


def test_a_project_of_c_alone_finds_every_function(prefix, tmp_path):
    functions = functions_of_the_c_interface(prefix)
    assert len(functions) > 50
    table = "".join(f"    (any)&{name},\n" for name in functions)
    (tmp_path / "CMakeLists.txt").write_text(C_PROJECT)
    (tmp_path / "main.c").write_text(
        "#include <stdio.h>\n#include <scanloom/scanloom.h>\ntypedef void (*any)(void);\n"
        f"static const any kAll[] = {{\n{table}}};\n"
        'int main(void) { printf("%s %d", scanloom_version(), '
        "(int)(sizeof kAll / sizeof kAll[0])); return 0; }\n"
    )
    environment = {**os.environ, "CFLAGS": "-Wall -Wextra -Werror -pedantic"}
    configure = ["cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build"]
    run(*configure, f"-DCMAKE_PREFIX_PATH={prefix}", env=environment)
    run("cmake", "--build", tmp_path / "build")
    assert run(tmp_path / "build" / "c_only") == f"0.1.0 {len(functions)}"


def test_headers_name_no_folder_of_the_tree(prefix):
    headers = list((prefix / "include" / "scanloom").iterdir())
    assert any(header.name == "session.h" for header in headers)
    assert not any(str(PROJECT) in header.read_text() for header in headers)
    for config in (prefix / "lib").rglob("scanloom*.cmake"):
        assert str(PROJECT) not in config.read_text()
