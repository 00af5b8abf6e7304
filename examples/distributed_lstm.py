#!/usr/bin/env python3
"""Trains a small LSTM on several ranks; the loss has the same bits for any number of them.

    distributed_lstm.py [--ranks 1 2 4] [--steps 20]
    mpiexec -n 4 python distributed_lstm.py --mpi

The LSTM learns to add up the numbers of a sequence that are marked. Without --mpi, ranks are processes
of this machine, and the program compares the losses of all numbers of ranks.
"""

import argparse
import sys

import numpy as np

import scanloom
import scanloom.distributed
import scanloom.tensor as T

UNITS, LENGTH, ROWS = 16, 20, 8  # ROWS sequences are a micro-batch
MICRO_BATCHES = 8  # of a step: what decides the bits
RATE = 0.2


def micro_batch(number):
    """Sequences of (number, mark) and their sums, the same on every rank."""
    generator = np.random.default_rng(number)
    values = generator.uniform(0, 1, (LENGTH, ROWS)).astype(np.float32)
    marks = np.zeros((LENGTH, ROWS), np.float32)
    for row in range(ROWS):
        marks[generator.choice(LENGTH, 2, replace=False), row] = 1
    return np.stack([values, marks], axis=2), (values * marks).sum(axis=0)


class Step:
    """The micro-batches of one training step. Only those that a rank asks for are made."""

    def __init__(self, step):
        self._first = step * MICRO_BATCHES

    def __len__(self):
        return MICRO_BATCHES

    def __getitem__(self, number):
        return micro_batch(self._first + number)


class Model:
    """An LSTM and a sum of its last state."""

    def __init__(self):
        generator = np.random.default_rng(0)

        def weight(*shape):
            return scanloom.shared(generator.normal(0, 0.2, shape).astype(np.float32))

        self.parameters = [weight(2, 4 * UNITS), weight(UNITS, 4 * UNITS), weight(4 * UNITS), weight(UNITS)]
        x, y = T.ftensor3("x"), T.fvector("y")
        loss = T.mean((self._predicted(x) - y) ** 2)
        self.gradients = scanloom.function([x, y], [loss, *T.grad(loss, self.parameters)])

    def _predicted(self, x):
        w, u, b, out = self.parameters

        def step(x_t, h, c, w, u, b):
            gates = T.dot(x_t, w) + T.dot(h, u) + b
            i, f, o, g = (gates[:, k * UNITS : (k + 1) * UNITS] for k in range(4))
            c = T.nnet.sigmoid(f + 1) * c + T.nnet.sigmoid(i) * T.tanh(g)
            return T.nnet.sigmoid(o) * T.tanh(c), c

        start = T.zeros((x.shape[1], UNITS), "float32")
        (h, _), _ = scanloom.scan(step, sequences=x, outputs_info=[start, start], non_sequences=[w, u, b])
        return T.dot(h[-1], out)


def train(communicator, steps):
    """Returns the loss of every step."""
    model = Model()
    losses = []
    for step in range(steps):
        loss, *slopes = scanloom.distributed.gradients(model.gradients, Step(step), communicator)
        losses.append(float(loss))
        for parameter, slope in zip(model.parameters, slopes):
            parameter.set_value(parameter.get_value() - np.float32(RATE) * slope)
    return losses


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    arguments.add_argument("--steps", type=int, default=20)
    arguments.add_argument("--mpi", action="store_true", help="the ranks are those of mpiexec")
    args = arguments.parse_args()
    if args.mpi:
        from mpi4py import MPI

        losses = train(MPI.COMM_WORLD, args.steps)
        if MPI.COMM_WORLD.rank == 0:
            print(f"{MPI.COMM_WORLD.size} ranks: loss {losses[0]:.4f} to {losses[-1]:.4f}, bits {losses[-1].hex()}")
        return 0
    first = None
    for ranks in args.ranks:
        losses = scanloom.distributed.run_local(ranks, train, args.steps)[0]
        first = losses if first is None else first
        same = "the same bits" if losses == first else "OTHER BITS"
        print(f"{ranks} ranks: loss {losses[0]:.4f} to {losses[-1]:.4f}, bits {losses[-1].hex()}: {same}")
        if losses != first:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
