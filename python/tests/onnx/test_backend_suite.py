"""ONNX's backend suite: the cases that pass are listed in tests/data/backend_suite.txt, which only
grows."""

import numpy as np
import pytest

import backend_suite
import scanloom
from loop_models import parse

ADD = "type: build/venv/bin/python tools/dev/update_backend_table.py"


@pytest.fixture(scope="module")
def outcomes(backend_suite_folder):
    return backend_suite.run_all(backend_suite_folder)


@pytest.fixture(scope="module")
def control_flow(backend_suite_folder):
    return backend_suite.control_flow_names(backend_suite_folder)


@pytest.fixture(scope="module")
def interpreted(backend_suite_folder, control_flow):
    return backend_suite.run_all(backend_suite_folder, control_flow, "interpreted")


@pytest.fixture(scope="module")
def table():
    return backend_suite.read_table()


def told(outcomes, names):
    return "\n".join(f"{name}: {outcomes.get(name, 'there is no such case')}" for name in names)


def test_every_case_is_counted(outcomes, report):
    assert len(outcomes) == backend_suite.CASE_COUNT
    passed = sum(not wrong for wrong in outcomes.values())
    report(f"backend suite: passed {passed} of {len(outcomes)} ({backend_suite.PEERS})")


def test_the_table_is_sorted(table):
    assert table == sorted(set(table))


def test_listed_cases_pass(outcomes, table):
    failed = [name for name in table if outcomes.get(name, "absent")]
    assert failed == [], told(outcomes, failed)


def test_passing_cases_are_listed(outcomes, interpreted, table):
    passing = {name for name, wrong in outcomes.items() if not (wrong or interpreted.get(name))}
    unlisted = sorted(passing - set(table))
    assert unlisted == [], ADD


def test_listed_control_flow_passes_interpreted(interpreted, table):
    failed = [name for name in interpreted if name in set(table) and interpreted[name]]
    assert failed == [], told(interpreted, failed)


def test_all_control_flow_passes(outcomes, interpreted, control_flow, report):
    passed = [name for name in control_flow if not (outcomes[name] or interpreted[name])]
    report(f"backend suite, loops, branches, sequences, optionals: passed {len(passed)} of "
           f"{len(control_flow)}, planned and interpreted")
    failed = [name for name in control_flow if name not in passed]
    assert failed == [], told(outcomes | interpreted, failed)


@pytest.mark.parametrize(
    "found, right",
    [
        ([1.0], [1.01]),
        ([1.0, np.nan], [1.0, 2.0]),
        ([1.0], [[1.0]]),
        ([np.inf], [-np.inf]),
    ],
)
def test_the_comparison_sees_differences(found, right):
    found, right = np.array(found), np.array(right)
    backend_suite.compare([right], [right])
    with pytest.raises(backend_suite.Different):
        backend_suite.compare([found], [right])
    with pytest.raises(backend_suite.Different, match="element type"):
        backend_suite.compare([right], [right.astype(np.float32)])
    with pytest.raises(backend_suite.Different):
        backend_suite.compare([right], [[right]])
    with pytest.raises(backend_suite.Different):
        backend_suite.compare([None], [right])
    with pytest.raises(backend_suite.Different):
        backend_suite.compare([[right, right]], [[right]])


def test_the_comparison_sees_texts():
    backend_suite.compare([np.array(["a", "b"], object)], [np.array(["a", "b"])])
    with pytest.raises(backend_suite.Different):
        backend_suite.compare([np.array(["a", "c"], object)], [np.array(["a", "b"], object)])


def test_a_failure_is_told_in_one_line(tmp_path):
    (tmp_path / "model.onnx").write_bytes(parse("g (float[2] x) => (float[2] y) { y = Neg(z) }"))
    told = backend_suite.failure(tmp_path)
    assert told.startswith("InvalidModel: ") and "'z'" in told and "\n" not in told
    assert scanloom.InvalidModel.__name__ in told
