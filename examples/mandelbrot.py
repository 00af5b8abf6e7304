#!/usr/bin/env python3
"""Draws the Mandelbrot set in letters.

    mandelbrot.py [--width 72] [--most 200]

For each point, a loop over complex numbers ends when the number leaves the circle of radius 2; the
letter is darker the more steps that takes. An outer loop maps over the points.
"""

import argparse

import numpy as np
import scanloom
import scanloom.tensor as T

SHADES = " .:-=+*#%@"


def steps_of(points, most):
    """How many steps each of a vector of complex numbers takes, `most` where it stays."""

    def step(z, count, c):
        return [z * z + c, count + 1], scanloom.scan_module.until(abs(z) > 2)

    def orbit(c):
        start = [T.zeros((), points.dtype), np.int64(0)]
        [_, counts], _ = scanloom.scan(
            step, outputs_info=start, non_sequences=c, n_steps=most, name="orbit"
        )
        return counts[-1]

    steps, _ = scanloom.map(orbit, points, name="points")
    return steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=72, help="letters per line")
    parser.add_argument("--most", type=int, default=200, help="steps after which a point stays")
    options = parser.parse_args()
    points, most = T.zvector("points"), T.lscalar("most")
    count = scanloom.function([points, most], steps_of(points, most))
    x = np.linspace(-2.1, 0.7, options.width)
    y = np.linspace(1.1, -1.1, max(options.width // 3, 1))
    steps = count((x + 1j * y[:, None]).ravel(), options.most).reshape(len(y), len(x))
    darkness = np.log(steps) / np.log(options.most) * (len(SHADES) - 1)
    for line in darkness.astype(int):
        print("".join(SHADES[shade] for shade in line).rstrip())


if __name__ == "__main__":
    main()
