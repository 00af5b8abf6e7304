"""Functions saved with fn.save and read with scanloom.load."""

import copy
import gzip
import io
import pickle
import zipfile

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T


def power():
    k, a = T.iscalar("k"), T.vector("a")
    powers, updates = theano.scan(
        lambda product, a: product * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=k
    )
    return theano.function([a, k], powers[-1], updates=updates, name="power")


def test_a_loop_of_any_number_of_steps(tmp_path):
    power().save(tmp_path / "power")
    loaded = theano.load(tmp_path / "power")
    np.testing.assert_array_equal(loaded(range(5), 3), np.arange(5.0) ** 3)
    np.testing.assert_array_equal(loaded(k=2, a=[3]), [9])
    assert str(loaded) == "function 'power'"


def test_shared_variables_keep_their_values_apart(tmp_path):
    count = theano.shared(np.int64(5), "count")
    function = theano.function([], count * 2, updates={count: count + 1})
    function()
    function.save(tmp_path / "f")
    loaded = theano.load(tmp_path / "f")
    assert (loaded(), loaded(), function()) == (12, 14, 12)
    assert [(s.name, int(s.get_value())) for s in loaded.get_shared()] == [("count", 8)]


def test_random_streams_go_on(tmp_path):
    streams = T.shared_randomstreams.RandomStreams(7)
    function = theano.function([], streams.uniform((3,)))
    function()
    function.save(tmp_path / "f")
    loaded = theano.load(tmp_path / "f")
    for _ in range(3):
        np.testing.assert_array_equal(loaded(), function())


@pytest.mark.parametrize(
    "outputs, wanted",
    [
        pytest.param(lambda x: x + 1, np.array(3.0), id="one"),
        pytest.param(lambda x: [x, x * 2], [2.0, 4.0], id="list"),
        pytest.param(lambda x: {"a": x, "b": -x}, {"a": 2.0, "b": -2.0}, id="dict"),
    ],
)
def test_forms_of_outputs(tmp_path, outputs, wanted):
    x = T.scalar("x")
    theano.function([x], outputs(x)).save(tmp_path / "f")
    assert theano.load(tmp_path / "f")(2) == wanted


def test_defaults_and_what_becomes_of_them(tmp_path):
    x, y = T.vector("x"), T.scalar("y")
    function = theano.function([theano.In(x, value=[1.0, 2.0], update=x + y), y], x.sum())
    function(y=1)
    function.save(tmp_path / "f")
    loaded = theano.load(tmp_path / "f")
    assert [float(loaded(y=0)), float(loaded(y=10)), float(loaded(y=0))] == [5, 5, 25]


def filtered(tmp_path):
    """h[t] = h[t-1] / 2 + w x[t], and how often it was called."""
    x, w = T.vector("x"), theano.shared(3.0, "w")
    calls = theano.shared(np.int64(0), "calls")
    h, _ = theano.scan(
        lambda x_t, before, w: before / 2 + w * x_t,
        sequences=x, outputs_info=T.ones(()), non_sequences=w, name="filter",
    )  # fmt: skip
    function = theano.function([x], [h, calls], updates={calls: calls + 1}, name="filtered")
    function([1])
    function.save(tmp_path / "f")
    return tmp_path / "f"


def test_sessions_and_streams_run_them(tmp_path):
    """The same numbers as a call of the function, and states that go on as shared variables do."""
    path, x, h, before = filtered(tmp_path), np.array([1.0, 0.0, 2.0]), [], 1.0
    for x_t in x:
        h.append(before := before / 2 + 3 * x_t)
    for model in (path, path.read_bytes()):
        session = theano.InferenceSession(model)
        assert [(each.name, each.type) for each in session.get_inputs()] == [("x", "tensor(double)")]
        assert len(session.get_outputs()) == 2
        for _ in range(2):
            found, calls = session.run(None, {"x": x})
            np.testing.assert_allclose(found, h, rtol=1e-15)
            assert calls == 1
        assert "'filter'" in session.explain() and "3 steps" in session.explain()
    stream = theano.InferenceSession(path).stream()
    assert [int(stream.push({"x": x})[1]) for _ in range(3)] == [1, 2, 3]


def test_they_are_checked(tmp_path):
    path = filtered(tmp_path)
    assert theano.check(path).ok and theano.check(path.read_bytes()) == ([], [])
    report = theano.check(path.read_bytes()[:-100])
    assert not report.ok and "damaged saved function" in str(report.errors[0])
    with pytest.raises(theano.InvalidModel, match="damaged saved function"):
        theano.InferenceSession(path.read_bytes()[:-100])


def test_what_is_no_function(tmp_path):
    with pytest.raises(theano.NotFound):
        theano.load(tmp_path / "nothing")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(theano.InvalidModel, match="^'text' is not a saved function: it does not begin with"):
        theano.load(tmp_path / "text")


def zipped(name):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, b"")
    return made.getvalue()


@pytest.mark.parametrize(
    "content, says",
    [
        (b"\x08\x07\x12\x07pytorch", "is an ONNX model, not a saved function"),
        (b"<?xml version='1.0'?><net name='a' version='11'></net>", "is an OpenVINO IR, not a saved function"),
        (b"<!doctype html><html><title>404</title>", r"is a web page \(HTML\) with the title '404'"),
        (gzip.compress(b"scanloom function"), "is compressed with gzip"),
        (zipped("model/data.pkl"), "is a PyTorch file"),
        (pickle.dumps([1]), "is a Python pickle: read it with pickle.load$"),
        (b"", "is empty: it has 0 bytes"),
    ],
    ids=["onnx", "openvino", "html", "gzip", "torch", "pickle", "empty"],
)
def test_other_files_are_told_apart(tmp_path, content, says):
    (tmp_path / "file.x").write_bytes(content)
    with pytest.raises(theano.InvalidModel, match=rf"(?m)^'file\.x' {says}") as caught:
        theano.load(tmp_path / "file.x")
    assert "InferenceSession" in str(caught.value)


def test_damage_is_reported_with_the_file(tmp_path):
    path = filtered(tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(theano.InvalidModel, match="(?s)damaged saved function.*'f'|'f'.*damaged"):
        theano.load(path)


def test_a_note_that_is_damaged(tmp_path):
    power().save(tmp_path / "f")
    whole = (tmp_path / "f").read_bytes()
    damaged = whole.replace(b'"arguments"', b'"argumentz"')
    (tmp_path / "f").write_bytes(damaged)
    with pytest.raises(theano.InvalidModel, match="checksum"):
        theano.load(tmp_path / "f")
    damaged = damaged.replace(b"format 3", b"format 1")  # which has no checksum
    (tmp_path / "f").write_bytes(damaged[: damaged.rindex(b"checksum")])
    with pytest.raises(theano.InvalidModel, match="metadata"):
        theano.load(tmp_path / "f")


def test_a_file_that_is_cut_off_or_damaged(tmp_path):
    w = theano.shared(np.ones(1000), "w")
    theano.function([], w.sum()).save(tmp_path / "f")
    whole = (tmp_path / "f").read_bytes()
    (tmp_path / "f").write_bytes(whole[:-500])
    with pytest.raises(theano.InvalidModel, match="truncated"):
        theano.load(tmp_path / "f")
    (tmp_path / "f").write_bytes(whole.replace(np.ones(1).tobytes(), np.zeros(1).tobytes(), 1))
    with pytest.raises(theano.InvalidModel, match="its checksum is"):
        theano.load(tmp_path / "f")


def test_patterns_that_broadcast_are_kept(tmp_path):
    row = theano.shared(np.ones((1, 3)), "row", broadcastable=(True, False))
    column = theano.shared(np.ones((2, 1)), "column", broadcastable=(False, True))
    f = theano.function([], row * 2, updates={column: column + 1})
    f.save(tmp_path / "f")
    for g in (theano.load(tmp_path / "f"), copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        patterns = {x.name: x.broadcastable for x in g.get_shared()}
        assert patterns == {"row": (True, False), "column": (False, True)}
        with pytest.raises(theano.InvalidArgument):
            g.get_shared()[0].set_value(np.ones((2, 3)))
