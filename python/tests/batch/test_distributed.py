"""Sums over ranks: the same bits for any number of ranks, and errors that reach all of them."""

import numpy as np
import pytest

import scanloom
from rank_programs import all_failures, leaving, sums, sums_of_all, tree
from scanloom import distributed
from scanloom._distributed.communicators import Mpi


def test_the_bits_do_not_depend_on_the_ranks():
    alone = sums_of_all(None)
    assert alone == [[each.tobytes() for each in tree(0, leaves)] for leaves in range(1, 14)]
    for size in (2, 3, 5):
        assert distributed.run_local(size, sums_of_all) == [alone] * size


def test_ranks_have_contiguous_shares():
    for leaves in range(20):
        for size in range(1, 7):
            shares = [distributed.owned(leaves, rank, size) for rank in range(size)]
            assert [number for share in shares for number in share] == list(range(leaves))
            assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_errors_reach_every_rank():
    text = "micro-batch 4 on rank 2: ValueError: no data"
    sizes = "array 0 is float64[2] in one micro-batch and float64[3] in another"
    wrong = "the number of micro-batches is 5 on rank 0 and 6 on rank 2"
    found = distributed.run_local(3, all_failures)
    assert found == [((text, sums(None, 3)), wrong, sizes)] * 3


def test_a_rank_that_ends_does_not_hang_the_others():
    with pytest.raises(scanloom.Error, match="rank 1"):
        distributed.run_local(3, leaving)


@pytest.mark.parametrize("leaves", [1, 2])
def test_arrays_without_a_sum_are_refused(leaves):
    for array, dtype in ((np.ones(2, bool), "bool"), (np.array(["a"], object), "object")):
        with pytest.raises(scanloom.Error, match=f"micro-batch 0 .*array 1 is {dtype}, which has no sum"):
            distributed.tree_sum(lambda _: [np.float32(1), array], leaves)


class FakeMpi:
    """A communicator like those of mpi4py, of one rank. All have the same handle, as if each was made after
    the one before was freed."""

    handle = 1

    def __init__(self):
        self._attributes = {}
        self.duplicates = 0

    @classmethod
    def Create_keyval(cls):
        return 7

    def Get_attr(self, key):
        return self._attributes.get(key)

    def Set_attr(self, key, value):
        self._attributes[key] = value

    def Dup(self):
        self.duplicates += 1
        return FakeMpi()

    def Get_rank(self):
        return 0

    def Get_size(self):
        return 1

    def send(self, value, dest):
        raise AssertionError("there is no other rank")

    recv = send


def test_each_communicator_of_mpi_has_one_duplicate(monkeypatch):
    monkeypatch.setattr(Mpi, "_key", None)
    first, second = FakeMpi(), FakeMpi()
    for communicator in (first, second, first, second):
        assert sums(communicator, 3) == sums(None, 3)
    assert (first.duplicates, second.duplicates) == (1, 1)


def test_mistakes():
    with pytest.raises(scanloom.InvalidArgument, match="there are 0 micro-batches"):
        distributed.gradients(np.sin, [])
    with pytest.raises(scanloom.InvalidArgument, match=r"batches is a generator, but must have len\(\) and"):
        distributed.gradients(np.sin, (each for each in [1.0]))
    with pytest.raises(scanloom.InvalidArgument, match="cannot be sent to a process.*lambda"):
        distributed.run_local(2, lambda communicator: communicator.rank)
    with pytest.raises(scanloom.InvalidArgument, match="3 is no communicator"):
        distributed.gradients(np.sin, [1.0], 3)
    assert distributed.gradients(np.add, [(1.0, 2.0), (3.0, 4.0)]) == [5.0]
    assert distributed.gradients(np.sin, [0.0, 0.0], average=False) == [0.0]


def test_means_have_the_dtype_of_the_sums_unless_these_are_integers():
    assert distributed.gradients(np.int32, [1, 2]) == [1.5]
    (mean,) = distributed.gradients(np.float32, [1, 2])
    assert (mean, mean.dtype) == (1.5, np.float32)
