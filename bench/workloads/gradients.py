"""Gradients of scans as Scanloom expressions: values and all derivatives in one call. References
are in float64, by the formula or by its central differences."""

import numpy as np

import scanloom as theano
import scanloom.tensor as T

from harness import Engine


def _engine(name, inputs, outputs, arrays):
    function = theano.function(inputs, outputs)
    return Engine(name, lambda: function(*arrays))


class Affine:
    """h = a h + b: the sum of the states, and its gradient with respect to all a and b."""

    def __init__(self, steps):
        random = np.random.default_rng(5)
        self.arrays = [
            (0.9 + 0.05 * random.standard_normal(steps)).astype(np.float32),
            random.standard_normal(steps).astype(np.float32),
        ]

    def engines(self):
        a, b = T.fvector("a"), T.fvector("b")
        h, _ = theano.scan(
            lambda a, b, h: a * h + b, sequences=[a, b], outputs_info=T.constant(np.float32(0))
        )
        cost = h.sum()
        with_gradient = [cost, *T.grad(cost, [a, b])]
        return (
            _engine("scanloom", [a, b], with_gradient, self.arrays),
            _engine("forward alone", [a, b], [cost], self.arrays),
        )

    def reference(self):
        a, b = (array.astype(np.float64) for array in self.arrays)
        states, h = np.empty_like(a), 0.0
        for t, (factor, term) in enumerate(zip(a.tolist(), b.tolist())):
            states[t] = h = factor * h + term
        by_b, back = np.empty_like(a), 0.0
        for t in range(a.size - 1, -1, -1):
            by_b[t] = back = 1 + back * (a[t + 1] if t + 1 < a.size else 0)
        by_a = by_b * np.concatenate([[0.0], states[:-1]])
        return [np.array(states.sum()), by_a, by_b]


class Garch:
    """The log-likelihood of GARCH(1,1) in float64 and its three derivatives."""

    PARAMETERS = (0.02, 0.08, 0.9)

    def __init__(self, steps):
        returns = np.random.default_rng(23).standard_normal(steps)
        self.arrays = [returns, *(np.array(value) for value in self.PARAMETERS)]

    def engines(self):
        returns, omega, alpha, beta = T.dvector("returns"), *T.dscalars("omega", "alpha", "beta")
        start = T.constant(np.float64(1))

        def step(value, variance, omega, alpha, beta):
            return omega + alpha * value**2 + beta * variance

        later, _ = theano.scan(
            step, sequences=returns[:-1], outputs_info=start, non_sequences=[omega, alpha, beta]
        )
        variances = T.concatenate([start.dimshuffle("x"), later])
        cost = -0.5 * (T.log(2 * np.pi * variances) + returns**2 / variances).sum()
        inputs = [returns, omega, alpha, beta]
        with_gradient = [cost, *T.grad(cost, inputs[1:])]
        return (
            _engine("scanloom", inputs, with_gradient, self.arrays),
            _engine("forward alone", inputs, [cost], self.arrays),
        )

    def reference(self):
        returns, (omega, alpha, beta) = self.arrays[0].tolist(), self.PARAMETERS
        variance, slopes, total, gradient = 1.0, np.zeros(3), 0.0, np.zeros(3)
        for value in returns:
            square = value * value
            total -= 0.5 * (np.log(2 * np.pi * variance) + square / variance)
            gradient -= 0.5 * (1 / variance - square / variance**2) * slopes
            slopes = np.array([1.0, square, variance]) + beta * slopes
            variance = omega + alpha * square + beta * variance
        return [np.array(total), *gradient.reshape(3, 1)]


class Lstm:
    """A layer written out, and the gradients of its three weights."""

    def __init__(self, steps, batch, width):
        random = np.random.default_rng(7)
        self.width = width

        def draw(*shape, scale=1.0):
            return (scale * random.standard_normal(shape)).astype(np.float32)

        self.arrays = [
            draw(steps, batch, width),
            draw(width, 4 * width, scale=width**-0.5),
            draw(width, 4 * width, scale=width**-0.5),
            draw(4 * width, scale=0.1),
        ]
        self.start = np.zeros((batch, width), np.float32)

    def engines(self):
        xs, w, r = T.ftensor3("xs"), T.fmatrix("w"), T.fmatrix("r")
        bias = T.fvector("bias")
        n = self.width

        def step(x, h, c, w, r, bias):
            z = T.dot(x, w) + T.dot(h, r) + bias
            into, forget, out = (T.nnet.sigmoid(z[:, i * n : (i + 1) * n]) for i in (0, 1, 3))
            c = forget * c + into * T.tanh(z[:, 2 * n : 3 * n])
            return out * T.tanh(c), c

        (rows, _), _ = theano.scan(
            step, sequences=xs, outputs_info=[T.constant(self.start)] * 2,
            non_sequences=[w, r, bias],
        )
        cost = (rows**2).sum()
        inputs = [xs, w, r, bias]
        with_gradient = [cost, *T.grad(cost, inputs[1:])]
        return (
            _engine("scanloom", inputs, with_gradient, self.arrays),
            _engine("forward alone", inputs, [cost], self.arrays),
        )

    def reference(self):
        xs, w, r, bias = (array.astype(np.float64) for array in self.arrays)
        n, kept = self.width, []
        h = c = self.start.astype(np.float64)
        cost = 0.0
        for x in xs:
            z = x @ w + h @ r + bias
            into, forget, out = (1 / (1 + np.exp(-z[:, i * n : (i + 1) * n])) for i in (0, 1, 3))
            new = np.tanh(z[:, 2 * n : 3 * n])
            kept.append((x, h, c, into, forget, new, out))
            c = forget * c + into * new
            h = out * np.tanh(c)
            cost += (h**2).sum()
        by_w, by_r, by_bias = np.zeros_like(w), np.zeros_like(r), np.zeros_like(bias)
        back_h, back_c = np.zeros_like(h), np.zeros_like(c)
        for x, h, c, into, forget, new, out in reversed(kept):
            after = forget * c + into * new
            curve = np.tanh(after)
            back_h = back_h + 2 * out * curve
            back_c = back_c + back_h * out * (1 - curve**2)
            gates = [
                back_c * new * into * (1 - into), back_c * c * forget * (1 - forget),
                back_c * into * (1 - new**2), back_h * curve * out * (1 - out),
            ]
            z = np.concatenate(gates, axis=1)
            by_w, by_r, by_bias = by_w + x.T @ z, by_r + h.T @ z, by_bias + z.sum(axis=0)
            back_h, back_c = z @ r.T, back_c * forget
        return [np.array(cost), by_w, by_r, by_bias]


class Heat:
    """Heat that spreads in the plane and grows up to one where there is some; the gradient of the
    last state's squares with respect to the initial heat. All states take five times the budget."""

    RATE, GROWTH = 0.2, 0.01

    def __init__(self, steps, side):
        self.steps, self.budget = steps, steps * side * side * 4 // 5
        random = np.random.default_rng(9)
        self.arrays = [random.uniform(0, 0.2, (side, side)).astype(np.float32)]

    def engines(self):
        start = T.fmatrix("start")

        def step(heat):
            rows = T.concatenate([heat[:1], heat, heat[-1:]], axis=0)
            columns = T.concatenate([heat[:, :1], heat, heat[:, -1:]], axis=1)
            around = rows[:-2] + rows[2:] + columns[:, :-2] + columns[:, 2:]
            return heat + self.RATE * (around - 4 * heat) + self.GROWTH * (heat - heat**3)

        rows, _ = theano.scan(
            step, outputs_info=T.reshape(start, self.arrays[0].shape), n_steps=self.steps,
            checkpoint={"budget": self.budget},
        )
        cost = (rows[-1] ** 2).sum()
        return (
            _engine("scanloom", [start], [cost, T.grad(cost, start)], self.arrays),
            _engine("forward alone", [start], [cost], self.arrays),
        )

    def reference(self):
        def spread(heat):
            padded = np.pad(heat, 1, mode="edge")
            rows, columns = padded[:, 1:-1], padded[1:-1]
            around = rows[:-2] + rows[2:] + columns[:, :-2] + columns[:, 2:]
            return heat + self.RATE * (around - 4 * heat)

        heat, kept = self.arrays[0].astype(np.float64), []
        for _ in range(self.steps):
            kept.append(heat)
            heat = spread(heat) + self.GROWTH * (heat - heat**3)
        back = 2 * heat
        for before in reversed(kept):
            back = spread(back) + self.GROWTH * (1 - 3 * before**2) * back
        return [np.array((heat**2).sum()), back]
