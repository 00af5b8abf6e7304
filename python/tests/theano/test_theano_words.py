"""Errors of calls in the words of the program: what it wrote, not the operators that this became; what
is known to exceed a budget of memory is refused before the first step; and what else functions say."""

import io
import pickle
import re
import time

import numpy as np
import onnx
import onnx.parser
import pytest

import scanloom as theano
import scanloom.tensor as T
from scanloom import _native

X, V, W = T.matrix("x"), T.vector("v"), T.vector("w")
I, N = T.lvector("i"), T.lscalar("n")
EYE, ZEROS = np.eye(2), np.zeros((2, 2))


def scanned(sequences, **options):
    rows, _ = theano.scan(lambda *xs: sum(xs[1:], xs[0]), sequences, n_steps=N, **options)
    return rows


# What is computed, for which values, the class and words of the message.
CASES = {
    "solve": (lambda: T.slinalg.solve(X, V), (ZEROS, [1, 1]), np.linalg.LinAlgError, "solve of 'x' and 'v': the matrix is"),
    "solve of no square": (lambda: T.slinalg.solve(X, V), (np.ones((2, 3)), [1, 1]), ValueError,
                           "solve of 'x' and 'v': .* square, has sizes 2 and 3"),
    "solve of others": (lambda: T.slinalg.solve(X, V), (EYE, [1, 1, 1]), ValueError, "solve of 'x' and 'v': .* sizes 2 and 3"),
    "triangle": (lambda: T.slinalg.solve_lower_triangular(X, V), (ZEROS, [1, 1]), np.linalg.LinAlgError,
                 "solve of the lower triangle of 'x' and 'v': "),
    "inverse": (lambda: T.nlinalg.matrix_inverse(X), (ZEROS,), np.linalg.LinAlgError, "inverse of 'x': the matrix is"),
    "det": (lambda: T.nlinalg.det(X), (np.ones((2, 3)),), ValueError, "det of 'x': .* sizes 2 and 3"),
    "slogdet": (lambda: T.nlinalg.slogdet(X)[1], (np.ones((2, 3)),), ValueError, "slogdet of 'x': "),
    "cholesky": (lambda: T.slinalg.cholesky(X), (-EYE,), np.linalg.LinAlgError, "cholesky of 'x': .* not positive definite"),
    "gradient": (lambda: T.grad(T.nlinalg.matrix_inverse(X).sum(), X), (ZEROS,), np.linalg.LinAlgError,
                 "the gradient of a solution with 'x': the matrix is"),
    "increment": (lambda: T.inc_subtensor(V[:2], W), ([1, 2, 3], [1, 2, 3]), ValueError,
                  r"adding 'w' to a part of 'v': float64\[3\] and float64\[2\] do not broadcast"),
    "increment outside": (lambda: T.inc_subtensor(V[I], W), ([1, 2, 3], [1], [3]), IndexError,
                          "adding 'w' to a part of 'v': index 3 is outside an axis of 3"),
    "write of pairs": (lambda: T.set_subtensor(X[I, I], W), (EYE, [1, 1], [0, 5]), IndexError,
                       "writing 'w' to a part of 'x': index 5 is outside"),
    "write of a row": (lambda: T.set_subtensor(X[N], V), (EYE, [1, 1, 1], 0), ValueError, "writing 'v' to a part of 'x': "),
    "pairs": (lambda: X[I, I + 3], (EYE, [0]), IndexError, "an index of 'x': index 3 is outside an axis of 2"),
    "dot": (lambda: T.dot(T.exp(X), V[1:]), (EYE, [1, 1]), ValueError,
            "product of the result of exp and a part of 'v': axis 1 of a, which meets axis 0 of b, has sizes 2 and 1"),
    "add": (lambda: V + W[T.gt(W, 0).nonzero()], ([1, 2, 3], [1, 0, 2]), ValueError,
            r"add of 'v' and an index of 'w': float64\[3\] and float64\[2\] do not broadcast"),
    "where": (lambda: T.where(V > 0, V, W[T.gt(W, 0).nonzero()]), ([1, 2, 3], [1, 0, 2]), ValueError,
              "where of the result of less and 'v' and an index of 'w': .* sizes 3 and 2"),
    "reshape": (lambda: V.reshape((2, 3)), ([1, 1],), ValueError, "reshape of 'v': an input of 2 elements"),
    "concatenate": (lambda: T.concatenate([X, X[:, 1:]], axis=0), (EYE,), ValueError, "joining 'x' and a part of 'x': "),
    "stack": (lambda: T.stack([V, W]), ([1], [1, 2]), ValueError, "stacking 'v' and 'w': "),
    "alloc": (lambda: T.alloc(V, 3, N), ([1, 1], 3), ValueError, "broadcasting 'v': "),
    "arange": (lambda: T.arange(N), (2**39,), theano.LimitReached, r"arange: \d+ more bytes"),
    "dimshuffle": (lambda: X.dimshuffle(0), (EYE,), ValueError, "dimshuffle of 'x': axis 1 has size 2, not 1"),
    "index of a result": (lambda: T.log(X)[I], (EYE, [2]), IndexError, "an index of the result of log: index 2"),
    "rows to begin with": (lambda: theano.scan(lambda a, b: a + b, outputs_info=dict(initial=V, taps=[-3, -1]),
                                               n_steps=4, name="fib")[0], ([1, 1],), ValueError,
                           "scan 'fib': the initial value of output 0, 'v', has 2 rows, but its taps need 3"),
    "sequence": (lambda: scanned(V, name="walk"), ([1, 1], 3), ValueError,
                 "scan 'walk': 3 steps, but 'v' has 2 slices .*\n.*give it 3 slices, or take at most 2 steps"),
    "taps": (lambda: scanned(dict(input=V, taps=[-1, 2])), ([1] * 5, 3), ValueError, r"3 steps, but 'v\[t-1\]' has 2 slices"),
    "taps of no name": (lambda: scanned([V, dict(input=T.exp(V), taps=[0, 4])]), ([1] * 5, 3), ValueError,
                        r"3 steps, but 'sequence 1\[t\]' has 1 slices"),
}  # fmt: skip


def test_operands_of_a_step_are_named():
    def positive(x):
        return x[T.gt(x, 0).nonzero()]

    for name, step in (("add of 's' and", lambda s: s + positive(V)), ("max of 's' and", lambda s: T.maximum(s, positive(V)))):
        start = T.vector("s")
        rows, _ = theano.scan(step, outputs_info=start, n_steps=20, name="walk")
        f = theano.function([V, start], rows)
        with pytest.raises(ValueError, match=name + " an index of 'v': .* sizes 3 and 2 .*\n.*in step 0 of scan 'walk'"):
            f([1, 0, 2], [1, 2, 3])


def test_sizes_that_data_decide_are_named():
    grown, _ = theano.scan(lambda s: T.concatenate([s, V[:N]]), outputs_info=W, n_steps=20, name="grow")
    f = theano.function([V, W, N], grown)
    with pytest.raises(ValueError, match="scan 'grow': state 'w'"):
        f([1, 2, 3], [1], 2)
    assert "the size of a part of 'v' depends on data" in f.explain()
    assert "%" not in f.explain()


@pytest.mark.parametrize("make, values, kind, words", CASES.values(), ids=CASES.keys())
def test_errors_of_calls(make, values, kind, words):
    result = make()
    leaves = _native.leaves([result._expr])
    inputs = [x for x in (X, V, W, I, N) if x._expr in leaves]
    f = theano.function(inputs, result)
    with pytest.raises(kind, match=words) as caught:
        f(*[np.asarray(value) for value in values])
    assert not isinstance(caught.value, theano.InvalidModel)
    assert not re.search(r"\ban? \w+ node\b", str(caught.value))


def test_words_do_not_grow_from_node_to_node():
    product = X
    for _ in range(50):
        product = T.dot(product, X)
    f = theano.function([X], product)
    assert max(len(line) for line in f.ir().splitlines()) < 400


def test_slices_of_taps_are_named():
    seen = []
    theano.scan(lambda *xs: seen.extend(xs) or xs[0], [V, dict(input=W, taps=[-2, 0, 1])])
    assert [x.name for x in seen] == ["v", "w[t-2]", "w[t]", "w[t+1]"]


def rows_of_loop():
    x = T.scalar("x")
    rows, _ = theano.scan(lambda s: 0.5 * s, outputs_info=x, n_steps=N, name="halve")
    return theano.function([x, N], rows, max_memory=1 << 24)


def rows_whose_sizes_data_decide():
    x = T.scalar("x")
    kept = T.arange(T.cast(x, "int64"))
    (_, rows), _ = theano.scan(
        lambda s: (s + 1, kept[kept < 9] + s), outputs_info=[T.constant(0, dtype="int64"), None],
        n_steps=N, name="halve",
    )  # fmt: skip
    return theano.function([x, N], rows, max_memory=1 << 24)


@pytest.mark.parametrize("make", [rows_of_loop, rows_whose_sizes_data_decide])
def test_rows_that_exceed_the_budget_are_refused_before_they_are_made(make):
    f = make()
    small = f(2.0, 3)
    begun = time.process_time()  # which does not count what other programs take
    with pytest.raises(theano.LimitReached) as caught:
        f(2.0, 2 * 10**8)
    assert time.process_time() - begun < 1.0  # steps and rows would take more
    assert re.search(r"'halve'.*(1600000000|3200000000)\d* bytes", str(caught.value))
    assert re.search(r" \d+ bytes of the memory budget are left|the memory budget is 16777216", str(caught.value))
    np.testing.assert_array_equal(f(2.0, 3), small)


def test_rows_that_fit_are_made_without_a_second_copy():
    f = rows_of_loop()
    assert f(1.0, 1_500_000).shape == (1_500_000,)  # 12 MB of 16


def test_sizes_known_when_a_call_binds_are_refused():
    rows, _ = theano.scan(lambda v: V * 2 + v, T.arange(10**9), name="wide")
    f = theano.function([V], rows, max_memory=10**9)
    with pytest.raises(theano.LimitReached, match="needs 320000000\\d* bytes .* budget is 1000000000") as caught:
        f([1, 2, 3])
    assert "'wide'" in str(caught.value)


def test_the_limit_of_a_function():
    f = rows_of_loop()
    for other in (f.copy(), pickle.loads(pickle.dumps(f))):
        assert other.max_memory == 1 << 24
        with pytest.raises(theano.LimitReached):
            other(1.0, 10**8)
    f.max_memory = None
    assert f(1.0, 10**7).shape == (10**7,)
    for wrong in (0, -5, "1GB", 2.5):
        with pytest.raises(theano.InvalidArgument, match="max_memory is"):
            theano.function([V], V, max_memory=wrong)


def test_progress_is_told():
    told = []
    x = T.scalar("x")
    rows, _ = theano.scan(lambda s: T.sin(s), outputs_info=x, n_steps=N, name="sines")
    g = theano.function([x, N], rows[-1])
    g(1.0, 20_000_000, progress=lambda *what: told.append(what))
    assert told and all(node == "scan 'sines'" and steps == 20_000_000 for node, _, steps in told)
    with pytest.raises(ZeroDivisionError):
        g(1.0, 50_000_000, progress=lambda *what: 1 // 0)


@pytest.mark.parametrize("how", ["sqrt", {"every": 5}, {"budget": 1000}])
def test_checkpoints_with_a_condition_say_what_to_do(how):
    with pytest.raises(NotImplementedError, match=r"checkpoint 'all'; .* where\(stop, state, next\)"):
        theano.scan(
            lambda s: (2 * s, theano.scan_module.until(s > 9)), outputs_info=T.scalar(), n_steps=9,
            checkpoint=how,
        )  # fmt: skip


def test_what_that_advice_gives():
    s = T.scalar("s")
    held, _ = theano.scan(
        lambda s: T.switch(s > 9, s, 2 * s), outputs_info=s, n_steps=20, checkpoint="sqrt"
    )
    f = theano.function([s], [held[-1], theano.grad(held[-1], s)])
    assert f(1.0) == [16, 16]


def test_models_of_the_onnx_package():
    model = onnx.parser.parse_model("""
      <ir_version: 8, opset_import: ["" : 17]>
      g (double[N] x) => (double[N] y) { y = Tanh(x) }
    """)
    for given in (model, model.SerializeToString(), bytearray(model.SerializeToString())):
        y = theano.from_onnx(given)(V)
        np.testing.assert_allclose(theano.function([V], y)([0.5]), np.tanh([0.5]), rtol=1e-15)
    with pytest.raises(TypeError, match="model object of onnx or OpenVINO, not a .*GraphProto"):
        theano.from_onnx(model.graph)


def test_inputs_say_what_they_are():
    assert repr(theano.In(V)) == "In(v)"
    assert repr(theano.In(V, name="u", value=[1.0])) == "In(v, name='u', value=[1.0])"
    assert repr(theano.In(V, value=[1.0], update=V + 1)).startswith("In(v, value=[1.0], update=")
    assert repr(theano.Out(V)) == "Out(v)"


def test_tables_of_profiles_say_what_contains_what():
    f = theano.function([V], theano.scan(lambda x: T.tanh(x), V)[0], profile=True)
    f(np.ones(10))
    written = io.StringIO()
    f.profile.summary(file=written)
    assert "node (indented: part of those above)" in written.getvalue()


LACKS_A_FORM = {
    "lu_solve": lambda x: T.slinalg.solve(x, x), "cholesky": T.slinalg.cholesky,
    "triangular_solve": lambda x: T.slinalg.solve_upper_triangular(x, x),
}  # fmt: skip


@pytest.mark.parametrize("operator", LACKS_A_FORM)
def test_functions_without_a_form_in_onnx(operator, tmp_path):
    make = LACKS_A_FORM[operator]
    rows, _ = theano.scan(lambda _: make(X), T.arange(3))
    for result in (make(X), rows):
        path = tmp_path / "model.onnx"
        with pytest.raises(theano.Unsupported, match="no ONNX form") as caught:
            theano.function([X], result).to_onnx(path)
        assert operator in str(caught.value)
        assert not path.exists()
    assert "reduce" not in str(caught.value)


def written_by_rows(table, keep):
    """A scan that writes a row of the table in each step; `keep`: its new value is read, too."""
    rows = T.lvector("rows")
    _, updates = theano.scan(lambda k: {table: T.inc_subtensor(table[k], T.tanh(table[k]) + 1)},
                             sequences=rows, name="walk")
    return theano.function([rows], [updates[table][keep].sum()] if keep is not None else [], updates=updates)


# Few rows of a large table are copied without it.
@pytest.mark.parametrize("keep", [None, 2])
@pytest.mark.parametrize("size", [4, 1_000_000])
def test_rows_written_in_steps_are_named_with_the_step(size, keep):
    table = theano.shared(np.zeros((size, 3)), name="table")
    f = written_by_rows(table, keep)
    words = rf"an index of 'table': index {size + 3} is outside an axis of {size} elements\n.*in step 20 of scan 'walk'"
    for _ in range(2):
        with pytest.raises(IndexError, match=words):
            f([1, 2] * 10 + [size + 3])
    assert not table.get_value(borrow=True).any()
    f([1, 2] * 10)
    assert table.get_value(borrow=True)[1, 0] > 10


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("size", [4, 1_000_000])
def test_several_writes_name_the_table(size, read):
    table = theano.shared(np.zeros((size, 3)), name="table")
    written = T.inc_subtensor(table[N], V)
    written = T.inc_subtensor(written[N + 1], V)
    written = T.set_subtensor(written[I], V)
    f = theano.function([N, I, V], [written.sum()] if read else [], updates=[(table, written)])
    for n, i, words in ((size, 0, rf"adding 'v' to a part of 'table': index {size} "),
                        (size - 1, 0, rf"adding 'v' to a part of 'table': index {size} "),
                        (0, size + 4, rf"writing 'v' to a part of 'table': index {size + 4} ")):
        with pytest.raises(IndexError, match=f"{words}is outside an axis of {size} elements"):
            f(n, [i], [1, 2, 3])
    assert not table.get_value(borrow=True).any()
