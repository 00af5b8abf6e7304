"""Arguments that scan refuses, at once or when the function runs."""

import warnings

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T


BAD = (TypeError, ValueError)


def run(inputs, outputs, *values, **options):
    return theano.function(inputs, outputs, **options)(*values)


MISUSES = {
    "no function": lambda: theano.scan(None, T.vector()),
    "no steps": lambda: theano.scan(lambda x: x, outputs_info=T.scalar()),
    "nothing": lambda: theano.scan(lambda: T.constant(1)),
    "steps of floats": lambda: theano.scan(lambda x: x, T.vector(), n_steps=T.scalar()),
    "steps of a fraction": lambda: theano.scan(lambda x: x, T.vector(), n_steps=2.5),
    "steps as text": lambda: theano.scan(lambda x: x, T.vector(), n_steps="3"),
    "steps of a matrix": lambda: theano.scan(lambda x: x, T.vector(), n_steps=T.imatrix()),
    "steps of a vector": lambda: theano.scan(lambda x: x, T.vector(), n_steps=T.ivector()),
    "steps as a shape": lambda: theano.scan(lambda x: x, T.vector(), n_steps=T.matrix().shape),
    "until of a vector": lambda: theano.scan(
        lambda x: (x, theano.scan_module.until(x > 1)), T.matrix("x")
    ),
    "scalar sequence": lambda: theano.scan(lambda x: x, T.scalar("s")),
    "sequence None": lambda: theano.scan(lambda x: x, [None]),
    "sequence text": lambda: theano.scan(lambda x: x, "abc"),
    "sequence without input": lambda: theano.scan(lambda x: x, dict(taps=[0])),
    "sequence with a strange key": lambda: theano.scan(lambda x: x, dict(input=T.vector(), tap=[0])),
    "sequence without taps": lambda: theano.scan(lambda x: x, dict(input=T.vector(), taps=[])),
    "taps of floats": lambda: theano.scan(lambda x: x, dict(input=T.vector(), taps=[0.5])),
    "taps as text": lambda: theano.scan(lambda x: x, dict(input=T.vector(), taps="0")),
    "output with tap 0": lambda: theano.scan(
        lambda x: x, outputs_info=dict(initial=T.vector(), taps=[0]), n_steps=2
    ),
    "output with tap 1": lambda: theano.scan(
        lambda x: x, outputs_info=dict(initial=T.vector(), taps=[1]), n_steps=2
    ),
    "output with a tap twice": lambda: theano.scan(
        lambda x, y: x, outputs_info=dict(initial=T.vector(), taps=[-1, -1]), n_steps=2
    ),
    "output with an integer as taps": lambda: theano.scan(
        lambda x: x, outputs_info=dict(initial=T.vector(), taps=-1), n_steps=2
    ),
    "output without taps": lambda: theano.scan(
        lambda: T.ones(()), outputs_info=dict(initial=T.vector(), taps=[]), n_steps=2
    ),
    "taps without initial": lambda: theano.scan(
        lambda x: x, outputs_info=dict(taps=[-1]), n_steps=2
    ),
    "return_steps": lambda: theano.scan(
        lambda x: x, outputs_info=dict(initial=T.scalar(), return_steps=1), n_steps=2
    ),
    "initial without rows": lambda: theano.scan(
        lambda x: x, outputs_info=dict(initial=T.scalar(), taps=[-2]), n_steps=2
    ),
    "initial with too few rows": lambda: theano.scan(
        lambda x: x, outputs_info=dict(initial=np.ones(1), taps=[-2]), n_steps=2
    ),
    "too few initial values": lambda: theano.scan(
        lambda x: [x, x], outputs_info=[T.scalar()], n_steps=2
    ),
    "too many initial values": lambda: theano.scan(
        lambda x, y: x, outputs_info=[T.scalar(), T.scalar()], n_steps=2
    ),
    "initial text": lambda: theano.scan(lambda x: x, outputs_info="a", n_steps=2),
    "non_sequence None": lambda: theano.scan(lambda x, y: x, T.vector(), non_sequences=[None]),
    "mode": lambda: theano.scan(lambda x: x, T.vector(), mode="FASTEST"),
    "truncate text": lambda: theano.scan(lambda x: x, T.vector(), truncate_gradient="all"),
    "truncate 0": lambda: theano.scan(lambda x: x, T.vector(), truncate_gradient=0),
    "too few parameters": lambda: theano.scan(lambda: T.constant(1), T.vector()),
    "truth value": lambda: theano.scan(lambda x: x if x > 0 else -x, T.vector()),
    "iterating": lambda: theano.scan(lambda x: sum(e for e in x), T.matrix()),
    "python's sum": lambda: sum(T.vector()),
    "length": lambda: len(T.vector()),
    "save_every_N": lambda: theano.scan_checkpoints(
        lambda x: x, outputs_info=T.scalar(), n_steps=4, save_every_N=0
    ),
}


@pytest.mark.parametrize("misuse", MISUSES.values(), ids=MISUSES.keys())
def test_misuses(misuse):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(BAD):
            misuse()


def test_checkpoints_take_no_taps():
    with pytest.raises(RuntimeError):
        theano.scan_checkpoints(lambda x: x, dict(input=T.vector(), taps=[0, 1]))
    with pytest.raises(RuntimeError):
        theano.scan_checkpoints(
            lambda x: x, outputs_info=dict(initial=T.vector(), taps=[-2]), n_steps=3
        )


def test_messages_name_the_loop():
    with pytest.raises(ValueError, match="decoder"):
        theano.scan(lambda x, s: s + x, T.dvector(), T.constant(0), name="decoder")


def test_rows_that_are_missing_when_a_function_runs():
    x0 = T.vector()
    rows, _ = theano.scan(
        lambda a, b: a + b, outputs_info=dict(initial=x0, taps=[-3, -1]), n_steps=2, name="filter"
    )
    with pytest.raises(ValueError, match="filter"):
        run([x0], rows, [1, 2])


def test_messages_count_arguments():
    with pytest.raises(TypeError, match="4 arguments: 2 slices of sequences, 1 .* 1 non_seq"):
        theano.scan(lambda a, b, c: a, [T.vector()] * 2, T.zeros(()), T.scalar())


@pytest.mark.parametrize(
    "fn", [lambda *all: all[0], lambda a, b=None: a, max, type("Call", (), {"__call__": lambda self, a: a})()]
)  # fmt: skip
def test_other_kinds_of_step_functions(fn):
    x = T.vector()
    rows, _ = theano.scan(fn if fn is not max else T.exp, x)
    assert run([x], rows, [1, 2]).shape == (2,)
