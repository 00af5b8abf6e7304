"""Programs built from expressions instead of a file, to measure building, compiling and the first
run. Each is a function without arguments that returns a function without arguments."""

import numpy as np

STEPS, INPUTS, UNITS, OUTPUTS = 40, 5, 8, 2
WIDTH, LOOP_STEPS, OPERATORS = 16, 100, 50
HESSIAN_STEPS, HESSIAN_UNITS = 50, 4


def rnn_arrays():
    random = np.random.default_rng(31)
    shapes = [(STEPS, INPUTS), (3, UNITS), (OUTPUTS,), (UNITS, UNITS), (INPUTS, UNITS),
              (INPUTS, UNITS), (OUTPUTS, UNITS), (UNITS, OUTPUTS)]
    return [0.3 * random.standard_normal(shape) for shape in shapes]


def rnn():
    """The recurrent network of Theano's scan tutorial: u[t - 4], u[t], x[t - 3], x[t - 1], y[t -
    1]."""
    import scanloom as theano
    import scanloom.tensor as T

    arrays = rnn_arrays()
    u, x0, w, into, back_into, feedback, out = (T.matrix() for _ in range(7))
    y0 = T.vector()

    def step(u_4, u_0, x_3, x_1, y_1, w, into, back_into, feedback, out):
        x = T.tanh(T.dot(x_1, w) + T.dot(u_0, into) + T.dot(u_4, back_into) + T.dot(y_1, feedback))
        return x, T.dot(x_3, out)

    (x, y), updates = theano.scan(
        step, sequences=dict(input=u, taps=[-4, -0]),
        outputs_info=[dict(initial=x0, taps=[-3, -1]), y0],
        non_sequences=[w, into, back_into, feedback, out], strict=True)  # fmt: skip
    function = theano.function([u, x0, y0, w, into, back_into, feedback, out], [x, y], updates=updates)
    return lambda: function(*arrays)


def rnn_reference():
    u, x0, y, w, into, back_into, feedback, out = rnn_arrays()
    states, ys = list(x0), []
    for t in range(4, STEPS):
        x = np.tanh(states[-1] @ w + u[t] @ into + u[t - 4] @ back_into + y @ feedback)
        y = states[-3] @ out
        states.append(x)
        ys.append(y)
    return [np.array(states[3:]), np.array(ys)]


def factors():
    return np.linspace(0.9, 1.1, OPERATORS // 2)


def gradient():
    """The gradient of a loop whose body has 50 elementwise operators."""
    import scanloom as theano
    import scanloom.tensor as T

    h0 = T.vector()

    def step(h):
        for factor in factors():
            h = T.sin(h * factor)
        return h

    h, _ = theano.scan(step, outputs_info=h0, n_steps=LOOP_STEPS)
    function = theano.function([h0], T.grad(h[-1].sum(), h0))
    return lambda: [function(np.linspace(0.1, 1.5, WIDTH))]


def gradient_reference():
    h = np.linspace(0.1, 1.5, WIDTH)
    slope = np.ones(WIDTH)
    for _ in range(LOOP_STEPS):
        for factor in factors():
            slope *= factor * np.cos(h * factor)
            h = np.sin(h * factor)
    return [slope]


def hessian_arrays():
    random = np.random.default_rng(37)
    return [0.4 * random.standard_normal((HESSIAN_UNITS, HESSIAN_UNITS)),
            random.standard_normal((HESSIAN_STEPS, HESSIAN_UNITS))]


def hessian():
    """The Hessian of the sum of squared states of h = tanh(W h + x) with respect to W's
    elements."""
    import scanloom as theano
    import scanloom.tensor as T

    weights, xs = T.vector(), T.matrix()
    w = weights.reshape((HESSIAN_UNITS, HESSIAN_UNITS))
    h, _ = theano.scan(lambda x, h: T.tanh(T.dot(w, h) + x), xs, T.zeros((HESSIAN_UNITS,)))
    function = theano.function([weights, xs], T.hessian((h**2).sum(), weights))
    w_array, xs_array = hessian_arrays()
    return lambda: [function(w_array.ravel(), xs_array)]


def hessian_reference():
    """Central differences of the exact gradient, which is computed in reverse."""
    w_array, xs = hessian_arrays()

    def gradient_at(flat):
        w = flat.reshape(HESSIAN_UNITS, HESSIAN_UNITS)
        states = [np.zeros(HESSIAN_UNITS)]
        for x in xs:
            states.append(np.tanh(w @ states[-1] + x))
        by_w, back = np.zeros_like(w), np.zeros(HESSIAN_UNITS)
        for before, after in zip(states[-2::-1], states[:0:-1], strict=True):
            inner = (back + 2 * after) * (1 - after**2)
            by_w += np.outer(inner, before)
            back = w.T @ inner
        return by_w.ravel()

    flat, rows, step = w_array.ravel(), [], 1e-5
    for i in range(flat.size):
        moved = np.eye(flat.size)[i] * step
        rows.append((gradient_at(flat + moved) - gradient_at(flat - moved)) / (2 * step))
    return [np.array(rows)]
