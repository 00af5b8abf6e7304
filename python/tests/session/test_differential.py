"""Every way to run a model gives the same bits, and onnxruntime's numbers where it follows the
rules."""

import json
import os
import pathlib
import platform
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest

import digests
import loop_models
import scanloom

CASES = digests.ALL
NAMES = [case.name for case in CASES]
SMALL = loop_models.cases()

on_every_case = pytest.mark.parametrize("case", CASES, ids=NAMES)


def test_case_names_are_unique():
    assert len(set(NAMES)) == len(NAMES)


@on_every_case
def test_all_executions_give_the_same_bits(case):
    expected = digests.digest_of(case.name, "interpreted")
    assert digests.digest_of(case.name, "stepped") == expected
    assert digests.digest_of(case.name, "automatic") == expected


@on_every_case
def test_a_second_run_gives_the_same_bits(case):
    session = scanloom.InferenceSession(case.model)
    first = digests.digest(session.run(None, case.feeds))
    assert digests.digest(session.run(None, case.feeds)) == first


@on_every_case
def test_stepped_equals_interpreted_without_passes(case):
    expected = digests.digest_of(case.name, "interpreted", optimize=False)
    assert digests.digest_of(case.name, "stepped", optimize=False) == expected


@pytest.mark.parametrize("case", SMALL, ids=[case.name for case in SMALL])
def test_passes_keep_the_bits(case):
    expected = digests.digest_of(case.name, "interpreted", optimize=False)
    assert digests.digest_of(case.name, "interpreted") == expected


STATED = [case for case in CASES if case.expected is not None]


@pytest.mark.parametrize("execution", ["automatic", "stepped", "interpreted"])
@pytest.mark.parametrize("case", STATED, ids=[case.name for case in STATED])
def test_results_are_those_of_the_rule(case, execution):
    results = digests.run(case, execution)
    assert len(results) == len(case.expected)
    for result, wanted in zip(results, case.expected):
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


PEER = [case for case in CASES if case.peer_agrees]


@pytest.mark.parametrize("case", PEER, ids=[case.name for case in PEER])
def test_results_are_those_of_onnxruntime(case):
    expected = onnxruntime.InferenceSession(case.model).run(None, case.feeds)
    results = digests.run(case, "automatic")
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected):
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def settings():
    threads = [{"SCANLOOM_THREADS": count} for count in ("1", "2", "7")]
    if platform.machine() != "x86_64":
        return threads
    flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    sets = ["baseline"] + (["avx2"] if " avx2 " in flags else [])
    return threads + [{"SCANLOOM_ISA": name} for name in sets]


@pytest.mark.parametrize("setting", settings(), ids=lambda one: "-".join(one.values()))
def test_masked_processors_and_thread_counts_keep_the_bits(setting):
    executions = ["automatic", "stepped", "interpreted"]
    script = pathlib.Path(digests.__file__)
    answer = subprocess.run(
        [sys.executable, str(script), *executions],
        env={**os.environ, **setting},
        cwd=script.parent,
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    theirs = json.loads(answer.stdout)
    differing = [name for name, ways in theirs.items() if len(set(ways)) != 1]
    assert differing == []
    if setting.get("SCANLOOM_ISA") == "baseline":
        return  # it multiplies and adds with two roundings, where a fused multiply-add has one
    ours = {name: digests.digest_of(name, "interpreted") for name in NAMES}
    assert [name for name in NAMES if theirs[name][0] != ours[name]] == []
