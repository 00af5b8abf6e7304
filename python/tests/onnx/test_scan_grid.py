"""Scan over a grid of axes, directions, states, inputs, lengths and element types, against numpy."""

import numpy as np
import pytest

import scan_models
import scanloom

PAIRS = list(scan_models.pairs((9, 11, 16, 21, 25)))
BATCHED = list(scan_models.pairs((8,)))
FORMS = scan_models.forms()
# Every pair of operator set and type takes each STRIDE-th form, from another one on: all of them
# together take every form several times.
STRIDE = 32
COUNTS = {"models": 0, "cases": 0}


def bits(array):
    """Returns the bits of each element; only the low bits count for types narrower than a byte."""
    width = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}.get(array.dtype.name, 8)
    packed = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
    return (packed & ((1 << width) - 1)).tobytes()


def same(found, right):
    if found.dtype == object or right.dtype == object:
        return found.shape == right.shape and found.tolist() == right.tolist()
    return (
        found.dtype == right.dtype and found.shape == right.shape and bits(found) == bits(right)
    )


def check(form, kind, opset, execution):
    session = scanloom.InferenceSession(scan_models.model(form, kind, opset), execution=execution)
    COUNTS["models"] += 1
    for length in scan_models.LENGTHS:
        feeds = scan_models.feeds_of(form, kind, length)
        results = session.run(None, feeds)
        right = scan_models.expected(form, kind, opset, feeds)
        wrong = [i for i, (a, b) in enumerate(zip(results, right)) if not same(a, b)]
        assert len(results) == len(right) and not wrong, (form, length, wrong, results, right)
        COUNTS["cases"] += 1


def name_of(pair):
    return f"{pair[1].name}-{pair[0]}"


@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
def test_scan(pair):
    opset, kind = pair
    start = PAIRS.index(pair) % STRIDE
    for at, form in enumerate(FORMS[start::STRIDE]):
        check(form, kind, opset, ("automatic", "interpreted")[at % 4 == 3])


@pytest.mark.parametrize("rank", scan_models.RANKS)
def test_every_form(rank):
    kind = next(kind for kind in scan_models.KINDS if kind.name == "int16")
    for form in FORMS:
        if form.rank == rank:
            check(form, kind, 25, "stepped")


def lengths_of(batch, longest):
    return np.array([longest, 0, max(longest - 1, 0)][:batch], np.int64)


@pytest.mark.parametrize("pair", BATCHED, ids=name_of)
def test_scan_8(pair):
    kind = pair[1]
    for at, form in enumerate(scan_models.batched_forms()):
        for with_lengths in (False, True):
            model = scan_models.model(form, kind, 8, with_lengths)
            execution = ("automatic", "interpreted")[at % 4 == 3]
            session = scanloom.InferenceSession(model, execution=execution)
            COUNTS["models"] += 1
            for batch, longest in ((1, 17), (3, 2), (2, 1), (2, 0), (0, 2)):
                feeds = scan_models.feeds_of(form, kind, longest, batch)
                lengths = lengths_of(batch, longest) if with_lengths else None
                right = scan_models.expected_batched(form, kind, feeds, lengths)
                given = feeds if lengths is None else {**feeds, "lengths": lengths}
                results = session.run(None, given)
                wrong = [i for i, (a, b) in enumerate(zip(results, right)) if not same(a, b)]
                assert len(results) == len(right) and not wrong, (form, batch, longest, wrong)
                COUNTS["cases"] += 1


def test_the_grid_is_large(report):
    report(f"Scan against numpy: {COUNTS['cases']} cases over {COUNTS['models']} models, bit for bit")
    assert len(FORMS) == 120 * 4 * 3 * 2
    assert {rank for rank in scan_models.RANKS} == {form.rank for form in FORMS}
