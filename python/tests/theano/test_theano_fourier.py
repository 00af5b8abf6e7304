"""Fourier transforms of variables, against numpy and against differences."""

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T

RNG = np.random.default_rng(4)


def close(found, wanted, tolerance=1e-12):
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, atol=tolerance * max(1, np.abs(wanted).max()))


@pytest.mark.parametrize("norm", [None, "backward", "forward", "ortho"])
@pytest.mark.parametrize("n", [None, 3, 8, 11])
@pytest.mark.parametrize("axis", [-1, 0])
def test_numpy_functions(axis, n, norm):
    z = RNG.standard_normal((6, 7)) + 1j * RNG.standard_normal((6, 7))
    for function in ("fft", "ifft"):
        ours, theirs = getattr(T.fft, function), getattr(np.fft, function)
        close(ours(T.constant(z), n, axis, norm).eval(), theirs(z, n, axis, norm))
        close(ours(T.constant(z.real.copy()), n, axis, norm).eval(), theirs(z.real, n, axis, norm))


def test_a_length_that_only_the_run_knows():
    x, n = T.vector("x"), T.lscalar("n")
    f = theano.function([x, n], T.fft.fft(x, n))
    signal = RNG.standard_normal(9)
    for length in (1, 2, 9, 12, 37):
        close(f(signal, length), np.fft.fft(signal, length))
    with pytest.raises(theano.Error, match="the length of the transform is 0, but at least 1"):
        f(signal, 0)


@pytest.mark.parametrize("shape", [(2, 8), (2, 7), (3, 4, 6), (1, 3, 4, 5)])
@pytest.mark.parametrize("norm", [None, "ortho", "no_norm"])
def test_theano_functions(shape, norm):
    x = RNG.standard_normal(shape)
    axes = tuple(range(1, len(shape)))
    numpy_norm = {None: "backward", "ortho": "ortho", "no_norm": "backward"}[norm]
    wanted = np.fft.rfftn(x, axes=axes, norm=numpy_norm)
    spectrum = T.fft.rfft(T.constant(x), norm=norm)
    close(spectrum.eval(), np.stack([wanted.real, wanted.imag], -1))
    back = T.fft.irfft(spectrum, norm=norm, is_odd=shape[-1] % 2 == 1).eval()
    close(back, x * (np.prod(shape[1:]) if norm == "no_norm" else 1))


def test_in_a_loop():
    xs = T.tensor3("xs")
    rows, _ = theano.scan(lambda x: T.fft.rfft(x), xs)
    signals = RNG.standard_normal((5, 2, 12))
    wanted = np.fft.rfft(signals)
    close(theano.function([xs], rows)(signals), np.stack([wanted.real, wanted.imag], -1))


def test_gradients_of_a_loop():
    xs, s0 = T.matrix("xs"), T.vector("s0")
    rows, _ = theano.scan(
        lambda x, s: T.tanh(s + T.fft.ifft(T.fft.fft(x * s) * 2j).imag), xs, s0)
    cost = T.sqr(rows[-1]).sum()
    f = theano.function([xs, s0], [cost, *T.grad(cost, [xs, s0])])
    x, s = RNG.standard_normal((4, 6)), RNG.standard_normal(6)
    _, by_x, by_s = f(x, s)
    for array, slope, at in ((x, by_x, (1, 3)), (s, by_s, (2,))):
        kept, step = array[at], 1e-6
        array[at] = kept + step
        more = f(x, s)[0]
        array[at] = kept - step
        less = f(x, s)[0]
        array[at] = kept
        assert abs((more - less) / (2 * step) - slope[at]) < 1e-7


def test_misuse():
    with pytest.raises(theano.Error, match="axis 2 is outside its 1 axes"):
        T.fft.fft(T.vector("x"), axis=2)
    with pytest.raises(theano.Error, match="norm is 'half'"):
        T.fft.fft(T.vector("x"), norm="half")
    with pytest.raises(theano.Error, match="which has 1 axes"):
        T.fft.rfft(T.vector("x"))
    with pytest.raises(theano.Error, match="norm is 'backward'"):
        T.fft.irfft(T.tensor3("x"), norm="backward")
