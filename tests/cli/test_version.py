"""What is installed, where its folders are, and the program as a module of Python."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from command_line import BAD, BUILD, FINE, PROGRAM, PROJECT, VERSION, scanloom


def with_variables(*arguments, **variables):
    environment = {key: text for key, text in os.environ.items() if not key.startswith("SCANLOOM_")}
    answer = subprocess.run([str(PROGRAM), "version", *arguments], capture_output=True, text=True,
                            env={**environment, **variables}, timeout=60)  # fmt: skip
    assert answer.returncode == FINE, answer.stderr
    return answer.stdout


def about(**variables):
    return json.loads(with_variables("--json", **variables))


def test_the_version_alone():
    assert scanloom("version").stdout == scanloom("--version").stdout == f"{VERSION}\n"


def test_verbose_lines_are_those_of_the_document():
    text = scanloom("version", "--verbose").stdout
    page = (PROJECT / "docs" / "command-line.md").read_text()
    shown = page.split("`scanloom version --verbose` prints, for example,\n\n```\n")[1].split("```")[0]

    def names(lines):
        return [line[:15].strip() for line in lines.splitlines()]

    assert names(text) == names(shown)


def test_json():
    found = about(SCANLOOM_THREADS="2", SCANLOOM_ISA="baseline", SCANLOOM_MACHINE="/nowhere/machine.txt")
    assert found["version"] == VERSION
    assert os.path.basename(found["library"]).startswith("libscanloom.so")
    assert (found["isa"], found["threads"], found["warnings"]) == ("baseline", 2, [])
    assert found["isas"][0] == "baseline" and found["cores"] >= 1
    assert (found["calibration"], found["is_calibrated"]) == ("/nowhere/machine.txt", False)
    assert found["settings"] == {"SCANLOOM_ISA": "baseline", "SCANLOOM_MACHINE": "/nowhere/machine.txt",
                                 "SCANLOOM_THREADS": "2"}  # fmt: skip
    assert found["c_library"].startswith("glibc") and found["kernel"].startswith("Linux")
    for part in (found["loop_compiler"], found["images"]):
        assert part.get("missing") or os.path.exists(part["path"])


def paths_in(found):
    parts = (found["loop_compiler"], found["images"])
    return [found["library"], *(part["path"] for part in parts if "path" in part)]


def test_paths_are_written_without_links_and_dots(tmp_path):
    """The program and the library find each other by paths such as bin/../lib."""
    prefix = tmp_path / "real"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    (tmp_path / "link").symlink_to("real")
    for program in (PROGRAM, prefix / "bin" / "scanloom", tmp_path / "link" / "bin" / "scanloom"):
        answer = subprocess.run([program, "version", "--json"], capture_output=True, text=True, check=True)
        lib = os.path.realpath(program.parent.parent / "lib")
        for path in paths_in(json.loads(answer.stdout)):
            assert os.path.dirname(path).startswith(lib) and ".." not in path, path


def test_ignored_settings_are_told():
    found = about(SCANLOOM_ISA="mmx", SCANLOOM_THREADS="many")
    assert ["SCANLOOM_ISA" in found["warnings"][0], "SCANLOOM_THREADS" in found["warnings"][1]] == [True, True]
    assert "\nwarning        SCANLOOM_ISA is none of" in with_variables("--verbose", SCANLOOM_ISA="mmx")


def test_control_characters_of_settings_do_not_reach_the_terminal():
    text = with_variables("--verbose", SCANLOOM_NOTE="a\x1b[31m\nlibrary b")
    assert "\x1b" not in text and len(text.splitlines()) == 11


@pytest.mark.parametrize("part, variable", [("loop_compiler", "SCANLOOM_JIT_PLUGIN"),
                                            ("images", "SCANLOOM_IMAGES_PLUGIN")])  # fmt: skip
def test_a_plug_in_that_is_missing_or_damaged(part, variable, tmp_path):
    assert "is not installed" in about(**{variable: str(tmp_path / "none.so")})[part]["missing"]
    damaged = tmp_path / "damaged.so"
    damaged.write_text("not a library")
    assert "cannot be loaded" in about(**{variable: str(damaged)})[part]["missing"]


def test_folders_of_the_build_tree():
    assert scanloom("--cmake-dir").stdout == f"{BUILD}\n"
    assert scanloom("--include-dir").stdout == f"{PROJECT / 'include'}\n"


def test_folders_of_an_installation_that_was_moved(tmp_path):
    subprocess.run(["cmake", "--install", BUILD, "--prefix", tmp_path / "first"], check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    prefix = (tmp_path / "first").rename(tmp_path / "moved")
    program = prefix / "bin" / "scanloom"

    def folder(option):
        return subprocess.run([program, option], capture_output=True, text=True, check=True).stdout.strip()

    assert os.path.exists(os.path.join(folder("--cmake-dir"), "scanloom-config.cmake"))
    assert folder("--include-dir") == str(prefix / "include")
    (tmp_path / "main.cpp").write_text(
        "#include <scanloom/session.h>\nint main() { return scanloom::version().empty(); }\n")  # fmt: skip
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(main CXX)\nset(CMAKE_CXX_STANDARD 20)\n"
        "find_package(scanloom REQUIRED)\nadd_executable(main main.cpp)\n"
        "target_link_libraries(main scanloom::scanloom)\n")  # fmt: skip
    configure = ["cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "b",
                 f"-Dscanloom_DIR={folder('--cmake-dir')}"]  # fmt: skip
    for command in (configure, ["cmake", "--build", tmp_path / "b"], [tmp_path / "b" / "main"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    shutil.rmtree(prefix / "include")
    answer = subprocess.run([program, "--include-dir"], capture_output=True, text=True)
    assert answer.returncode == BAD
    assert answer.stderr.startswith("error: the headers are not installed") and str(prefix) in answer.stderr


def test_the_module_runs_the_program():
    path = {**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "scanloom"]
    answer = subprocess.run([*command, "version"], capture_output=True, text=True, env=path)
    assert (answer.returncode, answer.stdout) == (FINE, f"{VERSION}\n")
    answer = subprocess.run([*command, "run", "absent.onnx"], capture_output=True, text=True, env=path)
    assert answer.returncode == BAD and "absent.onnx" in answer.stderr


def test_the_module_without_the_program(tmp_path):
    """A script of that name is not the program: it may call the module again."""
    script = tmp_path / "scanloom"
    script.write_text(f"#!{sys.executable} -m scanloom\n")
    script.chmod(0o755)
    import scanloom.__main__ as module

    if any(map(module._is_program, module._candidates())):
        pytest.skip("the program is installed in this environment")
    answer = subprocess.run([sys.executable, "-m", "scanloom", "version"], capture_output=True, text=True,
                            env={**os.environ, "PATH": str(tmp_path)})  # fmt: skip
    assert answer.returncode == BAD and answer.stderr.startswith("error: the program scanloom is not")


def test_help_lists_commands_and_options():
    alone = scanloom(expect=BAD).stdout
    assert alone == scanloom("help").stdout == scanloom("--help").stdout and "compare" in alone
    assert scanloom("help", "run").stdout == scanloom("run", "--help").stdout
    assert "unknown command 'rum'" in scanloom("help", "rum", expect=BAD).stderr
    assert scanloom("-V").stdout == f"{VERSION}\n"


def test_a_file_without_measurements_is_told_from_none(tmp_path):
    (tmp_path / "machine.txt").write_text("garbage")
    text = with_variables("--verbose", SCANLOOM_MACHINE=str(tmp_path / "machine.txt"))
    assert "machine.txt, which has no measurements of this machine" in text
    text = with_variables("--verbose", SCANLOOM_MACHINE=str(tmp_path / "absent.txt"))
    assert "absent.txt, not measured yet" in text
