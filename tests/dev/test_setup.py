import os
import subprocess

import pytest
from conftest import PROJECT

SETUP = PROJECT / "tools" / "dev" / "setup.sh"


def run(*arguments, **environment):
    return subprocess.run(
        ["/bin/bash", str(SETUP), *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )


def test_help_names_the_parts():
    answer = run("--help")
    assert answer.returncode == 0
    parts = ("build", "python", "test", "long", "sanitizers", "bench", "peers", "packages", "aarch64",
             "browser", "demo")  # fmt: skip
    for part in parts:
        assert f"\n  {part} " in answer.stdout


@pytest.mark.parametrize("arguments", [(), ("buid",)])
def test_wrong_use_is_refused(arguments):
    answer = run(*arguments)
    assert answer.returncode != 0
    assert "usage:" in answer.stderr


def test_says_what_to_install_where_there_is_no_dpkg(tmp_path):
    (tmp_path / "dirname").symlink_to("/usr/bin/dirname")
    answer = run("build", PATH=str(tmp_path))
    assert answer.returncode == 1
    assert "not a Debian machine" in answer.stderr
    assert "llvm-19-dev" in answer.stderr


def test_says_what_is_missing_without_root(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may install what is missing")
    (tmp_path / "dpkg-query").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "dpkg-query").chmod(0o755)
    (tmp_path / "dirname").symlink_to("/usr/bin/dirname")
    answer = run("build", PATH=str(tmp_path))
    assert answer.returncode == 1
    assert "apt-get install g++" in answer.stderr
