"""Functions with many sequences: the bits of calls, arguments, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanloom
import scanloom.tensor as T
from scanloom import ManyReport
from scanloom.compile import Function

LENGTHS = [5, 17, 1, 40, 2, 2, 33, 1, 64, 7]
WIDTH = 4


def numbers(seed: int, *shape: int) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * 0.5).astype(np.float32)


def weights(name: str = "U") -> Any:
    return scanloom.shared(numbers(1, WIDTH, WIDTH), name=name)


def level() -> Function:
    """An average of numbers."""
    x = T.fvector("x")
    keep = np.float32(0.9)
    rows, _ = scanloom.scan(
        lambda now, before: keep * before + now, x, outputs_info=T.constant(np.float32(0))
    )
    return scanloom.function([x], rows)


def cell() -> Function:
    """A cell over vectors, from a state that is given, with shared weights."""
    x, h, matrix = T.fmatrix("x"), T.fvector("h"), weights()
    rows, _ = scanloom.scan(lambda now, before: T.tanh(now + T.dot(before, matrix)), x, outputs_info=h)
    return scanloom.function([x, h], [rows, rows[-1]])


def batched() -> Function:
    """The same over whole batches, which a mean mixes."""
    x, matrix = T.ftensor3("x"), weights()
    rows, _ = scanloom.scan(
        lambda now, before: T.tanh(now - now.mean(axis=0) + T.dot(before, matrix)),
        x,
        outputs_info=T.zeros_like(x[0]),
    )
    return scanloom.function([x], {"rows": rows, "last": rows[-1]})


def taps() -> Function:
    """A filter that reads two values back, and a value that is the same in all steps."""
    x, scale = T.fvector("x"), T.fscalar("scale")
    rows, _ = scanloom.scan(
        lambda now, first, second, factor: factor * now + first - np.float32(0.5) * second,
        x,
        outputs_info=[{"initial": T.zeros((2,), "float32"), "taps": [-1, -2]}],
        non_sequences=scale,
    )
    return scanloom.function([x, scale], rows)


def nested() -> Function:
    """A loop over the elements of each step."""
    x = T.fmatrix("x")

    def step(row: Any, total: Any) -> Any:
        inner, _ = scanloom.scan(
            lambda each, before: before * np.float32(0.5) + each, row,
            outputs_info=T.constant(np.float32(0)),
        )  # fmt: skip
        return total + inner[-1]

    rows, _ = scanloom.scan(step, x, outputs_info=T.constant(np.float32(0)))
    return scanloom.function([x], rows)


Arguments = Callable[[int, int], tuple[Any, ...]]
FUNCTIONS: dict[str, tuple[Callable[[], Function], Arguments]] = {
    "level": (level, lambda steps, seed: (numbers(seed, steps),)),
    "cell": (cell, lambda steps, seed: (numbers(seed, steps, WIDTH), numbers(seed + 1, WIDTH))),
    "batched": (batched, lambda steps, seed: (numbers(seed, steps, 3, WIDTH),)),
    "taps": (taps, lambda steps, seed: (numbers(seed, steps), np.float32(seed))),
    "nested": (nested, lambda steps, seed: (numbers(seed, steps, 3),)),
}


def flat(result: Any) -> list[np.ndarray]:
    if isinstance(result, dict):
        return list(result.values())
    return result if isinstance(result, list) else [result]


def expect_same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    for a, b in zip(flat(found), flat(expected)):
        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def expect_all_same(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        expect_same(a, b)


def report_of(fn: Function, given: list[Any], **options: Any) -> ManyReport:
    reports: list[ManyReport] = []
    fn.run_many(given, report=reports.append, **options)
    return reports[0]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_lanes_give_the_bits_of_calls(name: str) -> None:
    make, arguments = FUNCTIONS[name]
    fn = make()
    given = [arguments(steps, 10 * i) for i, steps in enumerate(LENGTHS)]
    alone = [fn(*each) for each in given]
    for batch in (1, 3, 64):
        expect_all_same(fn.run_many(given, batch=batch), alone)
    report = report_of(fn, given)
    assert (report.way, report.reason) == ("lanes", "")
    assert (report.sequences, report.steps, report.alone) == (len(given), sum(LENGTHS), 0)


def test_arguments_by_name_and_a_lazy_iterator() -> None:
    fn = cell()
    asked = 0

    def given() -> Any:
        nonlocal asked
        for i, steps in enumerate(LENGTHS):
            asked += 1
            yield {"h": numbers(i + 1, WIDTH), "x": numbers(i, steps, WIDTH)}

    results = fn.iter_many(given(), window=4)
    assert asked == 0
    for i, steps in enumerate(LENGTHS):
        expect_same(next(results), fn(numbers(i, steps, WIDTH), numbers(i + 1, WIDTH)))
    assert list(results) == [] and results.report.way == "lanes"


def test_lists_and_numbers_are_converted_like_those_of_calls() -> None:
    fn = taps()
    given = [([1, 2, 3], 2), ([4.0], 0.5)]
    expect_all_same(fn.run_many(given), [fn(*each) for each in given])


def test_inputs_without_names_or_with_the_same_one() -> None:
    a, b, c = T.fvector(), T.fvector(), T.fscalar("input")
    rows, _ = scanloom.scan(
        lambda now, then, before, add: before * now + then + add, [a, b],
        outputs_info=T.constant(np.float32(1)), non_sequences=c,
    )  # fmt: skip
    fn = scanloom.function([a, b, c], rows)
    given = [(numbers(i, n), numbers(i + 1, n), np.float32(i)) for i, n in enumerate(LENGTHS)]
    expect_all_same(fn.run_many(given), [fn(*each) for each in given])


def test_arguments_in_common_and_defaults() -> None:
    x, h, scale = T.fmatrix("x"), T.fvector("h"), T.fmatrix("scale")
    rows, _ = scanloom.scan(
        lambda now, before, by: T.tanh(now + T.dot(before, by)), x, outputs_info=h,
        non_sequences=scale,
    )  # fmt: skip
    fn = scanloom.function([x, scanloom.In(h, value=numbers(3, WIDTH)), scale], rows)
    by = numbers(7, WIDTH, WIDTH)
    given = [{"x": numbers(i, n, WIDTH)} for i, n in enumerate(LENGTHS)]
    alone = [fn(each["x"], scale=by) for each in given]
    expect_all_same(fn.run_many(given, shared={"scale": by}), alone)
    assert report_of(fn, given, shared={"scale": by}).way == "lanes"
    with_both = [{**each, "scale": by} for each in given]
    expect_all_same(fn.run_many(with_both), alone)
    with pytest.raises(scanloom.InvalidType, match="has no input 'scales'"):
        fn.run_many(given, shared={"scales": by})
    with pytest.raises(scanloom.InvalidType, match="shared is"):
        fn.run_many(given, shared=[by])


def test_shared_variables_have_the_values_of_the_beginning() -> None:
    x, h, matrix = T.fmatrix("x"), T.fvector("h"), weights()
    rows, _ = scanloom.scan(lambda now, before: T.tanh(now + T.dot(before, matrix)), x, outputs_info=h)
    fn = scanloom.function([x, h], rows)
    given = [(numbers(i, n, WIDTH), numbers(i + 1, WIDTH)) for i, n in enumerate(LENGTHS)]
    before = [fn(*each) for each in given]
    results = fn.iter_many(given, window=3)
    found = [next(results)]
    matrix.set_value(numbers(2, WIDTH, WIDTH))
    expect_all_same([*found, *results], before)
    expect_all_same(fn.run_many(given), [fn(*each) for each in given])


def test_resets_begin_anew() -> None:
    fn = cell()
    x, h = numbers(1, 9, WIDTH), numbers(2, WIDTH)
    done = np.zeros(9, bool)
    done[[4, 7]] = True
    rows = np.concatenate([fn(part, h)[0] for part in np.split(x, [4, 7])])
    for found in (
        fn.run_many([(x, h)], reset=[done])[0],
        fn.run_many([{"x": x, "h": h, "done": done}], reset="done")[0],
    ):
        expect_same(found, [rows, rows[-1]])


def test_functions_that_update_something_are_refused() -> None:
    x, total = T.fvector("x"), scanloom.shared(np.float32(0), name="total")
    summed, _ = scanloom.scan(
        lambda now, before: before + now, x, outputs_info=T.constant(np.float32(0))
    )
    fn = scanloom.function([x], summed, updates={total: total + summed[-1]})
    with pytest.raises(scanloom.InvalidArgument, match="updates shared variable 'total'"):
        fn.run_many([(numbers(0, 3),)])
    count = T.fscalar("count")
    defaults = scanloom.function(
        [x, scanloom.In(count, value=np.float32(0), update=count + 1)], summed + count
    )
    with pytest.raises(scanloom.InvalidArgument, match="updates the default of input 'count'"):
        defaults.run_many([(numbers(0, 3),)])
    assert total.get_value() == 0


def test_functions_that_draw_are_refused() -> None:
    from scanloom.tensor.shared_randomstreams import RandomStreams

    x = T.fvector("x")
    noise = RandomStreams(1).normal(x.shape)
    fn = scanloom.function([x], x + noise)
    with pytest.raises(scanloom.InvalidArgument, match="each call depends on the one before"):
        fn.run_many([(numbers(0, 3),)])


def test_errors_name_the_sequence() -> None:
    fn = cell()
    good = (numbers(0, 3, WIDTH), numbers(1, WIDTH))
    for bad, text in (
        (None, "the arguments of a sequence are a NoneType"),
        ([1, 2], "the arguments of a sequence are a list"),
        ((numbers(0, 3, WIDTH),), "needs a value for input 'h'"),
        ((numbers(0, 3), numbers(1, WIDTH)), "input 'x' has 2 axes"),
        ((numbers(0, 3, WIDTH), numbers(1, WIDTH + 1)), "has sizes 5 and 4"),
        ({"x": good[0], "h": good[1], "y": 1}, "has no input 'y'"),
    ):
        found = fn.run_many([good, bad, good], on_error="return")
        assert isinstance(found[1], scanloom.Error)
        assert found[1].text.startswith("sequence 1: ") and text in found[1].text
        expect_same(found[0], fn(*good))
        expect_same(found[2], fn(*good))
        if isinstance(bad, tuple):
            with pytest.raises(type(found[1])):
                fn(*bad)
        with pytest.raises(scanloom.Error, match="sequence 1: "):
            fn.run_many([good, bad, good])


def test_a_wrong_first_sequence_does_not_decide_how_the_others_run() -> None:
    fn = cell()
    bad = (numbers(0, 3, WIDTH), numbers(1, WIDTH + 1))
    good = [(numbers(i, n, WIDTH), numbers(i + 1, WIDTH)) for i, n in enumerate(LENGTHS)]
    reports: list[ManyReport] = []
    found = fn.run_many([bad, *good], on_error="return", report=reports.append)
    assert isinstance(found[0], scanloom.Error)
    expect_all_same(found[1:], [fn(*each) for each in good])
    assert reports[0].way == "lanes"
    iterator = fn.iter_many([bad, *good], window=1, on_error="return")
    assert isinstance(next(iterator), scanloom.Error)
    assert iterator.report.way is None and iterator.report.steps is None
    next(iterator)
    assert iterator.report.way == "lanes"


def test_sequences_of_another_width_run_alone() -> None:
    fn = nested()
    given = [(numbers(i, n, 3),) for i, n in enumerate(LENGTHS)] + [(numbers(0, 4, 5),)]
    expect_all_same(fn.run_many(given), [fn(*each) for each in given])
    report = report_of(fn, given)
    assert report.alone == 1 and "[4,5]" in report.why_alone


def test_a_loop_that_walks_backwards_runs_in_padded_batches() -> None:
    x = T.fmatrix("x")
    rows, _ = scanloom.scan(
        lambda now, before: before * np.float32(0.5) + now, x, outputs_info=T.zeros_like(x[0]),
        go_backwards=True,
    )  # fmt: skip
    fn = scanloom.function([x], rows)
    given = [(numbers(i, n, 3),) for i, n in enumerate(LENGTHS)]
    expect_all_same(fn.run_many(given), [fn(*each) for each in given])
    report = report_of(fn, given)
    assert report.way == "padded batches" and "computes across the steps" in report.reason


def test_a_loop_that_ends_with_the_data_runs_one_by_one() -> None:
    x = T.fvector("x")
    rows, _ = scanloom.scan(
        lambda now, before: (before + now, scanloom.scan_module.until(before > 1)), x,
        outputs_info=T.constant(np.float32(0)),
    )  # fmt: skip
    fn = scanloom.function([x], rows)
    given = [(abs(numbers(i, n)),) for i, n in enumerate(LENGTHS)]
    expect_all_same(fn.run_many(given), [fn(*each) for each in given])
    assert report_of(fn, given).way == "one by one"


def test_limits_of_the_function_hold() -> None:
    fn = level()
    fn.max_steps = 10
    found = fn.run_many([(numbers(0, 5),), (numbers(0, 50),)], on_error="return")
    assert isinstance(found[1], scanloom.LimitReached)
    fn.max_steps = None
    options = scanloom.RunOptions()
    options.cancel()
    with pytest.raises(scanloom.Cancelled):
        fn.run_many([(numbers(0, 5),)], run_options=options)
    fn.deadline = 1e-9
    with pytest.raises(scanloom.LimitReached):
        fn.run_many([(numbers(0, 5),)])


def test_a_copy_with_other_variables_and_a_loaded_function(tmp_path: Any) -> None:
    import copy

    fn = cell()
    given = [(numbers(i, n, WIDTH), numbers(i + 1, WIDTH)) for i, n in enumerate(LENGTHS)]
    alone = [fn(*each) for each in given]
    other = copy.deepcopy(fn)
    other.get_shared()[0].set_value(numbers(9, WIDTH, WIDTH))
    expect_all_same(fn.run_many(given), alone)
    expect_all_same(other.run_many(given), [other(*each) for each in given])
    fn.save(tmp_path / "cell")
    expect_all_same(scanloom.load(tmp_path / "cell").run_many(given), alone)


def test_no_sequences() -> None:
    fn = level()
    assert fn.run_many([]) == []
    with pytest.raises(scanloom.InvalidArgument, match="must be iterable"):
        fn.run_many(3)
