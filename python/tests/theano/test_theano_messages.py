"""Exceptions of misuses: the class that Theano's programs expect, and a message that says what is
wrong or what to write instead. Each case has an action on a vector x, the class, and words of the
message. Calls that fail or are interrupted change nothing."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T
from scanloom import gradient

SCALAR, MATRIX = T.scalar("s"), T.matrix("m")


def scan(*arguments, **options):
    return lambda x: theano.scan(*arguments, **options)


def state(**info):
    return lambda x: theano.scan(lambda *s: s[0], outputs_info=dict(info), n_steps=2)


def of_step(step):
    return lambda x: theano.scan(step, x)


CASES = {
    # scan's arguments
    "no function": (scan(None, MATRIX), TypeError, "must be a function that describes a step"),
    "no steps": (scan(lambda s: s, outputs_info=SCALAR), ValueError, "give sequences or the number of steps"),
    "nothing": (scan(lambda: SCALAR), ValueError, "give sequences or the number of steps"),
    "steps of floats": (scan(lambda r: r, MATRIX, n_steps=SCALAR), ValueError, "cast it to int64"),
    "half a step": (scan(lambda r: r, MATRIX, n_steps=2.5), ValueError, "n_steps is 2.5, but must be an integer"),
    "steps as text": (scan(lambda r: r, MATRIX, n_steps="3"), TypeError, "integer or an integer variable"),
    "steps of a matrix": (scan(lambda r: r, MATRIX, n_steps=T.imatrix()), ValueError, "one integer"),
    "sequence of one number": (scan(lambda r: r, SCALAR), ValueError, "as non_sequences"),
    "sequence None": (scan(lambda r: r, [None]), TypeError, "sequence 0 is None, but must be a variable"),
    "sequence as text": (scan(lambda r: r, "abc"), TypeError, "needs an array or a number, not 'abc'"),
    "sequence without input": (scan(lambda r: r, dict(taps=[0])), ValueError, r"write dict\(input=x, taps="),
    "unknown key": (scan(lambda r: r, dict(input=MATRIX, tap=[0])), ValueError, "keys are 'input' and 'taps'"),
    "no taps": (scan(lambda r: r, dict(input=MATRIX, taps=[])), ValueError, "empty list of taps"),
    "taps of floats": (scan(lambda r: r, dict(input=MATRIX, taps=[0.5])), TypeError, "list of integers"),
    "taps as text": (scan(lambda r: r, dict(input=MATRIX, taps="0")), TypeError, "list of integers"),
    "tap 0 of an output": (state(initial=MATRIX, taps=[0]), ValueError, "taps of outputs look back"),
    "tap 1 of an output": (state(initial=MATRIX, taps=[1]), ValueError, "taps of outputs look back"),
    "a tap twice": (state(initial=MATRIX, taps=[-1, -1]), ValueError, "tap -1 twice"),
    "one tap of an output": (state(initial=MATRIX, taps=-1), TypeError, r"write a list: taps=\[-1\]"),
    "no taps of an output": (state(initial=MATRIX, taps=[]), ValueError, "empty list of taps"),
    "taps without initial": (state(taps=[-1]), ValueError, r"write dict\(initial=x, taps="),
    "return_steps": (state(initial=SCALAR, return_steps=1), ValueError, "keys are 'initial' and 'taps'"),
    "no rows": (state(initial=SCALAR, taps=[-2]), ValueError, "need an axis of 2 rows"),
    "too few rows": (state(initial=np.ones(1), taps=[-2]), ValueError, "has 1 rows, but taps back to -2 need 2"),
    "initial as text": (state(initial="a"), TypeError, "needs an array or a number, not 'a'"),
    "an initial number beyond int64": (
        scan(lambda s: s, outputs_info=2**63, n_steps=2), ValueError,
        r"output 0: its initial value: 9223372036854775808 is too large for int64, .*\n.*uint64"),
    "an initial number below int64": (
        scan(lambda s: s, outputs_info=-(2**64), n_steps=2), ValueError, "-18446744073709551616 is too small for int64"),
    "too few initial values": (
        scan(lambda s: [s, s], outputs_info=[SCALAR], n_steps=2), ValueError, "need the entry None"),
    "too many initial values": (
        scan(lambda s, t: s, outputs_info=[SCALAR] * 2, n_steps=2), ValueError, "returns 1 outputs"),
    "non_sequence None": (scan(lambda r, c: r, MATRIX, non_sequences=[None]), TypeError, "non_sequence 0 is None"),
    "mode": (scan(lambda r: r, MATRIX, mode="FASTEST"), ValueError, "modes are None, 'FAST_RUN'"),
    "truncation as text": (scan(lambda r: r, MATRIX, truncate_gradient="all"), TypeError, "must be an integer"),
    "truncation to none": (scan(lambda r: r, MATRIX, truncate_gradient=0), ValueError, "-1, all steps, or at least 1"),
    "checkpoint": (scan(lambda r: r, MATRIX, checkpoint="some"), ValueError, "'all', 'sqrt', {'every': n}"),
    "checkpoints of taps": (
        lambda x: theano.scan_checkpoints(lambda a, b: a, dict(input=x, taps=[0, 1])), RuntimeError, "tap"),
    "a chunk of none": (
        lambda x: theano.scan_checkpoints(lambda r: r, x, save_every_N=0), ValueError, "at least 1"),
    "integers to begin with": (
        scan(lambda r, s: s + r.sum(), MATRIX, T.constant(0)), ValueError, "cast the initial value to float64"),
    "another rank": (scan(lambda r, s: s + r, MATRIX, SCALAR), (TypeError, ValueError), "axes"),
    "the loop's name": (scan(lambda r: r, MATRIX, n_steps=2.5, name="decoder"), ValueError, "scan 'decoder'"),
    # what a step does
    "too few parameters": (
        of_step(lambda: SCALAR), TypeError, "takes 0 arguments, but is called with 1 argument: 1 slice of"),
    "too many parameters": (
        of_step(lambda a, b: a), TypeError, r"takes 2 arguments \(a, b\), but is called with 1 argument: 1 slice of"),
    "truth": (of_step(lambda e: e if e > 0 else -e), TypeError, r"T.switch\(condition, a, b\)"),
    "iteration": (lambda x: theano.scan(lambda r: sum(r), MATRIX), TypeError, r"T.sum\(x\) sums it"),
    "a number": (of_step(lambda e: 1), TypeError, r"T.constant\(...\) turns a number or an array into a variable"),
    "nothing given": (of_step(lambda e: None), TypeError, "returns None, which is not a variable"),
    "a string": (of_step(lambda e: [e, "a"]), TypeError, "returns 'a', which is not a variable"),
    "a condition alone": (of_step(lambda e: theano.scan_module.until(e > 0)), ValueError, "only a condition"),
    "a condition in front": (
        of_step(lambda e: (theano.scan_module.until(e > 0), e)), ValueError, "the last value of a step"),
    "updates of variables": (of_step(lambda e: {e: e}), TypeError, "keys of updates must be shared variables"),
    "parts mixed up": (of_step(lambda e: ([e], [e], [e])), ValueError, "in an unknown form"),
    # gradients
    "cost of a vector": (lambda x: T.grad(x, x), TypeError, "sum it"),
    "cost as number": (lambda x: T.grad(1.0, x), TypeError, "the cost is 1.0, but must be a variable"),
    "wrt a number": (lambda x: T.grad(x.sum(), 1), TypeError, "wrt is 1, but must be a variable"),
    "cost of integers": (lambda x: T.grad(T.cast(x.sum(), "int64"), x), ValueError, "int64, which has no gradient"),
    "no cost": (lambda x: T.grad(None, x), ValueError, "neither a cost nor known_grads"),
    "disconnected": (lambda x: T.grad(x.sum(), MATRIX), gradient.DisconnectedInputError, "='ignore' gives zeros"),
    "disconnected as text": (
        lambda x: T.grad(x.sum(), x, disconnected_inputs="shout"), ValueError, "one of raise, warn, ignore"),
    "null gradients as text": (
        lambda x: T.grad(x.sum(), x, null_gradients="shout"), ValueError, "one of raise, return"),
    "known gradients": (lambda x: T.grad(x.sum(), x, known_grads={x: MATRIX}), TypeError, "1 axes, but its gradient has 2"),
    "wrt integers": (
        lambda x: T.grad(x.sum(), T.lvector()),
        ValueError,
        "gradients are taken with respect to floating-point",
    ),
    "empty clip": (lambda x: gradient.grad_clip(x, 1, -1), ValueError, "which is empty"),
    "jacobian of a matrix": (lambda x: T.jacobian(T.outer(x, x), x), ValueError, "flatten it"),
    "hessian of a vector": (lambda x: T.hessian(x, x), TypeError, "sum it"),
    "hessian wrt a matrix": (lambda x: T.hessian(x.sum(), MATRIX), ValueError, "which has 2 axes, not 1"),
    "Rop of too few": (lambda x: T.Rop(x * 2, [x, MATRIX], [x]), ValueError, "2 variables in wrt, but 1"),
    "Lop of another rank": (lambda x: T.Lop(x, x, MATRIX), TypeError, "its eval_point has 2"),
    # function and shared variables
    "inputs as one": (lambda x: theano.function(x, x), TypeError, "must be a list of variables"),
    "input as number": (lambda x: theano.function([1], x), TypeError, "an input of a function must be a variable"),
    "output as number": (lambda x: theano.function([x], 1), TypeError, r"T.constant\(...\) turns a number or an array into one"),
    "input twice": (lambda x: theano.function([x, x], x), ValueError, "'x' is named twice"),
    "input missing": (lambda x: theano.function([], x), ValueError, "add it to the inputs"),
    "input unused": (lambda x: theano.function([x, SCALAR], x), ValueError, "on_unused_input='ignore' accepts"),
    "shared as input": (lambda x: theano.function([theano.shared(1.0)], x), TypeError, "givens={variable: value}"),
    "function's mode": (lambda x: theano.function([x], x, mode="?"), ValueError, "modes are None"),
    "updates of inputs": (lambda x: theano.function([x], x, updates={x: x}), TypeError, "shared variables, not x"),
    "updates as number": (lambda x: theano.function([x], x, updates=5), TypeError, "a dictionary or pairs"),
    "update of another dtype": (
        lambda x: theano.function([x], x, updates={theano.shared(1): x.sum()}), TypeError, r"write .astype\('int64'\)"),
    "In without value": (lambda x: theano.In(x, update=x), ValueError, "no value to begin with"),
    "value as text": (lambda x: theano.function([theano.In(x, value="a")], x), TypeError, "not 'a'"),
    "shared None": (lambda x: theano.shared(None), TypeError, "needs an array or a number, not None"),
    "shared of a variable": (lambda x: theano.shared(x), TypeError, "needs an array as its initial value"),
    "value of another rank": (lambda x: theano.shared(1.0).set_value([1, 2]), TypeError, "0 axes, but the value has 1"),
    "value that loses": (lambda x: theano.shared(1).set_value(1.5), TypeError, r"\.astype\('int64'\)"),
    "call with a text": (lambda x: theano.function([x], x)("a"), TypeError, "not 'a'"),
    "call without values": (lambda x: theano.function([x], x)(), TypeError, "needs a value for"),
    "call with too many": (lambda x: theano.function([x], x)([1], [2]), TypeError, "takes 1 values, but 2 are given"),
    "call with another rank": (lambda x: theano.function([x], x)(np.ones((2, 2))), TypeError, "axes"),
    # variables
    "length": (lambda x: len(x), TypeError, r"x.shape\[0\] is its size"),
    "a number of it": (lambda x: float(x), TypeError, r"with \.eval\(\)"),
    "an array of it": (lambda x: np.asarray(x), TypeError, r"with \.eval\(\)"),
    "writing": (lambda x: x.__setitem__(0, 1), TypeError, r"T.set_subtensor\(x\[...\], y\) returns a new one"),
    "writing to a whole": (lambda x: T.set_subtensor(x, 1), ValueError, r"write set_subtensor\(x\[...\], y\)"),
    "a floating-point index": (lambda x: x[0.5], TypeError, "indices are integers, slices and variables"),
    "too many indices": (lambda x: x[0, 0], ValueError, "2 indices for 'x', which has 1 axes"),
    "an axis beyond": (lambda x: x.sum(axis=2), ValueError, "axis 2 is outside its 1 axes"),
    "an unknown dtype": (lambda x: x.astype("text"), TypeError, "unknown dtype 'text'"),
    "nothing to join": (lambda x: T.concatenate([]), ValueError, "there is nothing to join"),
    "one to join": (lambda x: T.concatenate(x), TypeError, "takes a list of variables"),
    "a size of floats": (lambda x: x.reshape((2.5,)), TypeError, "sizes are integers"),
    "a seed as text": (lambda x: T.shared_randomstreams.RandomStreams("a"), TypeError, "a seed must be an integer"),
}  # fmt: skip


@pytest.mark.parametrize("misuse,kind,words", CASES.values(), ids=CASES.keys())
def test_misuses(misuse, kind, words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(kind, match=words):
            misuse(T.vector("x"))


def test_there_are_many():
    assert len(CASES) >= 80


FAILING = """
import os, signal, sys, threading
import numpy as np
import scanloom as theano
import scanloom.tensor as T

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
total = theano.shared(0.0)
streams = T.shared_randomstreams.RandomStreams(7)
n, i = T.lscalar("n"), T.lscalar("i")
def step(s):
    drawn = streams.uniform((3,))
    return T.sin(s) + drawn.sum(), {total: total + 1}
rows, updates = theano.scan(step, outputs_info=T.zeros(()), n_steps=n)
last = T.stack([rows[-1]])[i]
f = theano.function([n, i], last, updates=updates)
first = f(5, 0)
held = [total.get_value()] + [u.get_value() for u in updates.keys()]
expected = theano.function([n, i], last)(5, 0)  # what the next call draws
try:
    if sys.argv[1] == "index":
        f(5, 3)
    else:
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        f(10**10, 0)
except (IndexError, KeyboardInterrupt) as error:
    print(type(error).__name__.replace("IndexOutside", "IndexError"))
for before, after in zip(held, [total.get_value()] + [u.get_value() for u in updates.keys()]):
    np.testing.assert_array_equal(before, after)
assert f(5, 0) == expected
print("as before")
"""


@pytest.mark.parametrize("how,raised", [("index", "IndexError"), ("interrupt", "KeyboardInterrupt")])
def test_failing_calls_leave_variables_and_streams(how, raised):
    answer = subprocess.run(
        [sys.executable, "-c", FAILING, how], capture_output=True, text=True, timeout=60
    )
    assert answer.stdout.split("\n")[:2] == [raised, "as before"], answer.stderr


def test_values_of_a_step_that_are_read_outside():
    x, kept = T.vector("x"), []
    theano.scan(lambda a: kept.append(a) or a, x, name="walk")
    with pytest.raises(theano.InvalidArgument, match="scan 'walk' passes to its steps .* outside"):
        theano.function([x], kept[0], on_unused_input="ignore")
