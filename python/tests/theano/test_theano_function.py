"""Functions, shared variables, copies of expressions, and how Theano's names are imported."""

import io
import subprocess
import sys

import numpy as np
import pytest

import scanloom as theano
import scanloom.tensor as T

BAD = (TypeError, ValueError)


def test_imports():
    from scanloom import tensor as other
    from scanloom.ifelse import ifelse
    from scanloom.tensor.shared_randomstreams import RandomStreams

    assert other is T is theano.tensor
    assert ifelse and RandomStreams
    for name in ("scan", "map", "reduce", "foldl", "foldr", "function", "shared", "clone", "config"):
        assert getattr(theano, name) is not None and name in dir(theano)
    with pytest.raises(AttributeError):
        theano.nothing
    with pytest.raises(AttributeError):
        T.nothing


def test_importing_the_package_reads_no_module_of_loops():
    code = "import sys, scanloom; print(sum('scanloom.tensor' in m for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


# Values that calls take.


@pytest.mark.parametrize(
    "value",
    [[0, 1, 2], range(3), (0.0, 1, 2), np.arange(3), np.arange(3.0), np.arange(3, dtype="int8"),
     np.arange(3, dtype="float32"), np.arange(6.0)[::2] / 2, np.arange(3.0)[::-1][::-1],
     np.arange(3, dtype=">f8"), np.ma.asarray(np.arange(3.0)), memoryview(np.arange(3.0))],
)  # fmt: skip
def test_values_for_a_vector(value):
    x = T.vector("x")
    np.testing.assert_array_equal(theano.function([x], x + 1)(value), [1, 2, 3])


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int8(3), np.asarray(3), True + 2])
def test_values_for_a_scalar(value):
    x = T.scalar()
    assert theano.function([x], x * 2)(value) == 6


def test_values_that_speak_dlpack():
    class Exporter:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **arguments):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = T.vector()
    np.testing.assert_array_equal(theano.function([x], x)(Exporter(np.arange(3.0))), [0, 1, 2])


@pytest.mark.parametrize(
    "make,value",
    [(T.ivector, [1.5]), (T.ivector, np.arange(3)), (T.fvector, np.arange(3.0)), (T.bscalar, 300),
     (T.vector, 3.0), (T.vector, np.ones((2, 2))), (T.scalar, [1, 2]), (T.vector, "abc"),
     (T.vector, None), (T.vector, ["a"]), (T.vector, [1, [2]]), (T.vector, T.vector()),
     (T.vector, [1j]), (T.vector, object()), (T.lvector, np.arange(3.0)), (T.iscalar, 2**40),
     (T.dvector, {}), (T.dvector, np.array([1, None]))],
)  # fmt: skip
def test_values_that_are_refused(make, value):
    x = make("given")
    f = theano.function([x], x)
    with pytest.raises(BAD, match="given"):
        f(value)


@pytest.mark.parametrize(
    "make,value", [(T.iscalar, 3), (T.iscalar, 3.0), (T.fscalar, 0.5), (T.bvector, [1, 2]),
                   (T.fvector, [0.5, 1]), (T.lvector, np.arange(3, dtype="int32"))]
)  # fmt: skip
def test_values_that_fit(make, value):
    x = make()
    np.testing.assert_array_equal(theano.function([x], x)(value), value)


def test_downcasts():
    x = T.fvector("x")
    with pytest.raises(BAD, match="float64"):
        theano.function([x], x)(np.array([0.1]))
    f = theano.function([x], x, allow_input_downcast=True)
    np.testing.assert_array_equal(f(np.array([0.1])), np.float32([0.1]))
    i = T.ivector()
    found = theano.function([i], i, allow_input_downcast=True)(np.array([1.7, 2]))
    np.testing.assert_array_equal(found, [1, 2])


def test_values_are_read_not_written():
    x = T.vector()
    value = np.ones(3)
    f = theano.function([x], T.set_subtensor(x[0], 5.0))
    np.testing.assert_array_equal(f(value), [5, 1, 1])
    np.testing.assert_array_equal(value, np.ones(3))


# Calls.


def test_forms_of_outputs():
    x = T.scalar("x")
    assert theano.function([x], x + 1)(1) == 2
    assert isinstance(theano.function([x], x + 1)(1), np.ndarray)
    assert theano.function([x], [x + 1])(1) == [2]
    assert [float(v) for v in theano.function([x], [x, x * 2])(3)] == [3, 6]
    assert theano.function([x], {"a": x, "b": -x})(3) == {"a": 3, "b": -3}
    assert theano.function([], [])() == []
    assert theano.function([], None)() == []


def test_names_and_defaults():
    x, y = T.scalar("x"), T.scalar("y")
    f = theano.function([x, theano.In(y, value=2)], x * 10 + y)
    assert (f(1), f(1, 3), f(x=1), f(1, y=4), f(y=5, x=1)) == (12, 13, 12, 14, 15)
    for call in (lambda: f(), lambda: f(1, 2, 3), lambda: f(1, x=2), lambda: f(1, z=2)):
        with pytest.raises(BAD):
            call()
    with pytest.raises(BAD, match="'x'"):
        f()


def test_inputs_that_update_themselves():
    x, step = T.scalar("x"), T.scalar("step")
    f = theano.function([step, theano.In(x, value=0.0, update=x + step, name="total")], x)
    assert (f(2), f(3), f(1), f(1, total=100), f(0)) == (0, 2, 5, 100, 101)


def test_two_inputs_of_one_name():
    a, b = T.scalar("x"), T.scalar("x")
    f = theano.function([a, b], a - b)
    assert f(3, 1) == 2
    with pytest.raises(BAD):
        f(3, x=1)


def test_unused_inputs():
    x, y = T.scalar("x"), T.scalar("extra")
    with pytest.raises(BAD, match="extra"):
        theano.function([x, y], x)
    assert theano.function([x, y], x, on_unused_input="ignore")(1, 2) == 1
    with pytest.warns(UserWarning, match="extra"):
        theano.function([x, y], x, on_unused_input="warn")
    with pytest.raises(BAD):
        theano.function([x], x, on_unused_input="shout")


def test_an_input_that_only_an_update_needs():
    x, total = T.scalar("x"), theano.shared(0.0)
    f = theano.function([x], updates={total: total + x})
    f(2), f(3)
    assert total.get_value() == 5


def test_givens():
    x, y, w = T.vector("x"), T.vector("y"), theano.shared(np.ones(2), "w")
    total = (x * w).sum()
    assert theano.function([y], total, givens={x: y * 2})([1, 2]) == 6
    assert theano.function([], total, givens=[(x, np.array([3.0, 4.0]))])() == 7
    assert theano.function([x], total, givens={w: np.array([2.0, 0.0])})([5, 1]) == 10
    batch = theano.shared(np.arange(6.0).reshape(3, 2))
    i = T.lscalar()
    f = theano.function([i], total, givens={x: batch[i]})
    assert [float(f(k)) for k in range(3)] == [1, 5, 9]
    for bad in ({x: T.matrix()}, {1: x}, 5, {x: np.ones((2, 2))}):
        with pytest.raises(BAD):
            theano.function([], total, givens=bad)


def test_a_computed_variable_as_input():
    x = T.scalar("x")
    middle = x**2
    assert theano.function([middle], middle + 1)(7) == 8


@pytest.mark.parametrize(
    "make",
    [
        lambda x: theano.function(x, x), lambda x: theano.function([1], x),
        lambda x: theano.function([x], 1), lambda x: theano.function([x], ["a"]),
        lambda x: theano.function([x, x], x), lambda x: theano.function([], x),
        lambda x: theano.function([theano.shared(1.0)], x), lambda x: theano.function([x], x, mode="?"),
        lambda x: theano.function([x], x, updates={x: x}),
        lambda x: theano.function([x], x, updates=[(theano.shared(1.0),)]),
        lambda x: theano.function([x], x, updates={theano.shared(1): x}),
        lambda x: theano.function([x], x, updates=5), lambda x: theano.In(1),
        lambda x: theano.In(x, update=x), lambda x: theano.function([T.constant(1)], x),
        lambda x: theano.function([theano.In(x, value="a")], x),
        lambda x: theano.clone(1), lambda x: theano.clone(x, {x: T.vector()}),
        lambda x: theano.clone(x, {1: x}), lambda x: x.eval(), lambda x: x.eval({x: "a"}),
        lambda x: theano.shared(None), lambda x: theano.shared("a"), lambda x: theano.shared(x),
        lambda x: theano.shared(1, name=3), lambda x: theano.shared(1.0).set_value([1, 2]),
        lambda x: theano.shared(np.float32(1)).set_value(np.ones(()) / 3 + np.zeros(())),
        lambda x: theano.shared(1).set_value(1.5),
    ],
)  # fmt: skip
def test_misuses(make):
    with pytest.raises(BAD):
        make(T.scalar("x"))


def test_missing_inputs_are_named():
    x, y = T.scalar("x"), T.scalar("forgotten")
    with pytest.raises(BAD, match="forgotten"):
        theano.function([x], x + y)


def test_sizes_that_do_not_fit():
    x, y = T.vector(), T.vector()
    f = theano.function([x, y], x + y)
    with pytest.raises(ValueError):
        f([1, 2], [1, 2, 3])


# Shared variables.


@pytest.mark.parametrize(
    "value,dtype", [(1, "int64"), (1.0, "float64"), (np.float32(1), "float32"), (True, "bool"),
                    (np.arange(3, dtype="int8"), "int8"), ([1.0, 2.0], "float64")]
)  # fmt: skip
def test_shared_variables(value, dtype):
    x = theano.shared(value, name="x")
    assert (x.dtype, x.name, x.ndim) == (dtype, "x", np.ndim(value))
    np.testing.assert_array_equal(x.get_value(), value)
    np.testing.assert_array_equal(theano.function([], x + 0)(), value)


def test_values_are_copies():
    array = np.ones(3)
    x = theano.shared(array, borrow=True)
    array[:] = 2
    found = x.get_value(borrow=True)
    found[:] = 3
    np.testing.assert_array_equal(x.get_value(), np.ones(3))


def test_sizes_of_shared_variables_may_change():
    x = theano.shared(np.ones(3))
    f = theano.function([], x.sum())
    x.set_value(np.ones(5))
    assert f() == 5


def test_updates():
    a, b = theano.shared(1.0), theano.shared(2.0)
    f = theano.function([], a + b, updates=[(a, b), (b, a)])
    assert f() == 3
    assert (a.get_value(), b.get_value()) == (2, 1)
    g = theano.function([], updates={a: 5, b: np.float64(7)})
    g()
    assert (a.get_value(), b.get_value()) == (5, 7)
    with pytest.raises(ValueError):
        theano.function([], updates=[(a, a + 1), (a, a + 2)])


def test_narrow_updates_are_widened():
    a = theano.shared(1.0)
    theano.function([], updates={a: T.constant(3)})()
    assert a.get_value() == 3


def test_default_updates():
    a = theano.shared(0)
    a.default_update = a + 1
    f = theano.function([], a * 1)
    assert [int(f()) for _ in range(3)] == [0, 1, 2]
    g = theano.function([], a * 1, no_default_updates=True)
    assert [int(g()) for _ in range(3)] == [3, 3, 3]
    b = theano.shared(0)
    b.default_update = b + 10
    h = theano.function([], [a * 1, b * 1], no_default_updates=[a])
    h()
    assert (a.get_value(), b.get_value()) == (3, 10)
    assert theano.shared(0).default_update is None


# Copies of expressions, and values.


def test_clone():
    x, y = T.vector("x"), T.vector("y")
    z = (x + y) * 2
    other = theano.clone(z, {x: y * 3})
    assert other != z
    np.testing.assert_array_equal(theano.function([y], other)([1, 2]), [8, 16])
    first, second = theano.clone([z, x], [(x, np.array([1.0, 1.0]))])
    np.testing.assert_array_equal(theano.function([y], first)([1, 2]), [4, 6])
    np.testing.assert_array_equal(second.eval(), [1, 1])
    with pytest.raises(BAD):
        theano.clone(z, {x: T.fvector()})


def test_clone_reaches_into_loops():
    x, w, v = T.vector(), T.scalar(), T.scalar()
    rows, _ = theano.scan(lambda r: r * w, x)
    f = theano.function([x, v], theano.clone(rows, {w: v + 1}))
    np.testing.assert_array_equal(f([1, 2], 2), [3, 6])


def test_eval():
    x, y = T.scalar("x"), T.scalar("y")
    z = x * y
    assert z.eval({x: 3, y: 4}) == 12
    assert z.eval({x: 5, y: 4}) == 20
    assert T.constant(3).eval() == 3


def test_profiles():
    x = T.vector()
    rows, _ = theano.scan(lambda r, s: s * 0.5 + r, x, T.zeros(()), name="smoother")
    f = theano.function([x], rows, name="smooth", profile=True)
    f(np.ones(100))
    text = io.StringIO()
    f.profile.summary(file=text)
    assert "smooth" in text.getvalue() and "1 call," in text.getvalue()
    for word in ("smoother", "100 steps", "per step", "strategy", "memory"):
        assert word in text.getvalue(), text.getvalue()
    assert theano.function([x], x).profile is None


def test_profiles_that_nobody_has_asked_for_are_shown_at_the_end():
    program = (
        "import scanloom, scanloom.tensor as T; x = T.dscalar();"
        "f = scanloom.function([x], T.exp(x), name='{}', profile=True); f(1); {}"
    )
    asked = program.format("asked", "f.profile.summary()")
    for text, calls in ((program.format("unasked", ""), 1), (asked, 1), (program.format("dropped", "del f"), 1)):
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
        assert done.stderr.count("1 call,") == calls, done.stderr


def test_what_functions_say_of_themselves():
    x = T.vector("x")
    rows, _ = theano.scan(lambda r, s: s * 0.5 + r, x, T.zeros(()), name="smoother")
    f = theano.function([x], rows, name="smooth")
    assert "smoother" in f.explain()
    assert "x" in repr(f) and "smooth" in str(f)


def test_givens_of_other_sizes():
    x = T.vector("x")
    three = T.zeros((3,))
    product = three * three
    f = theano.function([x], [product, product.size], givens={three: x})
    np.testing.assert_array_equal(f([1, 2, 3])[0], [1, 4, 9])
    with pytest.raises(theano.InvalidArgument, match="has size 6 on axis 0, not 3"):
        f(np.ones(6))
    with pytest.raises(theano.InvalidArgument):
        theano.function([], product.size, givens={three: T.zeros((6,))})


def test_defaults_are_copies():
    x, start = T.vector("x"), np.array([1.0, 2.0])
    f = theano.function([theano.In(x, value=start)], x * 2)
    start[:] = 7
    np.testing.assert_array_equal(f(), [2, 4])


def test_progress():
    seen = []
    n = T.lscalar()
    rows, _ = theano.scan(
        lambda s: T.sin(s) + 1e-9, outputs_info=T.ones((500,)), n_steps=n, name="long"
    )
    f = theano.function([n], rows[-1])
    f(600000, progress=lambda node, step, steps: seen.append((node, step, steps)))
    assert seen and all(steps in (600000, -1) for _, _, steps in seen)
    assert all(0 <= step <= 600000 for _, step, _ in seen)


def test_what_progress_raises_ends_the_call():
    total = theano.shared(0.0)
    rows, updates = theano.scan(
        lambda s: (T.sin(s) + 1e-9, {total: total + 1}), outputs_info=T.ones((500,)), n_steps=6000000
    )
    f = theano.function([], rows[-1], updates=updates)

    def stop(node, step, steps):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        f(progress=stop)
    assert total.get_value() == 0
