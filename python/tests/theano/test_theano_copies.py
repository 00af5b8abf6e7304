"""Copies and pickles of variables, shared variables and functions; types that broadcast."""

import copy
import os
import pickle
import stat
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T


def test_shared_variables_that_broadcast():
    row = theano.shared(np.array([[1.0, 2.0]]), "row", broadcastable=(True, False))
    assert row.broadcastable == (True, False)
    assert row.type == T.row().type
    x = T.matrix("x")
    f = theano.function([x], x + row, updates={row: row * 2})
    np.testing.assert_array_equal(f(np.zeros((3, 2))), [[1, 2]] * 3)
    np.testing.assert_array_equal(row.get_value(), [[2, 4]])
    gradient = theano.function([x], theano.grad((x * row).sum(), row))
    assert gradient(np.ones((3, 2))).shape == (1, 2)
    with pytest.raises(ValueError, match="size 1 on axis 0"):
        row.set_value(np.ones((2, 2)))
    rows = theano.function([x], updates={row: x})
    with pytest.raises(ValueError, match="size 1 on axis 0"):
        rows(np.ones((2, 2)))
    np.testing.assert_array_equal(row.get_value(), [[2, 4]])


@pytest.mark.parametrize("pattern", [(True,), (True, True), "no"])
def test_patterns_that_do_not_fit(pattern):
    with pytest.raises((TypeError, ValueError)):
        theano.shared(np.ones((1, 2)), broadcastable=pattern)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), lambda x: x.clone()]
)
def test_copies_of_shared_variables(copied):
    old = theano.shared(np.array([[1.5]], np.float32), "w", broadcastable=(True, False))
    new = copied(old)
    assert (new.name, new.type, new == old) == ("w", old.type, False)
    new.set_value(np.array([[2, 3]], np.float32))
    np.testing.assert_array_equal(old.get_value(), [[1.5]])


def test_a_deep_copy_holds_together():
    x, w = T.vector("x"), theano.shared(np.ones(2), "w")
    layer = {"x": x, "w": w, "out": x * w + T.constant(1.0)}
    other = copy.deepcopy(layer)
    other["w"].set_value(np.full(2, 3.0))
    f = theano.function([other["x"]], other["out"], updates={other["w"]: other["w"] * 2})
    np.testing.assert_array_equal(f([1, 2]), [4, 7])
    np.testing.assert_array_equal(f([1, 2]), [7, 13])
    np.testing.assert_array_equal(w.get_value(), [1, 1])
    assert other["x"].name == "x" and other["x"] != x
    assert copy.copy(layer["out"]) == layer["out"]


def test_a_deep_copy_takes_default_updates_along():
    count = theano.shared(np.int64(0), "count")
    count.default_update = count + 1
    other = copy.deepcopy([count * 2])[0]
    f = theano.function([], other)
    assert [int(f()), int(f())] == [0, 2]
    assert int(count.get_value()) == 0


def test_pickled_inputs_and_constants():
    x, c = pickle.loads(pickle.dumps((T.fmatrix("x"), T.constant([1, 2]))))
    assert (x.name, x.dtype, x.ndim) == ("x", "float32", 2)
    np.testing.assert_array_equal(c.eval(), [1, 2])
    assert copy.deepcopy(T.constant(3)).eval() == 3


def test_what_is_not_pickled():
    with pytest.raises(TypeError, match="the expression .* is not pickled"):
        pickle.dumps(T.exp(T.vector()))
    count = theano.shared(0, "count")
    count.default_update = count + 1
    with pytest.raises(TypeError, match="'?count'? is not pickled: it has a default update"):
        pickle.dumps(count)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
def test_functions_with_variables_of_their_own(copied):
    count = theano.shared(np.int64(5), "count")
    x = T.scalar("x")
    old = theano.function(
        [theano.In(x, value=1)], {"a": x + count}, updates={count: count + 1}, name="f", profile=True
    )
    new = copied(old)
    assert (old()["a"], old()["a"], new(x=2)["a"]) == (6, 7, 7)
    assert str(new) == "function 'f'" and new.profile.calls == 1


class Model:
    """Functions that share a variable, a counter and a stream of random numbers."""

    def __init__(self):
        x, self.w = T.vector("x"), theano.shared(np.zeros(2), "w")
        count = theano.shared(np.int64(0), "count")
        draw = T.shared_randomstreams.RandomStreams(7).uniform((3,))
        self.train = theano.function([x], draw, updates=[(self.w, self.w + x), (count, count + 1)])
        self.predict = theano.function([], self.w * 1)
        self.draw = theano.function([], draw)
        self.count = theano.function([], count)


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), lambda m: pickle.loads(pickle._dumps(m, 2))],
)
def test_functions_that_are_copied_together_share_variables(copied):
    old = Model()
    old.train([1, 2])
    new = copied(old)
    drawn = [new.train([1, 1]), new.draw(), new.train([0, 0])]
    np.testing.assert_array_equal(new.w.get_value(), [2, 3])
    np.testing.assert_array_equal(new.predict(), [2, 3])
    new.w.set_value([5, 6])
    np.testing.assert_array_equal(new.predict(), [5, 6])
    assert int(new.count()) == 3
    np.testing.assert_array_equal(old.predict(), [1, 2])
    assert int(old.count()) == 1
    np.testing.assert_array_equal(drawn, [old.train([0, 0]), old.draw(), old.train([0, 0])])


def test_a_variable_without_an_object_is_copied_once():
    for copied in (copy.deepcopy, lambda fs: pickle.loads(pickle.dumps(fs))):
        w = theano.shared(np.zeros((1, 2), np.float32), broadcastable=(True, False))
        fs = [theano.function([], w), theano.function([], updates={w: w + 1})]
        del w
        read, add = copied(fs)
        add()
        np.testing.assert_array_equal(read(), [[1, 1]])
        assert read.get_shared() == add.get_shared() and read.get_shared()[0].broadcastable == (True, False)


def test_pickles_store_a_value_once():
    w = theano.shared(np.ones(100_000), "w")
    model = {"w": w, "read": theano.function([], w), "sum": theano.function([], w.sum())}
    assert len(pickle.dumps(model)) < 1.1 * w.get_value().nbytes


def test_a_deep_copy_of_a_function_knows_what_it_computes():
    x, w = T.scalar("x"), theano.shared(2.0, "w")
    copied = copy.deepcopy({"x": x, "w": w, "f": theano.function([x], x * w)})
    copied["w"].set_value(3.0)
    assert float(copied["f"](1)) == 3
    assert float(copied["f"].outputs[0].eval({copied["x"]: 2})) == 6
    assert theano.printing.debugprint(copied["f"], file="str").startswith("mul")


def test_copies_of_functions_share_variables():
    count = theano.shared(np.int64(5), "count")
    old = theano.function([], count, updates={count: count + 1})
    new = old.copy(name="other")
    assert (old(), new(), copy.copy(old)()) == (5, 6, 7)
    assert str(new) == "function 'other'"
    with pytest.raises(ValueError, match="swap"):
        old.copy(swap={count: count})


def test_an_onnx_file_is_written_as_a_whole(tmp_path):
    x = T.vector("x")
    place = tmp_path / "model.onnx"
    theano.function([x], x * 2).to_onnx(place)
    before = place.read_bytes()
    os.chmod(tmp_path, 0o500)
    try:
        if not os.access(tmp_path, os.W_OK):
            with pytest.raises(OSError):
                theano.function([x], x * 3).to_onnx(place)
    finally:
        os.chmod(tmp_path, 0o700)
    streams = T.shared_randomstreams.RandomStreams(1)
    with pytest.raises(theano.Unsupported):
        theano.function([], streams.uniform((2,))).to_onnx(place)
    assert place.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.onnx"]


@pytest.mark.parametrize("write", ["to_onnx", "save", "report"])
def test_a_file_that_is_replaced_keeps_its_links_and_permissions(write, tmp_path):
    x = T.vector("x")
    fn = theano.function([x], x * 2)
    write_to = fn.report().save if write == "report" else getattr(fn, write)
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to("target.json")
    write_to(link)
    assert link.is_symlink() and target.stat().st_mode & 0o777 == 0o640
    assert len(target.read_bytes()) > 3
    assert sorted(os.listdir(tmp_path)) == ["link.json", "target.json"]


@pytest.mark.parametrize("write", ["to_onnx", "save", "report"])
def test_a_pipe_is_written_into(write, tmp_path):
    x = T.vector("x")
    fn = theano.function([x], x * 2)
    write_to = fn.report().save if write == "report" else getattr(fn, write)
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        write_to(pipe)
        assert len(read.result(timeout=60)) > 3
    assert os.listdir(tmp_path) == ["pipe.json"] and stat.S_ISFIFO(pipe.stat().st_mode)
