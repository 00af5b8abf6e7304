"""Indices of several axes: integers, vectors and tables of integers, masks, slices, new axes and
ellipses in any order. Parts have the shape and elements that numpy gives them."""

import itertools

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T

CUBE = np.arange(5 * 6 * 4 * 3, dtype="float64").reshape(5, 6, 4, 3)
ALL, PART = slice(None), slice(1, 3)
ROWS, TABLE = np.array([2, 0]), np.array([[1], [0], [-1]])

NAMED = [
    (ALL, None, -1, ALL, ROWS),
    (ALL, -1, None, ROWS),
    (ALL, ROWS, None, 0),
    (ALL, ROWS, None, ROWS),
    (ALL, TABLE, None, ROWS),
    (ALL, None, TABLE, ROWS, None),
    (None, ALL, ROWS, PART, TABLE),
    (ALL, None, ROWS, None, ALL, None, 1),
    (0, None, ROWS),
    (0, ALL, None, ROWS),
    (ALL, 0, None, 1),
    (None, 0, ALL, None, 1),
    (ALL, ROWS, Ellipsis, ROWS, 0),
    (ALL, ROWS, Ellipsis, 0),
    (ALL, Ellipsis, ROWS, 0, 1),
    (ALL, ROWS, ROWS, 0, Ellipsis),
    (ALL, 0, ROWS, Ellipsis, None),
    (ALL, None, np.arange(24).reshape(6, 4) % 5 == 0),
    (ALL, np.arange(6) % 3 == 0, None, ROWS),
    (None, np.arange(5) % 2 == 0, ALL, None, 0),
]
EVERY = [
    key
    for key in itertools.product([ALL, None, 1, ROWS, Ellipsis], repeat=4)
    if sum(item is Ellipsis for item in key) <= 1
]


def words(key):
    return repr(key).replace("slice(None, None, None)", ":")


def same(found, expected):
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("key", NAMED, ids=words)
def test_a_part_is_that_of_numpy(key):
    x = T.tensor4("x", dtype="float64")
    same(theano.function([x], x[key])(CUBE), CUBE[key])


@pytest.mark.parametrize("key", NAMED, ids=words)
@pytest.mark.parametrize("write", [T.set_subtensor, T.inc_subtensor], ids=["set", "inc"])
@pytest.mark.parametrize("is_shared", [False, True], ids=["input", "shared"])
def test_writing_to_a_part_is_that_of_numpy(key, write, is_shared):
    part = CUBE[key]
    # One value along the first axis of the part shows to which of its axes y is broadcast.
    y = -1.0 - np.arange(part[0].size, dtype="float64").reshape(part.shape[1:])
    expected = CUBE.copy()
    if write is T.set_subtensor:
        expected[key] = y
    else:
        np.add.at(expected, key, y)
    if is_shared:
        table = theano.shared(CUBE.copy(), "table")
        theano.function([], [], updates=[(table, write(table[key], y))])()
        found = table.get_value()
    else:
        x = T.tensor4("x", dtype="float64")
        found = theano.function([x], write(x[key], y))(CUBE)
    same(found, expected)


def test_every_order_of_items_is_that_of_numpy():
    for first in range(0, len(EVERY), 100):
        keys = EVERY[first : first + 100]
        x = T.tensor4("x", dtype="float64")
        for key, found in zip(keys, theano.function([x], [x[key] for key in keys])(CUBE)):
            assert found.shape == CUBE[key].shape, words(key)
            np.testing.assert_array_equal(found, CUBE[key], err_msg=words(key))


def test_the_gradient_of_a_part_is_written_where_it_was_read():
    for key in NAMED:
        x = T.tensor4("x", dtype="float64")
        weights = np.arange(CUBE[key].size, dtype="float64").reshape(CUBE[key].shape)
        found = theano.function([x], T.grad((x[key] * weights).sum(), x))(CUBE)
        expected = np.zeros_like(CUBE)
        np.add.at(expected, key, weights)
        np.testing.assert_array_equal(found, expected, err_msg=words(key))
