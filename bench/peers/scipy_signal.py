"""scipy: its filter of any order."""

import numpy as np
from scipy import signal


def biquad(coefficients, xs):
    b, flat = coefficients[:3], xs.reshape(-1)
    a = np.concatenate([np.ones(1, coefficients.dtype), coefficients[3:]])
    return lambda: [signal.lfilter(b, a, flat)]
