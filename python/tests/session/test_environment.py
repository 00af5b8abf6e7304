"""What is installed, for bug reports."""

import io
import json
import os
import subprocess
import sys

import numpy as np

import scanloom


def test_it_is_plain_data():
    about = scanloom.environment()
    assert json.loads(json.dumps(about)) == about
    assert about["version"] == scanloom.__version__
    assert about["packages"]["numpy"] == np.__version__
    assert sys.executable in about["python"]
    assert about["library"].startswith(os.path.dirname(scanloom._native.__file__))


def test_it_is_printed_as_lines(capsys):
    scanloom.print_environment()
    text = capsys.readouterr().out
    assert text.startswith(f"scanloom       {scanloom.__version__}\nlibrary        ")
    assert f"\npython         CPython {sys.version.split()[0]}, " in text
    assert "\npackages       numpy " in text
    held = io.StringIO()
    scanloom.print_environment(held)
    assert held.getvalue() == text


def test_settings_of_the_process():
    program = "import scanloom; about = scanloom.environment(); print(about['isa'], about['settings'])"
    variables = {**os.environ, "SCANLOOM_ISA": "baseline"}
    variables.pop("SCANLOOM_THREADS", None)
    answer = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True,
                            check=True)  # fmt: skip
    assert answer.stdout == "baseline {'SCANLOOM_ISA': 'baseline'}\n"


def test_importing_the_package_does_not_look_around():
    program = "import sys, scanloom; assert 'scanloom._environment' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
