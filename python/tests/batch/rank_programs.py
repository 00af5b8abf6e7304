"""What ranks do in the tests of sums over ranks. They import it, so it imports little."""

import numpy as np

import scanloom
from scanloom import distributed


def leaf(number):
    generator = np.random.default_rng(number)
    return [generator.standard_normal((3, 5)).astype(np.float32), np.float32(generator.standard_normal())]


def tree(low, high):
    """The sum by the definition."""
    if high - low == 1:
        return leaf(low)
    half = 1
    while 2 * half < high - low:
        half *= 2
    return [a + b for a, b in zip(tree(low, low + half), tree(low + half, high))]


def sums(group, leaves):
    return [each.tobytes() for each in distributed.tree_sum(leaf, leaves, group)]


def sums_of_all(group):
    return [sums(group, leaves) for leaves in range(1, 14)]


def failing(group):
    def leaf_or_error(number):
        if number == 4:
            raise ValueError("no data")
        return leaf(number)

    try:
        distributed.tree_sum(leaf_or_error, 6, group)
    except scanloom.Error as error:
        return str(error), sums(group, 3)  # the group still works


def disagreeing(group):
    try:
        distributed.tree_sum(leaf, 5 + group.rank // 2, group)
    except scanloom.InvalidArgument as error:
        return str(error)


def unequal(group):
    try:
        distributed.tree_sum(lambda number: [np.zeros(2 + (number > 3))], 6, group)
    except scanloom.Error as error:
        return str(error)


def all_failures(group):
    return failing(group), disagreeing(group), unequal(group)


def leaving(group):
    if group.rank == 1:
        raise SystemExit
    return sums(group, 4)
