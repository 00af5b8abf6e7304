"""A long loop whose steps idle threads compute ahead: the same bits, what explain says, options."""

import pickle
import threading

import numpy as np
import pytest

import scanloom
from loop_models import parse

STEPS = 700_000
AVERAGE = parse("""g (float s, float[T] xs) => (float last, float[T] rows) {
  last, rows = Scan <num_scan_inputs = 1, body = b (float a, float x) => (float c, float d) {
    old = Constant <value_float = 0.9>()
    new = Constant <value_float = 0.1>()
    kept = Mul(a, old)
    added = Mul(x, new)
    c = Add(kept, added)
    d = Identity(c)
  }> (s, xs)
}""")
FEEDS = {"s": np.float32(3), "xs": np.random.default_rng(3).standard_normal(STEPS).astype("f4")}

QUOTES = parse("""g (bool s, uint8[T] xs) => (bool last, bool[T] rows) {
  last, rows = Scan <num_scan_inputs = 1, body = b (bool a, uint8 x) => (bool c, bool d) {
    quote = Constant <value = uint8 {34}>()
    is_quote = Equal(x, quote)
    c = Xor(a, is_quote)
    d = Identity(c)
  }> (s, xs)
}""")


def bytes_of(session):
    return [result.tobytes() for result in session.run(None, FEEDS)]


def chunks_of(session):
    return [line for line in session.explain().splitlines() if line.startswith("  chunks")]


@pytest.fixture(scope="module")
def in_order():
    return bytes_of(scanloom.InferenceSession(AVERAGE, threads=1))


def test_the_bits_are_those_of_steps_in_order(in_order):
    session = scanloom.InferenceSession(AVERAGE, threads=2)
    assert all(bytes_of(session) == in_order for _ in range(4))
    assert chunks_of(session)[0].startswith("  chunks    computed ahead by idle threads")


def test_a_flag_that_never_agrees_from_the_wrong_state():
    text = np.random.default_rng(5).choice(np.frombuffer(b'"abcdefg', np.uint8), 2_000_000)
    session = scanloom.InferenceSession(QUOTES, threads=2)
    for steps in range(len(text) - 8, len(text)):
        last, rows = session.run(None, {"s": np.bool_(True), "xs": text[:steps]})
        expected = ~np.logical_xor.accumulate(text[:steps] == ord('"'))
        assert np.array_equal(rows, expected) and last == expected[-1]


def test_speculate_false_takes_steps_in_order(in_order):
    session = scanloom.InferenceSession(AVERAGE, threads=2, speculate=False)
    assert bytes_of(session) == in_order
    assert chunks_of(session) == []
    options = session.get_session_options()
    assert options.speculate is False and pickle.loads(pickle.dumps(options)).speculate is False


def test_sessions_that_share_the_threads(in_order):
    sessions = [scanloom.InferenceSession(AVERAGE, threads=2) for _ in range(2)]
    wrong = []

    def run(session):
        wrong.extend(i for i in range(5) if bytes_of(session) != in_order)

    threads = [threading.Thread(target=run, args=[session]) for session in sessions * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_exception_of_the_caller_ends_the_run():
    session = scanloom.InferenceSession(AVERAGE, threads=2)
    options = scanloom.RunOptions(max_steps=STEPS - 1)
    for _ in range(3):
        with pytest.raises(scanloom.LimitReached, match=str(STEPS - 1)):
            session.run(None, FEEDS, options)
        cancelled = scanloom.RunOptions()
        cancelled.cancel()
        with pytest.raises(scanloom.Cancelled):
            session.run(None, FEEDS, cancelled)
