"""An installed Scanloom is found and used by a project outside the tree."""

import os
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
    environment = {**os.environ, "CXXFLAGS": "-Wall -Wextra -Werror"}
    configure = ["cmake", "-G", "Ninja", "-S", tmp_path / "project", "-B", build]
    run(*configure, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release", env=environment)
    run("cmake", "--build", build)
    recording = sorted(RECORDINGS.glob("*.wav"))[0]
    answer = run(build / "voice_detection", MODELS / "silero_vad.onnx", recording)
    assert answer.startswith("speech from ")


def test_headers_name_no_folder_of_the_tree(prefix):
    headers = list((prefix / "include" / "scanloom").iterdir())
    assert any(header.name == "session.h" for header in headers)
    assert not any(str(PROJECT) in header.read_text() for header in headers)
    for config in (prefix / "lib").rglob("scanloom*.cmake"):
        assert str(PROJECT) not in config.read_text()
