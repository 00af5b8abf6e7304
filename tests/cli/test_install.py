"""An installed Scanloom, and the one in the build tree, are found and used from outside the tree."""

import os
import re
import shutil
import subprocess

import pytest
from command_line import BUILD, MODELS, PROJECT, RECORDINGS, VERSION


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
    assert run(prefix / "bin" / "scanloom", "--version").strip() == VERSION


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


MAIN_C = """#include <scanloom/scanloom.h>
#include <stdio.h>
int main(void) { printf("%s", scanloom_version()); return 0; }
"""
MAIN_CPP = """#include <scanloom/session.h>
#include <iostream>
int main() {
  const auto session = scanloom::Session::load("nothere.onnx");
  std::cout << scanloom::version() << ' ' << (session ? "" : code_name(session.error().code()));
}
"""
PROGRAMS = {
    "c": ("main.c", MAIN_C, ["cc", "-std=c99", "-pedantic"], VERSION),
    "c++": ("main.cpp", MAIN_CPP, ["c++", "-std=c++20"], f"{VERSION} not_found"),
}


def pkg_config(folder, *arguments):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(folder)}
    return run("pkg-config", *arguments, "scanloom", env=environment).split()


def build_with_pkg_config(language, pc_folder, folder):
    """Builds a program the way docs/c-api.md describes and returns what it prints."""
    name, text, compiler, printed = PROGRAMS[language]
    (folder / name).write_text(text)
    flags = pkg_config(pc_folder, "--cflags", "--libs")
    (libraries,) = pkg_config(pc_folder, "--variable=libdir")
    run(*compiler, "-Wall", "-Wextra", "-Werror", name, *flags, f"-Wl,-rpath,{libraries}",
        "-o", folder / "main", cwd=folder)  # fmt: skip
    environment = {key: text for key, text in os.environ.items() if key != "LD_LIBRARY_PATH"}
    assert run(folder / "main", env=environment) == printed
    return flags


@pytest.mark.parametrize("language", PROGRAMS)
def test_pkg_config_finds_the_build_tree(language, tmp_path):
    flags = build_with_pkg_config(language, BUILD, tmp_path)
    assert f"-I{PROJECT / 'include'}" in flags
    assert pkg_config(BUILD, "--modversion") == [VERSION]


@pytest.mark.parametrize("language", PROGRAMS)
def test_pkg_config_finds_an_installation_that_was_moved(language, prefix, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.copytree(prefix, moved, symlinks=True)
    (pc,) = moved.rglob("scanloom.pc")
    assert pc.parent.name == "pkgconfig"
    assert str(prefix) not in pc.read_text() and str(PROJECT) not in pc.read_text()
    flags = build_with_pkg_config(language, pc.parent, tmp_path)
    assert all(str(prefix) not in flag and str(PROJECT) not in flag for flag in flags)
    assert pkg_config(pc.parent, "--modversion") == [VERSION]


def blocks(page, language):
    text = (PROJECT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


@pytest.mark.parametrize(("page", "language"), [("c-api.md", "c"), ("cpp.md", "c++")])
def test_the_commands_of_the_pages_on_c_and_cpp(page, language, prefix, tmp_path):
    (commands,) = blocks(page, "sh")
    assert "WHERE" in commands
    name, text, _, printed = PROGRAMS[language]
    (tmp_path / name).write_text(text)
    run("bash", "-ec", commands.replace("WHERE", str(prefix)), cwd=tmp_path)
    assert run(tmp_path / "main") == printed


def test_the_project_of_the_page_on_cpp(prefix, tmp_path):
    (project,) = blocks("cpp.md", "cmake")
    name, text, _, printed = PROGRAMS["c++"]
    (tmp_path / "CMakeLists.txt").write_text(project)
    (tmp_path / name).write_text(text)
    run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path / "b")
    assert run(tmp_path / "b" / "main") == printed


@pytest.mark.parametrize(
    ("libdir", "includedir", "place", "found"),
    [
        ("lib", "include", "lib", ["/lib", "/include"]),
        ("lib64", "include", "lib64", ["/lib64", "/include"]),
        ("lib/x86_64-linux-gnu", "include/more", "lib/x86_64-linux-gnu",
         ["/lib/x86_64-linux-gnu", "/include/more"]),
        ("/opt/libraries", "/opt/headers", "anywhere", ["=/opt/libraries", "=/opt/headers"]),
        ("lib", "/opt/headers", "lib", ["/lib", "=/opt/headers"]),
    ],
)  # fmt: skip
def test_pkg_config_names_the_folders_that_cmake_was_told(libdir, includedir, place, found, tmp_path):
    prefix = tmp_path / "prefix"
    pc = prefix / place / "pkgconfig" / "scanloom.pc"
    pc.parent.mkdir(parents=True)
    (tmp_path / "write.cmake").write_text(
        f"set(PROJECT_VERSION 1.2.3)\nset(CMAKE_INSTALL_PREFIX /usr/local)\n"
        f"set(CMAKE_INSTALL_LIBDIR {libdir})\nset(CMAKE_INSTALL_INCLUDEDIR {includedir})\n"
        f"include({PROJECT / 'cmake' / 'ScanloomPkgConfig.cmake'})\nscanloom_installed_pc({pc})\n"
    )
    run("cmake", "-P", tmp_path / "write.cmake")
    expected = [text[1:] if text.startswith("=") else f"{prefix}{text}" for text in found]
    assert [
        os.path.normpath(pkg_config(pc.parent, f"--variable={name}")[0])
        for name in ("libdir", "includedir")
    ] == expected


@pytest.mark.parametrize("variable", ["CMAKE_PREFIX_PATH", "scanloom_DIR"])
def test_cmake_finds_the_build_tree(variable, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(C_PROJECT)
    (tmp_path / "main.c").write_text(MAIN_C)
    build = tmp_path / "build"
    run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", build, f"-D{variable}={BUILD}")
    run("cmake", "--build", build)
    assert run(build / "c_only") == VERSION


def test_licence_and_documents_are_installed(prefix):
    folder = prefix / "share" / "doc" / "scanloom"
    assert (folder / "LICENSE").read_text() == (PROJECT / "LICENSE").read_text()
    shown = sorted(path.relative_to(PROJECT) for path in (PROJECT / "docs").iterdir())
    assert all((folder / path).exists() for path in ["README.md", "CHANGELOG.md", *shown])
    # Their links lead to what is installed.
    for document in folder.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#\s]+)[)#]", document.read_text(encoding="utf-8")):
            assert "://" in target or (document.parent / target).exists(), (document, target)


C_PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(c_only LANGUAGES C)
find_package(scanloom {VERSION} REQUIRED)
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
    assert run(tmp_path / "build" / "c_only") == f"{VERSION} {len(functions)}"


def test_headers_name_no_folder_of_the_tree(prefix):
    headers = list((prefix / "include" / "scanloom").iterdir())
    assert any(header.name == "session.h" for header in headers)
    assert not any(str(PROJECT) in header.read_text() for header in headers)
    configs = list((prefix / "lib").rglob("scanloom*.cmake"))
    assert len(configs) > 2
    for config in configs:
        assert str(PROJECT) not in config.read_text()
