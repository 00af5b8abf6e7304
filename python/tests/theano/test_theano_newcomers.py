"""Errors that first-time users meet: names that are misspelt or another library's, results of loops
that are not unpacked, step functions with other arguments, and where the exception classes are."""

import importlib
import pkgutil
import re
import threading
import time

import numpy as np
import onnx
import onnx.parser
import pytest

import scanloom as theano
from places import PROJECT
import scanloom.tensor as T

X, V, S = T.matrix("x"), T.vector("v"), T.scalar("s")
DOCUMENTS = [
    *sorted((PROJECT / "docs").glob("*.md")),
    PROJECT / "README.md",
]


# Exceptions.

# Packages that extras of this one bring.
OPTIONAL = {"dask", "distributed", "mpi4py", "pyarrow", "ray"}


def every_error():
    """All classes of errors, once all modules are read."""
    for module in pkgutil.walk_packages(theano.__path__, "scanloom."):
        if module.name.startswith("scanloom.lib"):  # what the extension loads
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name not in OPTIONAL:
                raise
    found, pending = set(), [theano.Error]
    while pending:
        kind = pending.pop()
        found.add(kind)
        pending.extend(kind.__subclasses__())
    return {kind for kind in found if kind.__module__.startswith("scanloom") and kind.__name__[0] != "_"}


def home_of(kind):
    """Where a program finds the class."""
    if kind.__module__.endswith("gradient"):
        home = "scanloom.gradient"
    else:
        home = "scanloom.batch" if kind.__module__.startswith("scanloom._batch.") else "scanloom"
    return getattr(importlib.import_module(home), kind.__name__, None)


def test_every_error_can_be_imported():
    kinds = every_error()
    assert len(kinds) > 15
    for kind in kinds:
        assert home_of(kind) is kind, kind
        assert kind.__name__ in dir(theano) or "gradient" in kind.__module__ or "_batch" in kind.__module__


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.name)
def test_errors_that_documents_name_can_be_imported(page):
    known = {kind.__name__ for kind in every_error()}
    builtin = {"ValueError", "TypeError", "IndexError", "KeyError", "AttributeError", "OSError", "RuntimeError"}
    text = page.read_text(encoding="utf-8")
    for name in set(re.findall(r"\bscanloom\.([A-Z]\w+)\b", text)):
        assert hasattr(theano, name), name
    for name in set(re.findall(r"`(?:scanloom\.|gradient\.)?([A-Z]\w*Error|[A-Z]\w*Argument)`", text)) - builtin:
        if hasattr(__builtins__, name) or name in dir(__import__("builtins")) or name == "LinAlgError":
            continue
        assert name in known, name
    if page.name == "errors.md":
        named = set(re.findall(r"`([A-Z]\w+)`", text))
        assert {"InvalidArgument", "InvalidType", "IndexOutside", "SingularMatrix"} <= named
        for name in named & known:
            assert hasattr(theano, name)


def test_handlers_by_class():
    with pytest.raises(theano.InvalidType):
        theano.function([1], X)
    with pytest.raises(theano.IndexOutside):
        theano.function([V], V[7])([1, 2])
    from scanloom import IndexOutside, InvalidType

    assert issubclass(InvalidType, TypeError) and issubclass(IndexOutside, IndexError)
    assert set(theano.__all__) >= {"InvalidType", "IndexOutside", "Contradiction", "FolderNotFound"}


# Names.

MODEL = onnx.parser.parse_model("""
  <ir_version: 8, opset_import: ["" : 17]>
  g (float[N] pixels, float[N] bias) => (float[N] scores) { scores = Add(pixels, bias) }
""").SerializeToString()

MISSPELT = {
    "scan": (lambda: theano.scan(lambda r: r, X, n_step=3), TypeError, "scan has no argument 'n_step'; did you mean 'n_steps'"),
    "scan's length": (lambda: theano.scan(lambda r: r, X, length=3), TypeError, "no argument 'length'; did you mean 'n_steps'"),
    "scan's xs": (lambda: theano.scan(lambda r: r, xs=X), TypeError, "no argument 'xs'; did you mean 'sequences'"),
    "scan's init": (lambda: theano.scan(lambda r: r, init=X), TypeError, "no argument 'init'; did you mean 'outputs_info'"),
    "map's xs": (lambda: theano.map(lambda r: r, xs=X), TypeError, "no argument 'xs'; did you mean 'sequences'"),
    "a new axis": (lambda: X.unsqueeze(0), AttributeError, r"'unsqueeze' here: write T.shape_padaxis\(x, axis\)"),
    "T's new axis": (lambda: T.unsqueeze, AttributeError, r"write T.shape_padaxis\(x, axis\)"),
    "T.cond": (lambda: T.cond, AttributeError, r"scanloom.ifelse.ifelse\(condition, a, b\), or T.switch"),
    "T.ifelse": (lambda: T.ifelse, AttributeError, "it is scanloom.ifelse.ifelse"),
    "T.softmax": (lambda: T.softmax, AttributeError, "T.softmax does not exist here: it is in T.nnet"),
    "scan's outputs": (lambda: theano.scan(lambda r: r, X, output_info=3), TypeError, "did you mean 'outputs_info'"),
    "scan's dictionary": (lambda: theano.scan(lambda r: r, dict(input=X, tap=[0])), ValueError, "did you mean 'taps'"),
    "map": (lambda: theano.map(lambda r: r, X, non_sequence=3), TypeError, "map has no argument .* 'non_sequences'"),
    "foldl": (lambda: theano.foldl(lambda r, s: r, X, output_info=0), TypeError, "foldl has no argument"),
    "function": (lambda: theano.function([X], X, on_unused_inputs="warn"), TypeError, "did you mean 'on_unused_input'"),
    "function's limit": (lambda: theano.function([X], X, deadlin=1), TypeError, "did you mean 'deadline'"),
    "function's answer": (
        lambda: theano.function([X, V], X, on_unused_input="ignor"), ValueError, "did you mean 'ignore'"),
    "grad": (lambda: T.grad(S, S, disconnected_input="ignore"), TypeError, "did you mean 'disconnected_inputs'"),
    "shared": (lambda: theano.shared(1.0, nam="w"), TypeError, "shared has no argument 'nam'; did you mean 'name'"),
    "In": (lambda: theano.In(X, valu=0), TypeError, "In has no argument 'valu'; did you mean 'value'"),
    "session": (lambda: theano.InferenceSession(MODEL, thread=1), TypeError, "did you mean 'threads'"),
    "session's way": (lambda: theano.InferenceSession(MODEL, execution="compile"), ValueError, "did you mean 'compiled'"),
    "checking": (lambda: theano.check(MODEL, session_options=None), TypeError, "did you mean 'sess_options'"),
    "converting": (lambda: theano.convert(MODEL, "m.onnx", value={}), TypeError, "did you mean 'values'"),
    "reading": (lambda: theano.from_onnx(MODEL, size={}), TypeError, "did you mean 'sizes'"),
    "options": (lambda: theano.SessionOptions(execution_="x"), TypeError, "SessionOptions has no argument .* 'execution'"),
    "an option": (lambda: setattr(theano.SessionOptions(), "thread", 1), AttributeError, "did you mean 'threads'"),
    "reading an option": (lambda: theano.SessionOptions().thread, AttributeError, "did you mean 'threads'"),
    "run options": (lambda: theano.RunOptions(max_step=5), TypeError, "did you mean 'max_steps'"),
    "a run option": (lambda: setattr(theano.RunOptions(), "dead_line", 1), AttributeError, "did you mean 'deadline'"),
    "a method": (lambda: theano.RunOptions().cancle(), AttributeError, "did you mean 'cancel'"),
    "feed": (
        lambda: theano.InferenceSession(MODEL).run(None, {"pixel": np.ones(1, "f"), "bias": np.ones(1, "f")}),
        ValueError, "no input 'pixel'; did you mean 'pixels'"),
    "result": (
        lambda: theano.InferenceSession(MODEL).run(["score"], {"pixels": np.ones(1, "f"), "bias": np.ones(1, "f")}),
        ValueError, "'score'; did you mean 'scores'"),
    "a call's input": (
        lambda: theano.function([T.vector("weights"), V], V, on_unused_input="ignore")(weight=[1], v=[1]),
        TypeError, "no input 'weight'; did you mean 'weights'"),
    "a call's limit": (lambda: theano.function([V], V)([1], deadlin=1), TypeError, "did you mean 'deadline'"),
    "package": (lambda: theano.scna, AttributeError, "did you mean 'scan'"),
    "a class": (lambda: theano.InferenceSesion, AttributeError, "did you mean 'InferenceSession'"),
    "T": (lambda: T.concatnate, AttributeError, "T.concatnate does not exist here; did you mean 'concatenate'"),
    "nnet": (lambda: T.nnet.sigmoyd, AttributeError, "did you mean 'sigmoid'"),
    "slinalg": (lambda: T.slinalg.cholsky, AttributeError, "did you mean 'cholesky'"),
    "gradient": (lambda: theano.gradient.jacobi, AttributeError, "did you mean 'jacobian'"),
    "variable": (lambda: X.dimshufle(0, 1), AttributeError, "did you mean 'dimshuffle'"),
    "compiled": (lambda: theano.function([X], X).explan(), AttributeError, "did you mean 'explain'"),
    "stream": (lambda: T.shared_randomstreams.RandomStreams(1).unifrom((2,)), AttributeError, "did you mean 'uniform'"),
    # other libraries' names
    "jit": (lambda: theano.jit, AttributeError, "become machine code by themselves"),
    "vmap": (lambda: theano.vmap, AttributeError, r"scanloom\.map"),
    "value_and_grad": (lambda: theano.value_and_grad, AttributeError, r"scanloom\.grad\(cost, wrt\)"),
    "lax.scan": (lambda: theano.lax.scan, AttributeError, r"scanloom\.scan\("),
    "T.random": (lambda: T.random, AttributeError, "RandomStreams"),
    "T.linalg": (lambda: T.linalg, AttributeError, "T.nlinalg and T.slinalg"),
    "random": (lambda: theano.random, AttributeError, "RandomStreams"),
    "linalg": (lambda: theano.linalg, AttributeError, "T.nlinalg and T.slinalg"),
    "scan.until": (lambda: theano.scan.until, AttributeError, r"scanloom\.scan_module"),
    "until": (lambda: theano.until, AttributeError, r"scanloom\.scan_module\.until"),
    "Core": (lambda: theano.Core(), AttributeError, r"InferenceSession\('model.xml'\)"),
    "compile_model": (lambda: theano.compile_model, AttributeError, "InferenceSession"),
}  # fmt: skip


@pytest.mark.parametrize("misuse, kind, words", MISSPELT.values(), ids=MISSPELT.keys())
def test_names_that_are_nearly_right(misuse, kind, words):
    with pytest.raises(kind, match=words):
        misuse()


def test_names_that_are_like_nothing():
    for read in (lambda: theano.qwzx, lambda: T.qwzx, lambda: X.qwzx):
        with pytest.raises(AttributeError) as caught:
            read()
        assert "did you mean" not in str(caught.value)
    with pytest.raises(AttributeError):
        theano.__wrapped__  # noqa: B018
    assert not hasattr(theano, "__path_of_nothing__")


def test_scan_is_still_a_function_to_tools():
    import copy
    import inspect
    import pickle

    assert list(inspect.signature(theano.scan).parameters)[:3] == ["fn", "sequences", "outputs_info"]
    assert "sequences" in theano.scan.__doc__ and theano.scan.__name__ == "scan"
    assert pickle.loads(pickle.dumps(theano.scan)) is theano.scan is copy.deepcopy(theano.scan)
    assert callable(theano.scan)


# Results of loops.


def loop(**options):
    return theano.scan(lambda r, s: r.sum() + s, X, 0.0, **options)


NOT_UNPACKED = {
    "function": lambda: theano.function([X], loop()),
    "list": lambda: theano.function([X], [loop()]),
    "updates": lambda: theano.function([X], loop()[-1]),
    "dictionary": lambda: theano.function([X], {"rows": loop()}),
    "grad": lambda: T.grad(loop(), X),
    "sum": lambda: T.sum(loop()),
    "sum of the last": lambda: T.sum(loop()[-1]),
    "times": lambda: loop() * 2,
    "times from the left": lambda: S * loop(),
    "last times": lambda: loop()[-1] * 2,
    "plus": lambda: loop() + S,
    "last plus": lambda: loop()[-1] + S,
    "last of the last": lambda: loop()[-1][-1],
    "method": lambda: loop().sum(),
    "method of the last": lambda: loop()[-1].sum(),
    "sequence": lambda: theano.scan(lambda r: r, loop()),
    "sequences": lambda: theano.map(lambda r: r, [loop()[-1]]),
    "first value": lambda: theano.scan(lambda s: s, outputs_info=[loop()[-1]], n_steps=2),
    "reduce": lambda: theano.function([X], theano.reduce(lambda r, s: r.sum() + s, X, 0.0)),
    "map": lambda: T.exp(theano.map(lambda r: r.sum(), X)),
}


@pytest.mark.parametrize("misuse", NOT_UNPACKED.values(), ids=NOT_UNPACKED.keys())
def test_results_that_are_not_unpacked(misuse):
    with pytest.raises((TypeError, AttributeError)) as caught:
        misuse()
    assert "outputs, updates = scan(...)" in str(caught.value)
    assert ",," not in str(caught.value)


@pytest.mark.parametrize(
    "misuse, says",
    [
        ("function", "what a function computes is the result of scan, (outputs, updates), but must be a variable"),
        ("grad", "the cost is the result of scan, (outputs, updates), but must be a variable"),
        ("sum", "an argument is the result of scan, (outputs, updates), but must be a variable"),
        ("sum of the last",
         "an argument is the dictionary of updates, the last thing that scan gives, but must be a variable"),
        ("times", "the result of scan, (outputs, updates), cannot be computed with"),
        ("method", "the result of scan, (outputs, updates), has no attribute 'sum': "),
    ],
)
def test_which_part_of_a_result_is_misread(misuse, says):
    with pytest.raises((TypeError, AttributeError)) as caught:
        NOT_UNPACKED[misuse]()
    assert str(caught.value).startswith(says)


def test_a_pair_is_a_tuple():
    pair = loop()
    assert isinstance(pair, tuple) and len(pair) == 2 and pair[1] is pair[-1]
    rows, updates = pair
    assert not updates and rows.ndim == 1 and updates + {} == updates
    nested, _ = theano.scan(lambda r: theano.scan(lambda e: e * 2, r), X)  # what a step may give
    np.testing.assert_array_equal(theano.function([X], nested)(np.eye(2)), 2 * np.eye(2))


# Step functions.

STEPS = {
    "no beginning": (lambda: theano.scan(lambda r, s: s, X, name="sum"), "takes 2 arguments (r, s)", "1 argument: 1 slice of",
                     "outputs_info=... is probably missing"),
    "no constants": (lambda: theano.scan(lambda r, s, w: s, X, S), "3 arguments (r, s, w)", "2 arguments: 1 slice",
                     "non_sequences=... is probably missing"),
    "no sequences": (lambda: theano.scan(lambda r, s, w: s, outputs_info=S, non_sequences=S, n_steps=2), "3 arguments",
                     "1 earlier value of outputs, 1 non_sequence", "sequences=... is probably missing"),
    "no state": (lambda: theano.scan(lambda r: r, X, S), "1 argument (r)", "1 slice of sequences, 1 earlier value",
                 "a parameter is missing for the earlier value"),
    "no constant": (lambda: theano.scan(lambda r: r.sum(), X, non_sequences=[V]), "1 argument (r)", "1 non_sequence",
                    "for v, are missing"),
    "taps": (lambda: theano.scan(lambda a: a, dict(input=X, taps=[0, 1])), "1 argument (a)", "2 slices of sequences",
             "are missing"),
    "nothing": (lambda: theano.scan(lambda: S, V), "takes 0 arguments,", "1 slice of sequences", "v"),
}  # fmt: skip


@pytest.mark.parametrize("misuse, takes, given, missing", STEPS.values(), ids=STEPS.keys())
def test_step_functions_of_other_arguments(misuse, takes, given, missing):
    with pytest.raises(TypeError) as caught:
        misuse()
    text = str(caught.value)
    for words in (takes, given, missing):
        assert words in text
    assert "scan 'sum'" in text or "scan: " in text


def test_steps_without_a_number():
    for name, place in ((None, "scan: "), ("walk", "scan 'walk': ")):
        with pytest.raises(ValueError, match=f"{place}the number of steps is unknown.*n_steps"):
            theano.scan(lambda s: s, outputs_info=S, name=name)


# Limits of calls.


def endless(**options):
    rows, _ = theano.scan(lambda s: T.cos(s), outputs_info=S, n_steps=T.constant(10**9), name="run")
    return theano.function([S], rows[-1], **options)


@pytest.mark.parametrize("of_call", [False, True])
def test_deadlines_and_steps_of_functions(of_call):
    for limit, words in ((dict(deadline=0.05), "deadline"), (dict(max_steps=1000), "step limit of 1000")):
        f = endless(**({} if of_call else limit))
        begun = time.monotonic()
        with pytest.raises(theano.LimitReached, match=words):
            f(0.5, **(limit if of_call else {}))
        assert time.monotonic() - begun < 10
    f = endless(max_steps=10)
    f.max_steps, f.deadline = None, 0.05  # may be changed at any time
    with pytest.raises(theano.LimitReached, match="deadline"):
        f(0.5)
    f.deadline = 60.0
    with pytest.raises(theano.LimitReached, match="step limit of 7"):
        f(0.5, run_options=theano.RunOptions(max_steps=7))


def test_limits_that_cannot_be():
    for wrong in (dict(deadline=-1), dict(deadline="soon"), dict(max_steps=-1), dict(max_steps=0.5)):
        with pytest.raises(ValueError):
            theano.function([S], S, **wrong)
        with pytest.raises(ValueError):
            theano.function([S], S)(1.0, **wrong)
    with pytest.raises(TypeError, match="run_options"):
        theano.function([S], S)(1.0, run_options=5)


def test_inputs_that_are_called_like_limits():
    deadline = T.scalar("deadline")
    f = theano.function([deadline], deadline * 2)
    assert f(deadline=3.0) == 6 and f(3.0, max_steps=5) == 6


def test_limits_stay_with_copies_and_files(tmp_path):
    f = endless(max_steps=11, deadline=60.0)
    f.save(tmp_path / "f")
    for other in (f.copy(), theano.load(tmp_path / "f")):
        assert (other.max_steps, other.deadline, other.max_memory) == (11, 60.0, None)
        with pytest.raises(theano.LimitReached, match="step limit of 11"):
            other(0.5)


def cancelled_meanwhile(call, cancel):
    timer = threading.Timer(0.1, cancel)
    timer.start()
    try:
        with pytest.raises(theano.Cancelled) as caught:
            call()
        return str(caught.value)
    finally:
        timer.join()


def test_calls_are_cancelled():
    f = endless()
    cancelled_meanwhile(lambda: f(0.5), f.cancel)
    with pytest.raises(theano.LimitReached):  # those that begin later run
        f(0.5, max_steps=10)
    options = theano.RunOptions()
    cancelled_meanwhile(lambda: f(0.5, run_options=options), options.cancel)
    assert options.cancelled and "cancelled" in repr(options)
    with pytest.raises(theano.Cancelled, match="these run options have been cancelled") as caught:
        f(0.5, run_options=options)
    assert "options.reset()" in str(caught.value)
    options.reset()
    assert not options.cancelled and "cancelled" not in repr(options)
    with pytest.raises(theano.LimitReached):
        f(0.5, run_options=options, max_steps=3)


def test_cancelled_options_of_sessions():
    session, options = theano.InferenceSession(MODEL), theano.RunOptions()
    feeds = {"pixels": np.ones(2, "f"), "bias": np.ones(2, "f")}
    options.cancel()
    assert options.terminate and options.cancelled
    with pytest.raises(theano.Cancelled, match=r"reset\(\)"):
        session.run(None, feeds, options)
    options.reset()
    assert session.run(None, feeds, options)[0].tolist() == [2, 2]


# Names in models.


def names_of(path):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    graph = model.graph
    every = [*(x.name for x in graph.input), *(x.name for x in graph.output), *(n.name for n in graph.node),
             *(name for node in graph.node for name in node.output)]  # fmt: skip
    assert not any(re.search(r"\s", name) for name in every), every
    return [x.name for x in graph.input], [x.name for x in graph.output], every


def test_names_in_models(tmp_path):
    path = tmp_path / "m.onnx"
    loss = (V**2).sum()
    loss.name = "loss"
    scaled = V * S
    scaled.name = "scaled"
    rows, _ = theano.scan(lambda e, s: T.tanh(e + s), scaled, T.zeros(()), name="decoder")
    theano.function([V, S], [loss, rows]).to_onnx(path)
    inputs, outputs, every = names_of(path)
    assert inputs == ["v", "s"] and outputs[0] == "loss" and outputs[1] == "output_1"
    assert "scaled" in every and any("decoder" in name for name in every)
    theano.function([V, S], {"cost": loss, "path": rows}).to_onnx(path)
    assert names_of(path)[1] == ["cost", "path"]


def test_names_that_clash_or_have_spaces(tmp_path):
    path = tmp_path / "m.onnx"
    a, b = T.vector("my input"), T.vector("my input")
    c = T.vector()
    total = theano.shared(np.zeros(2), "running total")
    same = a + b
    same.name = "my input"
    f = theano.function([a, b, c], [same, c, a], updates={total: total + c})
    f.to_onnx(path)
    inputs, outputs, _ = names_of(path)
    assert len(set(inputs)) == len(inputs) and inputs[0] == "my_input" and "running_total" in inputs
    assert len(set(outputs)) == 4 and not set(outputs) & set(inputs) and "running_total_next" in outputs
    session = theano.InferenceSession(str(path))
    values = {name: np.full(2, i + 1.0) for i, name in enumerate(inputs)}
    got = dict(zip([each.name for each in session.get_outputs()], session.run(None, values)))
    assert [got[name].tolist() for name in outputs] == [[3, 3], [3, 3], [1, 1], [7, 7]]


# Inputs that are used.

W = T.vector("w")


def scan_of(**parts):
    return theano.scan(lambda *xs: sum(xs[1:], xs[0]), **parts)[0]


USED = {
    "gradient": lambda: T.grad((V * W).sum(), W),  # which is v
    "gradient of a part": lambda: T.grad((V * W + S).sum(), W) * 2,
    "cost of a gradient": lambda: T.grad(V.sum() + W.sum(), V),  # ones
    "second gradient": lambda: T.grad(T.grad((V * W * S).sum(), S), W),
    "disconnected": lambda: T.grad(V.sum(), W, disconnected_inputs="ignore"),
    "jacobian": lambda: T.jacobian(V * W, W),
    "hessian": lambda: T.hessian((V * V * W).sum() * 0 + (V**2).sum(), V),
    "Rop": lambda: T.Rop(V * 2 + W, V, V),
    "Lop": lambda: T.Lop(V * W, W, V),
    "known gradients": lambda: T.grad(None, V, known_grads={V * 2 + W: V}),
    "shape": lambda: V * T.ones_like(W).shape[0],
    "known size": lambda: V * T.shape_padleft(W).shape[0],
    "ones of one element": lambda: V * T.ones_like(W.sum()),
    "zeros of one element": lambda: V + T.zeros_like(W.sum()),
    "gradient in a step": lambda: theano.scan(lambda e: T.grad(e**2 + W.sum(), e), V)[0],
    "nothing read of a sequence": lambda: theano.scan(lambda e, v: v, V, non_sequences=W)[0].sum() + theano.scan(
        lambda e, v: e, V, non_sequences=W)[0],
    "constant that steps do not read": lambda: theano.scan(lambda e, w: e, V, non_sequences=W)[0],
    "beginning that steps do not read": lambda: theano.scan(lambda e, w: e, V, W.sum())[0],
    "after givens": lambda: T.grad((V * W).sum(), W) + 1,
}


@pytest.mark.parametrize("make", USED.values(), ids=USED.keys())
def test_inputs_that_expressions_were_built_from_are_used(make):
    made = make()
    inputs = [V, W, S] if _reads(made, S) else [V, W]
    values = [np.arange(1.0, 4), np.arange(4.0, 7), 2.0][: len(inputs)]
    f = theano.function(inputs, made)
    loose = theano.function(inputs, made, on_unused_input="ignore")
    np.testing.assert_array_equal(f(*values), loose(*values))
    theano.function(inputs, [], updates={theano.shared(np.zeros((1,) * made.ndim)): made})


def _reads(made, x):
    return x._expr in theano._native.origins([made._expr])


def test_values_of_gradients_that_leave_an_input_out():
    f = theano.function([V, W], T.grad((V * W).sum(), W))
    assert f([1, 2], [3, 4]).tolist() == [1, 2]
    both = theano.function([V, W], T.grad((V * W).sum(), [V, W]))
    assert [each.tolist() for each in both([1, 2], [3, 4])] == [[3, 4], [1, 2]]


def test_inputs_that_nothing_was_built_from_are_unused():
    other = T.vector("other")
    for made in (V * 2, T.grad((V * W).sum(), W), theano.scan(lambda e: e, V)[0]):
        inputs = [x for x in (V, W, S) if _reads(made, x)]
        with pytest.raises(ValueError, match="needs input 'other'"):
            theano.function([*inputs, other], made)
        with pytest.warns(UserWarning, match="needs input 'other'"):
            theano.function([*inputs, other], made, on_unused_input="warn")
