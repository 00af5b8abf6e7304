#!/usr/bin/env python3
"""Trains a restricted Boltzmann machine on scikit-learn's 8 x 8 digits by contrastive divergence, then
draws digits from it. Prints the reconstruction error of every epoch and writes a picture: digits of
the data on the left, samples of the machine on the right.

    digits_rbm.py [--epochs 40] [--seed 1234] [build/digits_rbm.png]

Except for the imports it is a program for Theano, built around the Gibbs chain of its tutorial on scan.
"""

import argparse
import pathlib
import struct
import sys
import zlib

import numpy as np
import scanloom as theano
import scanloom.tensor as T

VISIBLE, HIDDEN = 64, 128
BATCH, CHAIN_STEPS, RATE = 20, 10, 0.2
GRID, CELL = 10, 10  # each half of the picture: GRID x GRID digits of CELL x CELL pixels
SAMPLE_STEPS = 1000  # from one sample of a chain to the next


def load_digits():
    """One row per digit: 64 pixels, 0 or 1."""
    from sklearn import datasets

    return (datasets.load_digits().data > 7).astype(theano.config.floatX)


class Machine:
    """The energy of pixels v and hidden units h is -(v W h + v bvis + h bhid)."""

    def __init__(self, digits, generator, seed):
        on = digits.mean(axis=0).clip(0.01, 0.99)
        self.W = self._share(generator.normal(0, 0.01, (VISIBLE, HIDDEN)), "W")
        self.bvis = self._share(np.log(on / (1 - on)), "bvis")  # as often on as in the data
        self.bhid = self._share(np.zeros(HIDDEN), "bhid")
        self.parameters = [self.W, self.bvis, self.bhid]
        self.streams = T.shared_randomstreams.RandomStreams(seed)

    @staticmethod
    def _share(value, name):
        return theano.shared(value.astype(theano.config.floatX), name)

    def gibbs_step(self, v, W, bvis, bhid):
        """From the pixels to the hidden units and back: the pixels' probabilities, and a draw."""
        floatX = theano.config.floatX
        h_mean = T.nnet.sigmoid(T.dot(v, W) + bhid)
        h = self.streams.binomial(size=h_mean.shape, n=1, p=h_mean, dtype=floatX)
        v_mean = T.nnet.sigmoid(T.dot(h, W.T) + bvis)
        return v_mean, self.streams.binomial(size=v.shape, n=1, p=v_mean, dtype=floatX)

    def gibbs_chain(self, v, steps):
        """The probabilities and draws of all steps, and the updates of the random streams."""
        (v_means, vs), updates = theano.scan(
            self.gibbs_step,
            outputs_info=[None, v],
            non_sequences=self.parameters,
            n_steps=steps,
            strict=True,
        )
        return v_means, vs, updates

    def free_energy(self, v):
        """-log of the sum over all hidden units of exp(-energy), one number per row."""
        return -T.dot(v, self.bvis) - T.nnet.softplus(T.dot(v, self.W) + self.bhid).sum(axis=1)

    def trainer(self):
        """A function that learns from a batch and returns its reconstruction error."""
        v, rate = T.matrix("v"), T.scalar("rate")
        v_means, vs, updates = self.gibbs_chain(v, CHAIN_STEPS)
        end = vs[-1]
        # Makes the data likelier and the samples of the chain less likely. The chain itself is not
        # differentiated.
        cost = self.free_energy(v).mean() - self.free_energy(end).mean()
        gradients = T.grad(cost, self.parameters, consider_constant=[end])
        for parameter, gradient in zip(self.parameters, gradients):
            updates[parameter] = parameter - rate * gradient
        return theano.function([v, rate], T.sqr(v - v_means[0]).mean(), updates=updates)

    def walker(self, chains):
        """A function that takes the chains in a shared variable some steps further, and returns the
        probabilities of the pixels in the last step."""
        steps = T.iscalar("steps")
        v_means, vs, updates = self.gibbs_chain(chains, steps)
        updates[chains] = vs[-1]
        return theano.function([steps], v_means[-1], updates=updates)


def train(machine, digits, epochs, generator):
    learn = machine.trainer()
    for epoch in range(epochs):
        rate = RATE * (1 - epoch / epochs)  # smaller rates average over more batches
        shuffled = generator.permutation(digits)
        errors = [learn(shuffled[at : at + BATCH], rate) for at in range(0, len(digits), BATCH)]
        print(f"epoch {epoch + 1:2d}  reconstruction error {np.mean(errors):.4f}", flush=True)


def draw(machine, generator):
    """Returns GRID rows of samples of GRID chains, SAMPLE_STEPS steps after the row before."""
    noise = generator.integers(0, 2, (GRID, VISIBLE)).astype(theano.config.floatX)
    walk = machine.walker(theano.shared(noise, "chains"))
    return np.vstack([walk(SAMPLE_STEPS) for _ in range(GRID)])


def tile(rows):
    """GRID x GRID digits as one image with lines between them, from 0 for black to 1."""
    cells = np.pad(rows.reshape(GRID, GRID, 8, 8), [(0, 0), (0, 0), (1, 1), (1, 1)])
    return cells.transpose(0, 2, 1, 3).reshape(GRID * CELL, GRID * CELL)


def write_png(path, image, scale=4):
    """Grey values from 0 to 1, each as a square of scale x scale pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = np.kron(np.round(255 * image).astype(np.uint8), np.ones((scale, scale), np.uint8))
    height, width = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)  # 0: a line as it is
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)  # 8 bits of grey
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b"")]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in chunks))


def natural(text):
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def read_options():
    parser = argparse.ArgumentParser(description="Digits from a restricted Boltzmann machine.")
    parser.add_argument("picture", nargs="?", default="build/digits_rbm.png", type=pathlib.Path)
    parser.add_argument("--epochs", type=natural, default=40)
    parser.add_argument("--seed", type=natural, default=1234)
    return parser.parse_args()


def main():
    options = read_options()
    try:
        digits = load_digits()
    except ImportError:
        print("error: the digits come with scikit-learn: pip install scikit-learn", file=sys.stderr)
        return 2
    generator = np.random.default_rng(options.seed)
    machine = Machine(digits, generator, options.seed)
    train(machine, digits, options.epochs, generator)
    samples = draw(machine, generator)
    chosen = generator.choice(digits, GRID * GRID, replace=False)
    gap = np.full((GRID * CELL, 4), 0.5)
    try:
        write_png(options.picture, np.hstack([tile(chosen), gap, tile(samples)]))
    except OSError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    print(f"{len(chosen)} digits and {len(samples)} samples: {options.picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
