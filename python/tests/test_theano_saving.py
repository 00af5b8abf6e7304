"""Functions saved with fn.save and read with scanloom.load."""

import copy
import pickle

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


def test_what_is_no_function(tmp_path):
    with pytest.raises(theano.NotFound):
        theano.load(tmp_path / "nothing")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(theano.InvalidModel, match="this is no saved function"):
        theano.load(tmp_path / "text")


def test_a_note_that_is_damaged(tmp_path):
    power().save(tmp_path / "f")
    whole = (tmp_path / "f").read_bytes()
    damaged = whole.replace(b'"arguments"', b'"argumentz"')
    (tmp_path / "f").write_bytes(damaged)
    with pytest.raises(theano.InvalidModel, match="checksum"):
        theano.load(tmp_path / "f")
    damaged = damaged.replace(b"format 3", b"format 1")  # which has no checksum
    (tmp_path / "f").write_bytes(damaged[: damaged.rindex(b"checksum")])
    with pytest.raises(theano.InvalidModel, match="note"):
        theano.load(tmp_path / "f")


def test_a_file_that_is_cut_off_or_damaged(tmp_path):
    w = theano.shared(np.ones(1000), "w")
    theano.function([], w.sum()).save(tmp_path / "f")
    whole = (tmp_path / "f").read_bytes()
    (tmp_path / "f").write_bytes(whole[:-500])
    with pytest.raises(theano.InvalidModel, match="cut off"):
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
