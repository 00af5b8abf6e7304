"""One stream used by several threads: pushes, sets and resets take turns."""

import threading

import numpy as np
import pytest
import scanloom
from loop_models import SUM, parse


@pytest.fixture(scope="module")
def sums():
    return scanloom.InferenceSession(SUM)


def test_threads_that_push_to_one_stream_take_turns(sums):
    stream = sums.stream(states={"h0": "h"})
    one = {"x": np.ones((1, 3), np.float32)}

    def work():
        for _ in range(200):
            stream.push(one)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stream.push(one)[0, 0] == 801


def test_states_are_set_between_the_pushes_of_another_thread(sums):
    stream = sums.stream(states={"h0": "h"})
    one = {"x": np.ones((1, 3), np.float32)}
    ended = threading.Event()

    def work():
        while not ended.is_set():
            stream.push(one)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(200):
        stream.set("h0", np.full(3, 100, np.float32))
        stream.reset()
    ended.set()
    thread.join()
    stream.reset()
    assert stream.push(one)[0, 0] == 1


def test_a_progress_function_may_use_its_own_stream():
    stream = scanloom.InferenceSession(
        parse(
            """g (int64 n, float x) => (float y) {
              y = Loop <body = step (int64 i, bool c, float v) => (bool c2, float w) {
                c2 = Identity(c)
                w = Sqrt(v)
              }> (n, , x)
            }"""
        )
    ).stream({"x": "y"})
    told = []

    def progress(node, step, steps):
        told.append(stream.push({"n": 1}, ["y"]))
        stream.reset()

    with pytest.raises(scanloom.LimitReached):
        stream.push({"n": 10**15}, run_options=scanloom.RunOptions(progress=progress, deadline=0.4))
    assert told
