"""Unexpected sizes, axes and tables, fed to single operators: the planned run and the interpreter
agree, and nothing ends the process."""

import json
import pathlib
import subprocess
import sys

import pytest

import hostile_numbers

SEED = 1
SECONDS = 60 if hostile_numbers.WATCHED else 10


@pytest.fixture(scope="module")
def answers(backend_suite_folder):
    """(those that came to an end, those that ended the process)."""
    script = pathlib.Path(hostile_numbers.__file__)
    count = len(hostile_numbers.cases(backend_suite_folder)) * hostile_numbers.VARIANTS
    found, died, first = [], [], 0
    while first < count:
        process = subprocess.run(
            [sys.executable, str(script), str(backend_suite_folder), str(SEED), str(first)],
            capture_output=True, text=True,
        )
        lines = [json.loads(line) for line in process.stdout.splitlines()]
        found += [line for line in lines if "automatic" in line]
        last = lines[-1] if lines else {"number": first, "name": ""}
        if last["number"] < count:
            died.append({**last, "status": process.returncode, "words": process.stderr[-2000:]})
        first = last["number"] + 1
    return found, died


def differ(answer):
    """Two executions that fail may give different reasons; if one succeeds, results must be
    equal."""
    planned, interpreted = answer["automatic"], answer["interpreted"]
    if "fine" in (planned[0], interpreted[0]):
        return planned != interpreted
    return "internal" in (planned[0], interpreted[0])


def test_nothing_ends_the_process(answers):
    assert answers[1] == []


def test_both_agree(answers, report):
    fine = sum(answer["automatic"][0] == "fine" for answer in answers[0])
    report(f"hostile numbers: {len(answers[0])} uses of single operators, {fine} of them in order")
    assert [answer for answer in answers[0] if differ(answer)] == []


def test_none_takes_long(answers):
    slow = [answer for answer in answers[0]
            if max(answer["automatic_seconds"], answer["interpreted_seconds"]) > SECONDS]
    assert slow == []
