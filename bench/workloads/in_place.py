"""Steps that update a window of a state in place: a table with rows of 64 numbers. Each is a
function of an array, by Scanloom's scan and by numpy. Steps stay within the first 100 rows, so
that both tables use the same amount of cache."""

import numpy as np

WIDTH, STEPS, VISITED = 64, 100_000, 100
ROWS = {"small": 156, "large": 15_625}  # about 1e4 and 1e6 elements

S = np.s_
# The window of step k; the number of rows of `block` changes with the step.
WINDOWS = {
    "part_of_row": lambda k: S[k % VISITED, 4:60],
    "column": lambda k: S[:VISITED, k % WIDTH],
    "block": lambda k: S[k % VISITED : k % VISITED + 1 + k % 3, 1:33],
    "steps": lambda k: S[k % VISITED, ::2],
}


def table(rows):
    return np.random.default_rng(41).standard_normal((rows, WIDTH))


def written(kind, adds):
    """A function of the table."""
    import scanloom as theano
    import scanloom.tensor as T

    start = T.matrix()

    def step(k, state):
        part = state[WINDOWS[kind](k)]
        if adds:
            return T.inc_subtensor(part, 0.25 * T.tanh(part))
        return T.set_subtensor(part, 0.5 - T.tanh(part))

    states, _ = theano.scan(step, sequences=T.arange(STEPS), outputs_info=start)
    return theano.function([start], states[-1])


def in_numpy(kind, adds, state):
    state = state.copy()
    for k in range(STEPS):
        window = WINDOWS[kind](k)
        if adds:
            state[window] += 0.25 * np.tanh(state[window])
        else:
            state[window] = 0.5 - np.tanh(state[window])
    return [state]
