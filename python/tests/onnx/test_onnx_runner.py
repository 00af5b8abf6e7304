"""ONNX's own runner, onnx.backend.test.BackendTest, over scanloom.backend.

The runner makes thousands of test cases for pytest to collect. Each worker would make all of them,
which takes it five seconds, so they run in one test instead."""

import collections
import io
import re
import unittest

import onnx.backend.test
import pytest

import scanloom.backend

OTHER_DEVICE = "another device than the CPU"

# Patterns of names without "_cpu", and why these cases are excluded.
EXCLUDED = {
    r"^test_bernoulli(_double|_seed)?(_expanded)?$": "draws of numpy's generator, which others do not make",
    r"^test_training_dropout(_default)?(_mask)?$": "draws of numpy's generator, which others do not make",
    r"^test_attention_4d_causal_fp16(_expanded)?$":
        "expected values were rounded to f16 at every step: 0.12 percent off, 0.1 are allowed",
    r"^test_loop16_seq_none$": "the runner cannot compare sequences of scalars; test_backend_suite.py does",
    r"^test_swiglu(_alpha|_float16)?$": "SwiGLU belongs to version 28 of the operator set, which is not read yet",
}  # fmt: skip
EXCLUDED_COUNT = 6 + 4 + 2 + 1 + 3
# onnx 1.23.2; another version has other cases.
CASES = 2033


def reason_of(skipped):
    """Why a case was skipped: in the words of EXCLUDED, for what the runner says."""
    if skipped.startswith("Backend doesn't support device"):
        return OTHER_DEVICE
    pattern = re.fullmatch(r'matched exclude pattern "(.*)"', skipped)
    assert pattern, skipped
    return next(why for name, why in EXCLUDED.items() if runner_pattern(name) == pattern[1])


def runner_pattern(name):
    return name.removesuffix("$") + "_cpu$"


def name_of(case):
    return case.id().rpartition(".")[2]


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::scanloom.ModelWarning")
def test_onnx_runner(tmp_path, monkeypatch, report):
    monkeypatch.setenv("ONNX_HOME", str(tmp_path))  # where it keeps inputs of its nine real models
    runner = onnx.backend.test.BackendTest(scanloom.backend, __name__)
    for name in EXCLUDED:
        runner.exclude(runner_pattern(name))
    result = unittest.TextTestRunner(io.StringIO(), verbosity=0).run(runner.test_suite)

    failed = [f"{name_of(case)}: {text.strip().splitlines()[-1]}"
              for case, text in [*result.failures, *result.errors]]  # fmt: skip
    assert failed == [], "\n".join(failed)
    reasons = collections.Counter(reason_of(text) for _, text in result.skipped)
    passed = result.testsRun - len(result.skipped)
    assert reasons[OTHER_DEVICE] == CASES
    assert sum(reasons.values()) == CASES + EXCLUDED_COUNT
    assert set(reasons) == {OTHER_DEVICE, *EXCLUDED.values()}
    assert passed == CASES - EXCLUDED_COUNT
    others = "; ".join(f"{count} {reason}" for reason, count in sorted(reasons.items())
                       if reason != OTHER_DEVICE)  # fmt: skip
    report(f"ONNX's runner: {passed} passed, 0 failed, excluded: {CASES} on CUDA; {others}")
