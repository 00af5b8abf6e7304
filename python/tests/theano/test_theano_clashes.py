"""Sizes and dtypes that do not go together: each operator says it in its own words, with the axes and sizes
of both operands, in loops with the loop; and what to write about a dtype is spelt as code."""

import re

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T

X, W, V, U = T.matrix("x"), T.matrix("w"), T.vector("v"), T.vector("u")
CUBE = T.tensor3("c")
ONES = np.ones


def decoder(step, **options):
    return theano.scan(step, X, V, W, name="decoder", **options)[0]


# What is computed, of what sizes, and what must be said.
SIZES = {
    "matrices": (lambda: T.dot(X, W), {X: (2, 3), W: (4, 5)},
                 "product of 'x' and 'w': axis 1 of a, which meets axis 0 of b, has sizes 3 and 4"),
    "matrix and vector": (lambda: T.dot(X, V), {X: (2, 3), V: (4,)},
                          "product of 'x' and 'v': axis 1 of a, which meets axis 0 of b, has sizes 3 and 4"),
    "vectors": (lambda: T.dot(V, U), {V: (2,), U: (3,)}, "product of 'v' and 'u': .* has sizes 2 and 3"),
    "operator": (lambda: X @ W, {X: (2, 3), W: (4, 5)}, "product of 'x' and 'w'"),
    "method": (lambda: X.dot(W) + 1, {X: (2, 3), W: (4, 5)}, "product of 'x' and 'w'"),
    "tensordot": (lambda: T.tensordot(X, W, axes=[[1], [1]]), {X: (2, 3), W: (4, 5)},
                  "product of 'x' and 'w': axis 1 of a, which meets axis 1 of b, has sizes 3 and 5"),
    "batches": (lambda: T.batched_dot(CUBE, CUBE), {CUBE: (2, 3, 4)}, "product of 'c' and 'c': .* sizes 4 and 3"),
    "with a constant": (lambda: T.dot(X, T.constant(ONES((4, 5)))), {X: (2, 3)},
                        "product of 'x' and a constant: .* has sizes 3 and 4"),
    "of results": (lambda: T.dot(T.exp(X), W.T), {X: (2, 3), W: (4, 5)}, "product of the result of exp and .* 3 and 5"),
    "joining": (lambda: T.concatenate([X, W], axis=1), {X: (2, 3), W: (4, 5)}, "joining 'x' and 'w': axis 0 .* 2 and 4"),
    "stacking": (lambda: T.stack([V, U]), {V: (2,), U: (3,)}, "stacking 'v' and 'u': .* 2 and 3"),
    "solving": (lambda: T.slinalg.solve(X, V), {X: (2, 2), V: (3,)}, "solve of 'x' and 'v': .* 2 and 3"),
    "element by element": (lambda: V * U + 1, {V: (2,), U: (3,)},
                           "input 'u' has 3 elements on axis 0, where input 'v' has 2: they are combined element by element"),
    "product in a loop": (lambda: decoder(lambda r, h, w: r + T.dot(h, w)), {X: (5, 3), V: (3,), W: (4, 3)},
                          r"product of 'v' and 'w': axis 0 of a, .* 3 and 4(.*\n)*.*in the steps of scan 'decoder'"),
    "sum in a loop": (lambda: decoder(lambda r, h, w: r + T.dot(h, w)), {X: (5, 4), V: (3,), W: (3, 3)},
                      r"input 'v' has 3 .* 'x' has 4: they are combined element by element\n.*in the steps of scan 'decoder'"),
    "a loop in a loop": (
        lambda: theano.scan(lambda r: theano.scan(lambda e, w: T.dot(r * e, w), r, non_sequences=W, name="inner")[0], X,
                            name="outer")[0],
        {X: (5, 3), W: (4, 3)}, r"product of the result of mul and 'w': .* 3 and 4(.*\n)*.*scan 'inner'\n.*scan 'outer'"),
    "a state": (lambda: theano.scan(lambda h: T.concatenate([h, h]), outputs_info=V, n_steps=3, name="grow")[0],
                {V: (3,)}, r"scan 'grow': state 'v' has sizes \[3\] before step 0, but the step makes it \[6\]"),
    "a state later": (lambda: theano.scan(lambda i, h: h[: h.shape[0] - T.switch(i > 1, 1, 0)], T.arange(4), V, name="cut")[0],
                      {V: (5,)}, r"scan 'cut': state 'v' has sizes \[5\] before step 2, but the step makes it \[4\]"),
    "rows": (lambda: theano.scan(lambda i, v: v[: v.shape[0] - i], T.arange(3), non_sequences=V, name="ragged")[0],
             {V: (5,)}, r"scan 'ragged': .* has a row of sizes \[4\] in step 1, but \[5\] in step 0"),
    "a state of taps": (lambda: theano.scan(lambda h: T.concatenate([h, h]), outputs_info=dict(initial=X, taps=[-2]),
                                            n_steps=3, name="grow")[0],
                        {X: (2, 3)}, r"scan 'grow': state 'x' has sizes \[3\] before step 0, but the step makes it \[6\]"),
    "a kept state": (lambda: theano.scan_checkpoints(lambda h: T.concatenate([h, h]), outputs_info=V, n_steps=4,
                                                     save_every_N=2, name="kept")[0][-1],
                     {V: (3,)}, r"scan 'kept': state 'v' has sizes \[3\] before step 0, but the step makes it \[6\]"),
}  # fmt: skip


@pytest.mark.parametrize("make, sizes, words", SIZES.values(), ids=SIZES.keys())
def test_sizes_that_do_not_fit(make, sizes, words):
    f = theano.function(list(sizes), make())
    with pytest.raises(ValueError) as caught:
        f(*[ONES(shape) for shape in sizes.values()])
    assert re.search(words, str(caught.value)), str(caught.value)
    if "element by element" not in words:
        assert "element by element" not in str(caught.value)


KNOWN = {
    "product": (lambda: T.dot(T.constant(ONES((2, 3))), T.constant(ONES((4, 5)))),
                "product of .*: axis 1 of a, which meets axis 0 of b, has sizes 3 and 4"),
    "a state": (lambda: theano.scan(lambda h: T.concatenate([h, h]), outputs_info=ONES(3), n_steps=4, name="grow"),
                r"scan 'grow': state 0 has sizes \[3\] before step 0, but the step makes it \[6\]"),
    "axes of a state": (lambda: theano.scan(lambda h: h[:, None], outputs_info=V, n_steps=4, name="grow"),
                        r"scan 'grow': output 0 begins with 1 axis, but a step makes it with 2 .*\n.*zeros_like\(x\)"),
    "fewer axes of a state": (lambda: theano.scan(lambda h: h.sum(), outputs_info=V, n_steps=4, name="shrink"),
                              r"scan 'shrink': output 0 begins with 1 axis, .* with 0 .*\n.*value of the same rank.*keepdims"),
    "a number for a vector": (lambda: theano.scan(lambda h: h + V, outputs_info=0.0, n_steps=4, name="grow"),
                              r"scan 'grow': output 0 begins with 0 axes, .*\n.*zeros_like\(x\)"),
}  # fmt: skip


@pytest.mark.parametrize("make, words", KNOWN.values(), ids=KNOWN.keys())
def test_sizes_that_are_known_before_a_call(make, words):
    with pytest.raises(ValueError, match=words):
        make()


I, S, L = T.ivector("i"), T.scalar("s"), T.lvector("l")

DTYPES = {
    "a state": (lambda: theano.scan(lambda h: T.cast(h, "float32"), outputs_info=np.int8(0), n_steps=2),
                [".astype('float32')", ".astype('int8')"]),
    "steps": (lambda: theano.scan(lambda r: r, X, n_steps=S), [".astype('int64')"]),
    "an index": (lambda: V[S], [".astype('int64')"]),
    "a slice": (lambda: V[: S], [".astype('int64')"]),
    "a size": (lambda: T.zeros((S,)), [".astype('int64')"]),
    "a part": (lambda: T.set_subtensor(I[0], S), [".astype('int32')"]),
    "an update": (lambda: theano.function([], updates={theano.shared(0): S}), [".astype('int64')"]),
    "an update in a step": (lambda: theano.scan(lambda: {theano.shared(0): S}, n_steps=2), [".astype('int64')"]),
    "wrt integers": (lambda: T.grad(V.sum(), L), [".astype('float64')"]),
    "a cost of integers": (lambda: T.grad(L.sum(), V), [".astype('float64')"]),
    "bits of floats": (lambda: V & V, [".astype('bool')"]),
    "no bits of floats": (lambda: ~V, [".astype('bool')"]),
    "bits of both": (lambda: (V > 0) | V, [".astype('bool')"]),
    "clone": (lambda: theano.clone(V * 2, {V: L}), [".astype('float64')"]),
    "an argument": (lambda: theano.function([L], L)(ONES(3) * 1.5), [".astype('int64')"]),
    "a complex argument": (lambda: theano.function([V], V)(ONES(3) * 1j), [".real.astype('float64')"]),
    "a shared value": (lambda: theano.shared(0).set_value(0.5), [".astype('int64')"]),
}  # fmt: skip


@pytest.mark.parametrize("misuse, code", DTYPES.values(), ids=DTYPES.keys())
def test_what_to_write_about_a_dtype(misuse, code):
    with pytest.raises(ValueError) as caught:
        misuse()
    for words in code:
        assert words in str(caught.value), str(caught.value)
