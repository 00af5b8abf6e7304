"""The bits of a call do not depend on the sizes of the calls before it."""

import numpy as np
import pytest

import scanloom
import scanloom.tensor as T

STEPS = (0, 1, 2, 3, 8, 9, 63, 64)


def some(*shape):
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def sum_of_outer_products(numerics):
    x, y = T.fmatrix("x"), T.fmatrix("y")
    sums, _ = scanloom.scan(lambda now, other, before: before + T.outer(now, other), sequences=[x, y],
                            outputs_info=T.zeros((12, 12), dtype="float32"))
    return scanloom.function([x, y], sums[-1], numerics=numerics), lambda n: (some(n, 12), some(n, 12))


def sum_of_products(numerics):
    x, y = T.ftensor3("x"), T.ftensor3("y")
    _, sums = scanloom.scan(lambda now, other, before: (now.sum(), before + T.dot(now.T, other)), sequences=[x, y],
                            outputs_info=[None, T.zeros((16, 16), dtype="float32")])[0]
    return scanloom.function([x, y], sums[-1], numerics=numerics), lambda n: (some(n, 3, 16), some(n, 3, 16))


def gradient(numerics):
    x, w = T.fmatrix("x"), T.fmatrix("w")
    states, _ = scanloom.scan(lambda now, before, w: T.tanh(now + T.dot(before, w)), sequences=x,
                              outputs_info=T.zeros((16,), dtype="float32"), non_sequences=w)
    grad = scanloom.grad(states.sum(), w)
    return scanloom.function([x, w], grad, numerics=numerics), lambda n: (some(n, 16), some(16, 16) / 4)


def mean(numerics):
    x = T.fvector("x")
    rows, _ = scanloom.scan(lambda now, before: np.float32(0.9) * before + np.float32(0.1) * now, sequences=x,
                            outputs_info=T.constant(np.float32(0.3)))
    return scanloom.function([x], rows, numerics=numerics), lambda n: (some(n),)


def cells(numerics):
    x, a = T.fmatrix("x"), T.fvector("a")
    rows, _ = scanloom.scan(lambda now, before, a: before * a * a + now * before + a * a, sequences=x,
                            outputs_info=T.ones_like(a) * np.float32(0.3), non_sequences=a)
    return scanloom.function([x, a], rows, numerics=numerics), lambda n: (some(n, 5) / 4, some(5) / 4)


@pytest.mark.parametrize("numerics", ["exact", "fast"])
@pytest.mark.parametrize("make", [sum_of_outer_products, sum_of_products, gradient, mean, cells])
def test_a_call_gives_the_same_bits_first_and_later(make, numerics):
    last = make in (sum_of_outer_products, sum_of_products)
    for steps in STEPS[1:] if last else STEPS:  # the last sum of no steps is an error
        first, arguments = make(numerics)
        later, _ = make(numerics)
        for other in (steps + 3, steps + 5, 1, 70):
            later(*arguments(other))
        for call in range(2):
            np.testing.assert_array_equal(later(*arguments(steps)), first(*arguments(steps)))


def test_a_call_gives_the_same_bits_after_calls_with_other_batches():
    """The size of a batch decides whether a sum of products becomes one product: for a large one it does not."""
    x, w = T.ftensor3("x"), T.fmatrix("w")

    def made():
        states, _ = scanloom.scan(lambda now, before, w: T.tanh(now + T.dot(before, w)), sequences=x,
                                  outputs_info=T.zeros_like(x[0]), non_sequences=w)
        return scanloom.function([x, w], scanloom.grad(states.sum(), w))

    later, kinds = made(), set()
    for steps, units in ((9, 16), (5, 16), (5, 6), (9, 12)):
        for batch in (4, 5, 40, 41, 4, 40, 1, 7, 2, 8, 3):
            arguments = some(steps, batch, units) / 4, some(units, units) / 4
            first = made()
            np.testing.assert_array_equal(later(*arguments), first(*arguments))
            kinds.add('spec = "t' in first.ir())  # a product that sums over the steps
    assert kinds == {True, False}


@pytest.mark.parametrize("sizes", [[(4, 4), (7, 7)], [(4, 4), (7, 9)], [(4, 5), (6, 7), (6, 6)], [(1, 1), (5, 5)]])
def test_sizes_that_were_equal_so_far_may_come_to_differ(sizes):
    x, y = T.fvector("x"), T.fvector("y")
    rows, _ = scanloom.scan(lambda now, other: now * other, sequences=[x, y])
    product = scanloom.function([x, y], rows)
    for n, m in [*sizes, (3, 8), (8, 3), (8, 8), (1, 2)]:
        found, wanted = product(some(n), some(m)), some(n)[:min(n, m)] * some(m)[:min(n, m)]
        np.testing.assert_array_equal(found, wanted)
