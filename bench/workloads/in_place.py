"""Steps that change a window of a state: a table of `rows` times 64 numbers, which stays where it is.
Each is a function of an array, by Scanloom's scan and by numpy."""

import numpy as np

WIDTH, STEPS = 64, 20_000
ROWS = {"small": 156, "large": 15_625}  # about 1e4 and 1e6 elements

S = np.s_
# Of step k and a state of so many rows: where it writes. The number of rows changes with the step
# where `block` comes to the end.
WINDOWS = {
    "part_of_row": lambda k, rows: S[k % rows, 8:40],
    "column": lambda k, rows: S[:32, k % WIDTH],
    "block": lambda k, rows: S[k % rows : k % rows + 4, 1:9],
    "steps": lambda k, rows: S[k % rows, ::2],
}


def table(rows):
    return np.random.default_rng(41).standard_normal((rows, WIDTH))


def written(kind, adds, rows):
    """A function of the table."""
    import scanloom as theano
    import scanloom.tensor as T

    start = T.matrix()

    def step(k, state):
        part = state[WINDOWS[kind](k, rows)]
        return T.inc_subtensor(part, 0.5) if adds else T.set_subtensor(part, 0.5 * part)

    states, _ = theano.scan(step, sequences=T.arange(STEPS), outputs_info=start)
    return theano.function([start], states[-1])


def in_numpy(kind, adds, state):
    state = state.copy()
    for k in range(STEPS):
        window = WINDOWS[kind](k, len(state))
        if adds:
            state[window] += 0.5
        else:
            state[window] *= 0.5
    return [state]
