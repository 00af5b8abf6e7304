"""Axes, modes, masks and other arguments that are not variables: their effect, compared with numpy,
and the errors for unknown ones."""

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T
from scanloom import config

RANDOM = np.random.default_rng(11)
CUBE = RANDOM.standard_normal((3, 4, 5))


def of(make, *arrays):
    """Returns the values of make(...) for variables of these arrays."""
    inputs = [T.TensorType(a.dtype, (False,) * a.ndim)() for a in map(np.asarray, arrays)]
    made = make(*inputs)
    return theano.function(inputs, list(made) if isinstance(made, (list, tuple)) else made)(*arrays)


# Rounding.

HALVES = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999999999994, -2.3, 2.7, 0.0, -0.0, np.inf, 2.0**52 + 1])
AWAY = np.array([1.0, 2, 3, -1, -2, 0, -2, 3, 0, 0, np.inf, 2.0**52 + 1])


def test_rounding_halves():
    for make in (lambda x: T.round(x, mode="half_away_from_zero"), lambda x: x.round("half_away_from_zero")):
        np.testing.assert_array_equal(of(make, HALVES), AWAY)
    np.testing.assert_array_equal(of(lambda x: T.round(x, None), HALVES), np.round(HALVES))
    whole = of(lambda x: T.iround(x, "half_away_from_zero"), HALVES[:8])
    assert whole.dtype == np.int64 and whole.tolist() == AWAY[:8].tolist()
    assert of(lambda x: T.grad(T.round(x, "half_away_from_zero").sum(), x), HALVES[:8]).tolist() == [0] * 8


# Axes.


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (0, 2), (-1, 1), (2, 0)])
@pytest.mark.parametrize("offset", [0, 1, -2, 7])
def test_diagonals(axes, offset):
    for source in (CUBE, RANDOM.standard_normal((2, 3, 4, 3))):
        expected = np.diagonal(source, offset, *axes)
        np.testing.assert_array_equal(of(lambda x: x.diagonal(offset, *axes), source), expected)
        np.testing.assert_array_equal(of(lambda x: T.diagonal(x, offset, *axes), source), expected)
        traces = np.trace(source, offset, *axes)
        np.testing.assert_allclose(of(lambda x: x.trace(offset, *axes), source), traces)
        np.testing.assert_allclose(of(lambda x: T.trace(x, offset, *axes), source), traces)


def test_gradient_of_a_diagonal():
    slope = of(lambda x: T.grad((x.diagonal(1, 2, 0) * 2).sum(), x), CUBE)
    expected = np.zeros_like(CUBE)
    for i in range(5):
        for j in range(3):
            expected[j, :, i] = 2.0 * (j == i + 1)
    np.testing.assert_array_equal(slope, expected)


def test_traces_of_a_batch():
    expected = np.trace(CUBE, axis1=-2, axis2=-1)
    np.testing.assert_allclose(of(T.nlinalg.trace, CUBE), expected)


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (2, 0), [0, -1], (0, 1, 2), (2,), (2, 0, -1), [], None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_indices_of_extremes_along_several_axes(axes, keepdims):
    source = np.round(CUBE)  # with ties
    listed = list(range(3)) if axes is None or not len(axes) else sorted({axis % 3 for axis in axes})
    kept = [axis for axis in range(3) if axis not in listed]
    lines = source.transpose(kept + listed).reshape([source.shape[i] for i in kept] + [-1])
    for made, own in ((T.argmax, np.argmax), (T.argmin, np.argmin)):
        expected = own(lines, -1)
        if keepdims:
            expected = np.expand_dims(expected, tuple(sorted(listed)))
        np.testing.assert_array_equal(of(lambda x: made(x, axes, keepdims), source), expected)
    if len(set(listed)) < len(axes or listed):
        return
    greatest, where = of(lambda x: T.max_and_argmax(x, axes or None, keepdims), source)
    np.testing.assert_array_equal(greatest, source.max(tuple(listed), keepdims=keepdims))
    np.testing.assert_array_equal(where, of(lambda x: T.argmax(x, axes, keepdims), source))


# Masks and indices.

MASKS = [
    (lambda x, k: x[k > 0], np.ones(5), np.ones(4)),
    (lambda x, k: x[k > 0], np.ones(5), np.zeros(7)),
    (lambda x, k: x[:, k > 0], np.ones((2, 5)), np.ones(4)),
    (lambda x, k: x[..., k > 0], np.ones((4, 2, 5)), np.ones(4)),
    (lambda x, k: x[1, k > 0], np.ones((2, 5)), np.ones(6)),
    (lambda x, k: x[k > 0], np.ones((2, 5)), np.ones((2, 4))),
    (lambda x, k: T.set_subtensor(x[k > 0], 0.0), np.ones(5), np.ones(4)),
    (lambda x, k: T.inc_subtensor(x[k > 0], 1.0), np.ones(5), np.zeros(6)),
    (lambda x, k: T.grad(x[k > 0].sum(), x), np.ones(5), np.ones(4)),
]


@pytest.mark.parametrize("make,source,mask", MASKS)
def test_masks_of_another_size(make, source, mask):
    with pytest.raises(IndexError, match=r"a mask of \d elements on axis \d for an axis of \d elements"):
        of(make, source, mask)


def test_masks_of_another_size_that_is_known():
    with pytest.raises(IndexError, match="a mask of 2 elements on axis 0 for an axis of 3 elements"):
        T.constant(np.ones(3))[np.array([True, False])]


def test_masks():
    mask = CUBE > 0
    np.testing.assert_array_equal(of(lambda x: x[x > 0], CUBE), CUBE[mask])
    np.testing.assert_array_equal(of(lambda x, k: x[:, k], CUBE, mask[0]), CUBE[:, mask[0]])
    np.testing.assert_array_equal(of(lambda x, k: x[..., k], CUBE, mask[0, 0]), CUBE[..., mask[0, 0]])
    np.testing.assert_array_equal(
        of(lambda x, k: x[None, k, 1:], CUBE, mask[:, 0, 0]), CUBE[None, mask[:, 0, 0], 1:]
    )
    np.testing.assert_array_equal(of(lambda x, k: x[..., k, 0], CUBE, mask[0, :, 0]), CUBE[..., mask[0, :, 0], 0])
    x = T.matrix()
    rows, _ = theano.scan(lambda row: row[row > 0].sum(), x)
    np.testing.assert_allclose(
        theano.function([x], rows)(CUBE[0]), np.where(CUBE[0] > 0, CUBE[0], 0).sum(1)
    )


def test_a_mask_of_the_tensor_itself_is_not_checked():
    x = T.vector()
    assert "check_equal" not in theano.function([x], x[x > 0]).ir()


def test_unravelled_indices():
    for order in "CF":
        got = of(lambda i: T.unravel_index(i, (3, 4), order), np.arange(12))
        np.testing.assert_array_equal(got, np.unravel_index(np.arange(12), (3, 4), order))
    for outside in (12, -1, 100):
        with pytest.raises(IndexError):
            of(lambda i: T.unravel_index(i, (3, 4)), np.array([0, outside]))


# What is said.



def loop(**options):
    return lambda x, m: theano.scan(lambda e: e, x, **options)


def contains_itself(e):
    parts = [e]
    parts.append(parts)
    return parts


REFUSED = {
    "cumsum": (TypeError, r"an axis must be an integer, not \(0,\)", lambda x, m: T.cumsum(m, axis=(0,))),
    "sort": (TypeError, "an axis must be an integer, not 'a'", lambda x, m: T.sort(m, axis="a")),
    "argsort": (TypeError, r"an axis must be an integer, not \[0\]", lambda x, m: T.argsort(m, axis=[0])),
    "stack": (TypeError, "an axis must be an integer, not 'a'", lambda x, m: T.stack([x, x], axis="a")),
    "join": (TypeError, "an axis must be an integer, not 0.5", lambda x, m: T.join(0.5, x, x)),
    "repeat": (TypeError, "an axis must be an integer, not 'a'", lambda x, m: T.repeat(m, 1, axis="a")),
    "repeat beyond": (ValueError, "axis 2 is outside the 2 axes", lambda x, m: T.repeat(m, 1, axis=2)),
    "truth as axis": (TypeError, "an axis must be an integer, not True", lambda x, m: m.sum(axis=True)),
    "argmax": (TypeError, "an axis must be an integer, not 'a'", lambda x, m: m.argmax(axis="a")),
    "argmax beyond": (ValueError, "axis 5 is outside the 2 axes", lambda x, m: m.argmax(axis=[0, 5])),
    "swapaxes": (ValueError, "axis 3 is outside", lambda x, m: m.swapaxes(0, 3)),
    "transpose": (TypeError, "an axis must be an integer, not 'a'", lambda x, m: m.transpose("a", 0)),
    "diff": (TypeError, "an axis must be an integer, not 'a'", lambda x, m: T.diff(m, axis="a")),
    "tensordot": (TypeError, r"must be a number or \(axes of a, axes of b\)", lambda x, m: T.tensordot(m, m, "a")),
    "tensordot's sides": (TypeError, "an axis must be an integer", lambda x, m: T.tensordot(m, m, [["a"], [0]])),
    "pattern": (ValueError, "one bool per axis", lambda x, m: T.patternbroadcast(m, 5)),
    "new axes": (TypeError, "n_ones must be an integer", lambda x, m: T.shape_padleft(x, "a")),
    "diagonal of a vector": (ValueError, "1 axes, not 2 or more", lambda x, m: x.diagonal()),
    "diagonal of one axis": (ValueError, "named twice", lambda x, m: m.diagonal(0, 1, 1)),
    "offset": (TypeError, "an offset must be an integer", lambda x, m: m.diagonal(0.5)),
    "keepdims": (TypeError, "keepdims must be True or False, not 'no'", lambda x, m: m.sum(keepdims="no")),
    "name of a loop": (TypeError, "the name of a loop must be a string, not 5", loop(name=5)),
    "name of a function": (TypeError, "of a function must be a string", lambda x, m: theano.function([x], x, name=5)),
    "name of an input": (TypeError, "of an input must be a string", lambda x, m: theano.In(x, name=5)),
    "direction as text": (TypeError, "go_backwards must be True or False, not 'no'", loop(go_backwards="no")),
    "direction as variable": (TypeError, "go_backwards must be True or False", loop(go_backwards=T.iscalar())),
    "strict": (TypeError, "strict must be True or False, not 7", loop(strict=7)),
    "return_list": (TypeError, "return_list must be True or False, not 'yes'", loop(return_list="yes")),
    "kind of sort": (ValueError, "kind is 'junk', but must be one of 'quicksort'", lambda x, m: T.sort(x, kind="junk")),
    "order of sort": (ValueError, "elements have no fields", lambda x, m: x.argsort(order="a")),
    "rounding": (ValueError, "mode is 'up', but must be one of 'half_to_even'", lambda x, m: T.round(x, "up")),
    "rounding to integers": (ValueError, "mode is 3", lambda x, m: T.iround(x, 3)),
    "norm": (TypeError, "the order of a norm must be a number, not 'fro'", lambda x, m: m.norm("fro")),
    "list in itself": (ValueError, "a step function returns", lambda x, m: theano.scan(contains_itself, x)),
    "tensor in itself": (TypeError, "contains itself", lambda x, m: T.as_tensor_variable(contains_itself(x))),
}  # fmt: skip


@pytest.mark.parametrize("kind,words,make", REFUSED.values(), ids=REFUSED.keys())
def test_refused(kind, words, make):
    with pytest.raises(kind, match=words) as raised:
        make(T.vector("x"), T.matrix("m"))
    assert isinstance(raised.value, theano.Error)


def test_numbers_as_truth_values():
    x = T.vector()
    rows, _ = theano.scan(lambda e: e, x, go_backwards=1, strict=np.bool_(False))
    assert theano.function([x], rows)([1, 2]).tolist() == [2, 1]


def test_norms():
    for order in (np.inf, -np.inf, 0, 1, 2, 3.0):
        np.testing.assert_allclose(
            of(lambda x: x.norm(order), CUBE[0, 0]), np.linalg.norm(CUBE[0, 0], order)
        )


def test_masked_arrays():
    f = theano.function([x := T.vector("x")], x)
    masked = np.ma.array([1.0, 2, 3], mask=[False, True, False])
    for use in (f, T.as_tensor_variable, lambda v: theano.shared(0.0 * v.data).set_value(v)):
        with pytest.raises(TypeError, match="a masked array, but tensors have no masks"):
            use(masked)
    assert type(f(np.ma.array([1.0, 2]))) is np.ndarray


def test_names_of_settings():
    with pytest.raises(AttributeError, match="no setting 'floatx'; it has 'floatX'"):
        config.floatx = "float32"
    with pytest.raises(AttributeError, match="it has 'compute_test_value'"):
        config.compute_test_values = "warn"
    with pytest.raises(AttributeError, match="it has 'floatX'"):
        config.floatx
    config.floatX, config.device = "float64", "cpu"


def test_messages_of_the_run():
    for check in (True, False):
        with pytest.raises(ValueError, match="^bincount: the vector holds -3, but numbers are at least 0"):
            of(lambda v: T.extra_ops.bincount(v, assert_nonneg=check), np.array([1, -3, 2]))
    with pytest.raises(ValueError, match="^split: the parts have 4 elements in total, but axis 0 has 5"):
        of(lambda x: T.split(x, [2, 2], 2), np.ones(5))
    with pytest.raises(ValueError, match="split: the size of a part is -1, but must be at least 0"):
        of(lambda x: T.split(x, [6, -1], 2), np.ones(5))
    x = T.vector()
    with pytest.raises(ValueError, match="reshape the initial value to sizes that are numbers"):
        rows, _ = theano.scan(lambda s: s * 2, outputs_info=x, n_steps=10, checkpoint={"budget": 1000})
        theano.function([x], T.grad(rows[-1].sum(), x))


def test_files_that_cannot_be_written(tmp_path):
    x = T.vector()
    f = theano.function([x], x * 2)
    place = tmp_path / "no folder" / "a.onnx"
    for write in (f.to_onnx, f.save, lambda path: theano.printing.pydotprint(f, f"{path}.svg")):
        with pytest.raises(FileNotFoundError, match="no folder/a.onnx.*' cannot be written: No such file") as raised:
            write(place)
        assert isinstance(raised.value, theano.FileNotWritten) and ".part" not in str(raised.value)


def test_trials_that_are_a_variable():
    n = T.iscalar()
    streams = T.shared_randomstreams.RandomStreams(3)
    draws = theano.function([n], streams.binomial((2000,), n=n, p=0.25))
    assert abs(draws(20).mean() - 5) < 0.3 and draws(0).tolist() == [0] * 2000
    with pytest.raises(TypeError, match="must be one integer"):
        streams.binomial((2,), n=T.vector())


def test_types_beside_numbers():
    made = {}
    for dtype in ("uint8", "int8", "int16", "int32", "float16", "float32"):
        x = T.TensorType(dtype, (False,))()
        made[dtype] = [(x * 2).dtype, (x * 300).dtype, (x * 2.5).dtype]
    assert made == {
        "uint8": ["int16", "int16", "float32"],
        "int8": ["int8", "int16", "float32"],
        "int16": ["int16", "int16", "float32"],
        "int32": ["int32", "int32", "float64"],
        "float16": ["float16"] * 3,
        "float32": ["float32"] * 3,
    }
    x = T.fvector()
    assert theano.function([x], x * 1e300)([1]).tolist() == [np.inf]
    assert theano.function([x], x * np.float64(1e300))([1]).tolist() == [1e300]


def test_gradients_of_ties():
    x, y = T.vectors("x", "y")
    f = theano.function([x, y], [T.grad(x.max(), x), *T.grad(T.maximum(x, y).sum(), [x, y])])
    every, of_x, of_y = f([1, 3, 3], [1, 2, 4])
    assert every.tolist() == [0, 1, 1]
    assert of_x.tolist() == [1, 1, 0] and of_y.tolist() == [0, 0, 1]
