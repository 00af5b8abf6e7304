"""Wrong feeds and requests: each gives one of the package's errors, whoever asks and however."""

import os
import threading

import numpy as np
import pytest
import scanloom
from loop_models import SUM, parse

NO_TEXT = "\ud800"  # half of a pair: there is no UTF-8 of it

TEXTS = parse("g (string[N] a) => (string[N] b) { b = Identity(a) }")
SIZED = parse(
    """g (seq(float[K]) s, float[N] x) => (seq(float[K]) t, float[N] y) {
      t = Identity(s)
      y = Identity(x)
    }"""
)


@pytest.fixture(scope="module")
def sums():
    return scanloom.InferenceSession(SUM)


@pytest.fixture
def feeds():
    return {"x": np.ones((4, 3), np.float32), "h0": np.ones(3, np.float32)}


@pytest.mark.parametrize("value", [np.datetime64("now"), np.timedelta64(1, "s")])
def test_scalars_of_time_are_refused(sums, feeds, value):
    with pytest.raises(scanloom.InvalidArgument, match="'x'.*(datetime64|timedelta64)"):
        sums.run(None, {**feeds, "x": value})
    with pytest.raises(scanloom.InvalidArgument, match="h0.*(datetime64|timedelta64)"):
        sums.stream(states={"h0": "h"}).set("h0", value)


def test_bytes_are_read_as_their_numbers():
    session = scanloom.InferenceSession(parse("g (uint8[N] x) => (uint8[N] y) { y = Identity(x) }"))
    for value in (b"\x01\x02", bytearray(b"\x01\x02"), memoryview(b"\x01\x02")):
        assert session.run(None, {"x": value})[0].tolist() == [1, 2]


def test_texts_that_have_no_utf8_are_refused():
    session = scanloom.InferenceSession(TEXTS)
    with pytest.raises(scanloom.InvalidArgument, match="feed 'a' holds a string that is not UTF-8"):
        session.run(None, {"a": [NO_TEXT]})


def test_names_that_have_no_utf8_are_refused(sums, feeds, tmp_path):
    bound = sums.io_binding()
    for ask in (
        lambda: sums.run(None, {NO_TEXT: feeds["x"]}),
        lambda: sums.run([NO_TEXT], feeds),
        lambda: sums.plan({NO_TEXT: feeds["x"]}),
        lambda: sums.stream(states={NO_TEXT: "h"}),
        lambda: sums.stream(states={"h0": "h"}).set(NO_TEXT, feeds["h0"]),
        lambda: sums.stream(states={"h0": "h"}).push({NO_TEXT: feeds["x"]}),
        lambda: bound.bind_cpu_input(NO_TEXT, feeds["x"]),
        lambda: bound.bind_output(NO_TEXT),
        lambda: scanloom.InferenceSession(NO_TEXT),
        lambda: scanloom.check(NO_TEXT),
        lambda: scanloom.InferenceSession(SUM, disabled_passes=[NO_TEXT]),
        lambda: scanloom.InferenceSession(SUM, fed_defaults=[NO_TEXT]),
        lambda: scanloom.InferenceSession(SUM, states={NO_TEXT: "h"}),
    ):
        with pytest.raises(scanloom.InvalidArgument) as caught:
            ask()
        str(caught.value).encode()


def test_names_of_states_are_texts(sums):
    for ask in (
        lambda: sums.stream(states={3: "h"}),
        lambda: sums.stream(states=["h0"]),
        lambda: sums.stream(states={"h0": "h"}).set(3, np.zeros(3, np.float32)),
    ):
        with pytest.raises(scanloom.InvalidArgument):
            ask()


def test_files_may_have_any_name(tmp_path):
    path = tmp_path / os.fsdecode(b"\xff.onnx")
    path.write_bytes(SUM)
    for spelt in (path, str(path)):
        assert scanloom.InferenceSession(spelt).get_inputs()[0].name == "x"
        assert scanloom.check(spelt).ok


def test_paths_that_name_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_bytes(SUM)
    for path in ("", "a\0b"):
        with pytest.raises(scanloom.NotFound):
            scanloom.InferenceSession(path)
        report = scanloom.check(path)
        assert isinstance(report.errors[0], scanloom.NotFound)
    with pytest.raises(scanloom.InvalidModel):
        scanloom.InferenceSession(b"")


def test_sizes_given_to_symbols_are_those_of_tensors_alone():
    options = scanloom.SessionOptions()
    options.add_free_dimension_override_by_name("N", 2)
    session = scanloom.InferenceSession(SIZED, options)
    ragged = [np.zeros(1, np.float32), np.zeros(3, np.float32)]
    t, y = session.run(None, {"s": ragged, "x": np.ones(2, np.float32)})
    assert [item.shape for item in t] == [(1,), (3,)]
    with pytest.raises(scanloom.InvalidArgument, match="'x' has size 2 on axis 0, but the feed has 3"):
        session.run(None, {"s": ragged, "x": np.ones(3, np.float32)})
    with pytest.raises(scanloom.InvalidArgument, match="'x' cannot be read"):
        session.run(None, {"s": ragged, "x": [[1.0], [1.0, 2.0]]})
    with pytest.raises(scanloom.InvalidArgument, match="'x' .*is not fed"):
        session.run(None, {"s": ragged})


def test_streams_keep_to_the_sizes_given_to_symbols(feeds):
    options = scanloom.SessionOptions()
    options.add_free_dimension_override_by_name("T", 4)
    session = scanloom.InferenceSession(SUM, options)
    stream = session.stream(states={"h0": "h"})
    stream.push({"x": feeds["x"]})
    with pytest.raises(scanloom.InvalidArgument, match="'x' has size 4 on axis 0, but the feed has 3"):
        stream.push({"x": feeds["x"][:3]})


def test_a_sequence_bound_to_memory_is_refused():
    session = scanloom.InferenceSession(SIZED)
    binding = session.io_binding()
    binding.bind_cpu_input("s", [np.zeros(2, np.float32)])
    binding.bind_cpu_input("x", np.ones(2, np.float32))
    room = scanloom.OrtValue.ortvalue_from_numpy(np.zeros(2, np.float32))
    binding.bind_ortvalue_output("t", room)
    with pytest.raises(scanloom.InvalidArgument, match="output 't' is not a tensor"):
        session.run_with_iobinding(binding)
    binding.clear_binding_outputs()
    binding.bind_ortvalue_output("y", scanloom.OrtValue([np.zeros(2, np.float32)], "seq(tensor(float))"))
    with pytest.raises(scanloom.InvalidArgument, match="the value is not a tensor"):
        session.run_with_iobinding(binding)


def test_memory_is_bound_by_device_and_address(sums):
    binding = sums.io_binding()
    array = np.zeros((4, 3), np.float32)
    for device, pointer in ((None, array.ctypes.data), (3, array.ctypes.data), ("cpu", "a")):
        with pytest.raises((scanloom.InvalidArgument, scanloom.Unsupported)):
            binding.bind_input("x", device, 0, np.float32, array.shape, pointer)
        with pytest.raises((scanloom.InvalidArgument, scanloom.Unsupported)):
            binding.bind_output("y", device, 0, np.float32, array.shape, pointer)
    for pointer in (-1, 2**64):
        with pytest.raises(scanloom.InvalidArgument, match="address"):
            binding.bind_input("x", "cpu", 0, np.float32, array.shape, pointer)


def test_values_of_texts_know_their_type():
    session = scanloom.InferenceSession(TEXTS)
    (value,) = session.run_with_ort_values(["b"], {"a": ["one", "two"]})
    given = scanloom.OrtValue.ortvalue_from_numpy(np.array(["one", "two"]))
    for held in (value, given):
        assert held.data_type() == "tensor(string)"
        assert held.element_type() == 8
        assert held.shape() == [2]


def answer_of(session, feeds, options=None):
    """Returns the arguments that run_async passes to its callback."""
    answers, done = [], threading.Event()

    def callback(*answer):
        answers.append(answer)
        done.set()

    session.run_async(None, feeds, callback, "mine", options)
    assert done.wait(20)
    return answers[0]


def test_run_async_always_calls_back(sums, feeds):
    assert answer_of(sums, feeds)[1:] == ("mine", "")
    results, data, problem = answer_of(scanloom.InferenceSession(TEXTS), {"a": [NO_TEXT]})
    assert (results, data) == ([], "mine") and "UTF-8" in problem

    class Strange:
        def __array__(self, *_arguments, **_more):
            raise ZeroDivisionError("strange")

    results, data, problem = answer_of(sums, {**feeds, "x": Strange()})
    assert (results, data) == ([], "mine") and "strange" in problem


def test_run_async_tells_what_progress_raised():
    endless = parse(
        """g (float[8,8] x) => (float[8,8] y) {
          go = Constant <value = bool {1}> ()
          y = Loop <body = step (int64 i, bool c, float[8,8] v) => (bool c2, float[8,8] w) {
              c2 = Identity(c)
              w = MatMul(v, v)
            }> (, go, x)
        }"""
    )

    def progress(node, step, steps):
        raise ValueError("enough")

    options = scanloom.RunOptions(progress=progress, deadline=10)
    session = scanloom.InferenceSession(endless)
    results, _, problem = answer_of(session, {"x": np.zeros((8, 8), np.float32)}, options)
    assert results == [] and problem == "ValueError: enough"


DEFAULTS = parse(
    """g (float[2] x, float[2] w = {1, 2}, float[2] h) => (float[2] y, float[2] k) {
      y = Add(x, w)
      k = Add(h, y)
    }"""
)


def test_a_stream_says_how_inputs_with_a_default_value_are_fed():
    session = scanloom.InferenceSession(DEFAULTS)
    x, w = np.zeros(2, np.float32), np.ones(2, np.float32)
    stream = session.stream(states={"h": "k"})
    assert stream.push({"x": x}).tolist() == [1, 2]
    with pytest.raises(scanloom.InvalidArgument, match=r"(?s)'w' has a default.*fed_defaults=\['w'\]"):
        stream.push({"x": x, "w": w})
    fed = scanloom.InferenceSession(DEFAULTS, fed_defaults=["w"]).stream(states={"h": "k"})
    assert fed.push({"x": x, "w": w}).tolist() == [1, 1]


def test_few_variants_of_a_session_are_kept():
    names = [f"w{i}" for i in range(6)]
    inputs = ", ".join(f"float[1] {name} = {{1}}" for name in names)
    model = parse(f"g (float[1] x, {inputs}) => (float[1] y) {{ y = Sum(x, {', '.join(names)}) }}")
    session = scanloom.InferenceSession(model)
    x, ten = np.zeros(1, np.float32), np.float32([10])
    chosen = [[names[j] for j in range(6) if i >> j & 1] for i in range(64)]
    for _ in range(2):
        for some in chosen[:20]:
            (y,) = session.run(None, {"x": x, **dict.fromkeys(some, ten)})
            assert y == 6 + 9 * len(some)
    states = scanloom.InferenceSession(
        parse(
            "g ("
            + ", ".join(f"float[1] a{i}" for i in range(20))
            + ") => ("
            + ", ".join(f"float[1] b{i}" for i in range(20))
            + ") {"
            + "\n".join(f"b{i} = Identity(a{i})" for i in range(20))
            + "}"
        )
    )
    streams = [states.stream(states={f"a{i}": f"b{i}"}) for i in range(20)]
    for i, stream in enumerate(streams):
        stream.set(f"a{i}", x + i)
        stream.push({f"a{j}": x for j in range(20) if j != i})
    kept = session._variants, states._variants
    assert all(len(variants) <= 8 for variants in kept)


# The first item of a sequence, n times.
REPEATED = """g (seq(string[K]) q, int64 n) => (seq(string[K]) t) {
  none = SequenceEmpty <dtype = 8> ()
  zero = Constant <value = int64 {0}> ()
  s = SequenceAt(q, zero)
  t = Loop <body = step (int64 i, bool c, seq(string[K]) a) => (bool c2, seq(string[K]) b) {
      c2 = Identity(c)
      b = SequenceInsert(a, s)
    }> (n, , none)
}"""
CONSTANTS = parse(
    """g (float x) => (float[?] a, float[?] b, float[?] c) {
      size = Constant <value_ints = [1000000]> ()
      ones = ConstantOfShape <value = float[1] {1}> (size)
      a = Identity(ones)
      b = Identity(ones)
      c = Identity(ones)
    }"""
)


@pytest.mark.parametrize("execution", ["automatic", "interpreted"])
def test_the_memory_budget_counts_what_python_gets(execution):
    budget = scanloom.RunOptions(max_memory=8 << 20)
    texts = scanloom.InferenceSession(parse(REPEATED), execution=execution)
    (items,) = texts.run(None, {"q": [["x" * 1000000]], "n": np.int64(200)}, budget)
    assert len(items) == 200
    assert len({id(item[0]) for item in items}) == 1  # the text itself is one
    short = [np.array(["ab"] * 100000)]
    with pytest.raises(scanloom.LimitReached, match="in Python.*memory budget of 8388608 bytes"):
        texts.run(None, {"q": short, "n": np.int64(200)}, budget)
    (items,) = texts.run(None, {"q": short, "n": np.int64(2)})
    items[0][0] = "other"
    assert items[1][0] == "ab"


def test_the_memory_budget_counts_copies_of_one_constant():
    session = scanloom.InferenceSession(CONSTANTS)
    a, b, c = session.run(None, {"x": np.float32(0)})
    a[0], b[0] = 2, 3
    assert [a[0], b[0], c[0]] == [2, 3, 1]
    with pytest.raises(scanloom.LimitReached, match="memory budget"):
        session.run(None, {"x": np.float32(0)}, scanloom.RunOptions(max_memory=10 << 20))
    session.run(None, {"x": np.float32(0)}, scanloom.RunOptions(max_memory=13 << 20))


def test_items_of_results_share_no_memory():
    split = parse("g (float[N,2] x) => (seq(float[1,2]) s) { s = SplitToSequence(x) }")
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    (items,) = scanloom.InferenceSession(split).run(None, {"x": x})
    for item in items:
        item += 1
    assert [item.tolist() for item in items] == [[[1, 2]], [[3, 4]], [[5, 6]]]
    assert x.tolist() == [[0, 1], [2, 3], [4, 5]]
