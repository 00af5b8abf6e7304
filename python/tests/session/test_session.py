"""The interface of sessions, streams and options, element types, strides, threads and limits."""

import gc
import importlib.metadata
import os
import signal
import subprocess
import sys
import threading
import time

import ml_dtypes
import numpy as np
import onnxruntime
import pytest

import scanloom
from loop_models import SUM, parse

NUMPY_TYPES = {
    "bool": np.bool_,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "float16": np.float16,
    "float": np.float32,
    "double": np.float64,
    "complex64": np.complex64,
    "complex128": np.complex128,
    "bfloat16": ml_dtypes.bfloat16,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2,
    "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "uint4": ml_dtypes.uint4,
    "int4": ml_dtypes.int4,
    "float4e2m1": ml_dtypes.float4_e2m1fn,
    "float8e8m0": ml_dtypes.float8_e8m0fnu,
    "uint2": ml_dtypes.uint2,
    "int2": ml_dtypes.int2,
}

WHILE = parse(
    """g (int64 n) => (int64 last) {
      zero = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      last = Loop <body = step (int64 i, bool c, int64 s) => (bool c2, int64 s2) {
          c2 = Identity(c)
          t = Mul(s, s)
          u = Mod(t, one)
          v = Add(s, one)
          s2 = Add(u, v)
        }> (n, , zero)
    }"""
)
ENDLESS = parse(
    """g (float[32,32] x) => (float[32,32] y) {
      go = Constant <value = bool {1}> ()
      y = Loop <body = step (int64 i, bool c, float[32,32] v) => (bool c2, float[32,32] w) {
          c2 = Identity(c)
          w = MatMul(v, v)
        }> (, go, x)
    }"""
)


def identity(type_name):
    """A model that hands its input on through a Scan, row by row."""
    return parse(
        f"""g ({type_name}[T,N] x) => ({type_name}[T,N] y) {{
          y = Scan <num_scan_inputs = 1,
            body = step ({type_name}[N] r) => ({type_name}[N] s) {{ s = Identity(r) }}> (x)
        }}""",
        opset=25,
    )


@pytest.fixture(scope="module")
def sums():
    return scanloom.InferenceSession(SUM)


def feeds(steps=4, width=3):
    return {
        "x": np.arange(steps * width, dtype=np.float32).reshape(steps, width),
        "h0": np.ones(width, np.float32),
    }


def test_inputs_and_outputs_read_as_those_of_onnxruntime(sums):
    peer = onnxruntime.InferenceSession(SUM)
    for ours, theirs in (
        (sums.get_inputs(), peer.get_inputs()),
        (sums.get_outputs(), peer.get_outputs()),
    ):
        assert [(v.name, v.shape, v.type) for v in ours] == [
            (v.name, v.shape, v.type) for v in theirs
        ]


def test_unknown_dims_are_none():
    model = parse("g (float[2,?,N] x) => (float[2,?,N] y) { y = Neg(x) }")
    session = scanloom.InferenceSession(model)
    assert session.get_inputs() == [("x", [2, None, "N"], "tensor(float)")]
    assert session.get_outputs()[0].shape == [2, None, "N"]


def test_a_model_comes_from_a_path_or_bytes(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(SUM)
    for source in (path, str(path), SUM, bytearray(SUM), memoryview(SUM)):
        h, y = scanloom.InferenceSession(source).run(None, feeds())
        np.testing.assert_array_equal(h, [19, 23, 27])
        np.testing.assert_array_equal(y[0], [1, 2, 3])


def test_outputs_come_in_the_order_asked_for(sums):
    h, y = sums.run(None, feeds())
    swapped = sums.run(["y", "h"], feeds())
    np.testing.assert_array_equal(swapped[0], y)
    np.testing.assert_array_equal(swapped[1], h)
    assert len(sums.run(["h"], feeds())) == 1
    assert len(sums.run([], feeds())) == 2


def test_one_session_takes_many_lengths(sums):
    for steps in (1, 5, 0, 300, 5):
        given = feeds(steps)
        h, y = sums.run(None, given)
        assert y.shape == (steps, 3)
        np.testing.assert_allclose(h, given["h0"] + given["x"].sum(0, dtype=np.float64), rtol=1e-5)


def test_model_metadata():
    import onnx

    model = onnx.load_from_string(SUM)
    model.producer_name, model.domain, model.model_version = "maker", "example.com", 7
    model.doc_string = "adds rows"
    onnx.helper.set_model_props(model, {"key": "value"})
    meta = scanloom.InferenceSession(model.SerializeToString()).get_modelmeta()
    assert (meta.producer_name, meta.domain, meta.version) == ("maker", "example.com", 7)
    assert (meta.graph_name, meta.description) == ("g", "adds rows")
    assert meta.custom_metadata_map == {"key": "value"}


def test_options_of_onnxruntime_are_accepted():
    options = scanloom.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 2
    options.execution_mode = scanloom.ExecutionMode.ORT_PARALLEL
    options.graph_optimization_level = scanloom.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_mem_reuse = False
    options.add_session_config_entry("session.dynamic_block_base", "4")
    session = scanloom.InferenceSession(
        SUM, options, providers=["CUDAExecutionProvider", "CPUExecutionProvider"]
    )
    assert session.get_providers() == scanloom.get_available_providers() == ["CPUExecutionProvider"]
    warnings = "\n".join(session.warnings())
    for noted in (
        "inter_op_num_threads = 2",
        "execution_mode",
        "enable_mem_reuse = False",
        "session.dynamic_block_base",
        "CUDAExecutionProvider",
    ):
        assert noted in warnings
    assert "intra_op_num_threads" not in warnings
    assert session.get_session_options().threads == 1
    assert not session.get_session_options().optimize


def test_no_warning_without_reason(sums):
    assert sums.warnings() == []


def test_an_ignored_condition_is_told():
    model = parse(
        """g (int64 n, float x) => (float y) {
          [rows] y = Loop <body = step (int64 i, bool go, float h) => (bool on, float next) {
            next = Add(h, h)
            on = Less(next, h)
          }> (n, , x)
        }"""
    )
    session = scanloom.InferenceSession(model)
    (warning,) = session.warnings()
    assert "'rows'" in warning and "condition" in warning and "ignored" in warning
    feeds = {"n": np.int64(3), "x": np.float32(1)}
    assert session.run(None, feeds)[0] == 8


def test_unknown_options_are_refused():
    with pytest.raises(AttributeError, match="intra_op_threads"):
        scanloom.SessionOptions().intra_op_threads = 2
    with pytest.raises(TypeError, match="executions"):
        scanloom.InferenceSession(SUM, executions="stepped")
    with pytest.raises(scanloom.InvalidArgument, match="'fast'.*automatic, stepped, interpreted, compiled"):
        scanloom.InferenceSession(SUM, execution="fast")
    with pytest.raises(scanloom.InvalidArgument, match="threads is -1"):
        scanloom.InferenceSession(SUM, threads=-1)


def test_unknown_attributes_of_run_options_are_refused():
    options = scanloom.RunOptions()
    with pytest.raises(AttributeError, match="RunOptions has no attribute 'deadlin'"):
        options.deadlin = 1
    options.deadline, options.log_severity_level, options.terminate = 5, 3, False
    assert (options.deadline, options.log_severity_level) == (5, 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threads": 1.5}, "threads is 1.5, but must be an integer"),
        ({"threads": "2"}, "threads is '2', but must be an integer"),
        ({"threads": 2**70}, "threads is 1180591620717411303424, but must be 0 to 4096"),
        ({"disabled_passes": "all"}, "disabled_passes is the string 'all'"),
        ({"disabled_passes": [3]}, "disabled_passes holds 3, but must hold only strings"),
        ({"states": {"h0": 3}}, "states holds 3, but must hold only strings"),
        ({"states": ["h0"]}, "states is .*, but must be a dictionary"),
    ],
)
def test_session_options_of_wrong_types(options, words):
    with pytest.raises(scanloom.InvalidArgument, match=words):
        scanloom.InferenceSession(SUM, **options)
    set_later = scanloom.SessionOptions()
    for name, value in options.items():
        setattr(set_later, name, value)
    with pytest.raises(scanloom.InvalidArgument, match=words):
        scanloom.InferenceSession(SUM, set_later)


def test_arguments_of_wrong_types(sums):
    peer = onnxruntime.RunOptions()
    for call, words in (
        (lambda: sums.run(None, feeds(), peer), "run_options is a .*, not scanloom.RunOptions"),
        (lambda: sums.run(["h", 3], feeds()), "output_names holds 3"),
        (lambda: sums.run(3, feeds()), "output_names is 3, but must be a list of strings"),
        (lambda: scanloom.InferenceSession(3), "a model must be a path, bytes, or a model object of onnx or OpenVINO, not a <class 'int'>"),
        (lambda: scanloom.check(None), "a model must be a path, bytes"),
        (lambda: scanloom.check(SUM, 3), "sess_options is a <class 'int'>"),
    ):
        with pytest.raises(scanloom.InvalidArgument, match=words):
            call()


def test_texts_for_people(sums):
    assert "loop" in sums.explain()
    assert "loop" in sums.ir() and "loop" in sums.ir(optimized=False)
    assert "// round 1: " in sums.passes() and " in passes\n" in sums.passes()
    assert "loop" in sums.plan()
    assert len(sums.plan(feeds())) > len("loop")
    assert sums.nests(feeds()).startswith("// ")
    assert sums.llvm(feeds()).startswith("; ")
    assert sums.llvm(feeds(), optimized=False).startswith("; ")
    assert sums.assembly(feeds()).startswith("# ")
    with pytest.raises(scanloom.InvalidArgument, match="not fed"):
        sums.llvm({})
    assert sums.operators()["loop"] == 1
    assert scanloom.__version__ == importlib.metadata.version("scanloom")


@pytest.mark.parametrize("execution", ["automatic", "interpreted"])
@pytest.mark.parametrize("name", NUMPY_TYPES)
def test_every_element_type_passes_through(name, execution):
    values = np.array([[0, 1, 1], [1, 0, 1]]).astype(NUMPY_TYPES[name])
    session = scanloom.InferenceSession(identity(name), execution=execution)
    assert session.get_inputs()[0].type == f"tensor({name})"
    (y,) = session.run(None, {"x": values})
    assert (y.dtype, y.shape) == (values.dtype, values.shape)
    assert y.tobytes() == values.tobytes()


def layouts():
    base = np.arange(4 * 6 * 2, dtype=np.float32)
    misaligned = np.zeros(12 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(4, 3)
    misaligned[:] = np.arange(12).reshape(4, 3)
    record = np.zeros(4, [("a", "u1"), ("v", "f4", 3)])
    record["v"] = np.arange(12).reshape(4, 3)
    read_only = base[:12].reshape(4, 3).copy()
    read_only.flags.writeable = False
    return {
        "transposed": base[:12].reshape(3, 4).T,
        "every_second": base[:24].reshape(4, 6)[:, ::2],
        "reversed": base[:12].reshape(4, 3)[::-1, ::-1],
        "broadcast": np.broadcast_to(base[:3], (4, 3)),
        "big_endian": base[:12].reshape(4, 3).astype(">f4"),
        "misaligned": misaligned,
        "field_of_record": record["v"],
        "read_only": read_only,
        "fortran": np.asfortranarray(base[:12].reshape(4, 3)),
    }


@pytest.mark.parametrize("name", layouts())
def test_every_layout_is_read_right(sums, name):
    x = layouts()[name]
    before = x.tobytes()
    h, y = sums.run(None, {"x": x, "h0": np.zeros(3, np.float32)})
    np.testing.assert_allclose(y, np.cumsum(x, axis=0, dtype=np.float32))
    np.testing.assert_allclose(h, y[-1])
    assert x.tobytes() == before


def test_empty_arrays_need_no_alignment(sums):
    nothing = np.frombuffer(b"\0" * 16, np.float32, 0, offset=1).reshape(0, 3)
    h, y = sums.run(None, {"x": nothing, "h0": np.ones(3, np.float32)})
    assert h.tolist() == [1, 1, 1] and y.shape == (0, 3)


def test_high_bits_of_narrow_integers_may_be_anything():
    """onnx.numpy_helper leaves them zero, arrays of ml_dtypes repeat the sign."""
    model = parse("g (int4[N] x) => (float[N] y) { y = Cast <to = 1> (x) }", opset=21)
    bits = np.array([0x08, 0xF8, 0x0F, 0x07], np.uint8)
    (y,) = scanloom.InferenceSession(model).run(None, {"x": bits.view(ml_dtypes.int4)})
    np.testing.assert_array_equal(y, [-8, -8, -1, 7])


def test_strided_small_floats_are_read_right():
    values = np.arange(12).reshape(4, 3).astype(ml_dtypes.bfloat16)[::-1, ::2]
    (y,) = scanloom.InferenceSession(identity("bfloat16")).run(None, {"x": values})
    assert y.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(y.astype(np.float32), values.astype(np.float32))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("int4", range(-8, 8)),
        ("uint4", range(16)),
        ("int2", range(-2, 2)),
        ("uint2", range(4)),
        ("float4e2m1", [-6, -4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 6]),
    ],
)
def test_every_value_narrower_than_a_byte(name, values):
    """One byte for each element here as in ml_dtypes, whatever the model's file does."""
    model = parse(
        f"""g ({name}[A,B] x) => (float[A,B] wide, {name}[A,B] back) {{
          wide = Cast <to = 1> (x)
          back = Cast <to = {list(scanloom._ort.values._NAMES).index(name) + 1}> (wide)
        }}""",
        opset=25,
    )
    narrow = np.array([values, values], np.float32).astype(NUMPY_TYPES[name])
    session = scanloom.InferenceSession(model)
    for x in (narrow, narrow[::-1, ::-1], narrow.T, narrow[:, ::2], np.asfortranarray(narrow)):
        wide, back = session.run(None, {"x": x})
        np.testing.assert_array_equal(wide, x.astype(np.float32))
        assert back.dtype == x.dtype
        np.testing.assert_array_equal(back.astype(np.float32), x.astype(np.float32))


def test_numbers_and_lists_take_the_type_of_the_input(sums):
    h, _ = sums.run(None, {"x": [[1, 2, 3]], "h0": [0.5, 0, 0]})
    np.testing.assert_array_equal(h, [1.5, 2, 3])
    (last,) = scanloom.InferenceSession(WHILE).run(None, {"n": 5})
    assert last == 5 and last.dtype == np.int64
    (last,) = scanloom.InferenceSession(WHILE).run(None, {"n": np.int64(6)})
    assert last == 6
    with pytest.raises(scanloom.InvalidArgument, match="input 'n' is int64, the feed is double"):
        scanloom.InferenceSession(WHILE).run(None, {"n": 2.5})


def test_results_own_their_memory():
    session = scanloom.InferenceSession(SUM)
    given = feeds()
    h, y = session.run(None, given)
    kept = y.copy()
    session.run(None, {"x": given["x"] + 1, "h0": given["h0"]})
    del session, h
    gc.collect()
    np.testing.assert_array_equal(y, kept)
    assert y.flags.writeable and y.flags.c_contiguous and y.flags.aligned


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("execution", ["automatic", "interpreted"])
def test_results_never_share_memory(execution, optimize):
    model = parse(
        """g (float[2] x) => (float[2] a, float[2] b, float[2] k, float[1,2] v) {
          k = Constant <value = float[2] {1.0, 2.0}> ()
          a = Identity(x)
          b = Identity(x)
          shape = Constant <value = int64[2] {1, 2}> ()
          v = Reshape(x, shape)
        }"""
    )
    session = scanloom.InferenceSession(model, execution=execution, optimize=optimize)
    x = np.array([3, 4], np.float32)
    results = session.run(None, {"x": x})
    for index, result in enumerate(results):
        assert not np.shares_memory(result, x)
        result[:] = -index - 1
    for index, result in enumerate(results):
        np.testing.assert_array_equal(result.ravel(), [-index - 1] * 2)
    np.testing.assert_array_equal(x, [3, 4])
    a, b, k, v = session.run(None, {"x": x})
    np.testing.assert_array_equal([a, b, v[0]], [[3, 4]] * 3)
    np.testing.assert_array_equal(k, [1, 2])


def test_a_stream_equals_one_long_run(sums):
    whole = feeds(10)
    h, y = sums.run(None, whole)
    stream = sums.stream(states={"h0": "h"})
    stream.set("h0", whole["h0"])
    pieces = [stream.push({"x": whole["x"][at : at + 3]}) for at in range(0, 10, 3)]
    np.testing.assert_array_equal(np.concatenate(pieces), y)
    assert np.concatenate(pieces).tobytes() == y.tobytes()
    last, kept = stream.push({"x": whole["x"][:0]}, ["y", "h"])
    assert last.shape == (0, 3)
    np.testing.assert_array_equal(kept, h)


def test_a_stream_starts_with_zeros_and_can_be_reset(sums):
    stream = sums.stream(states={"h0": "h"})
    one = {"x": np.ones((1, 3), np.float32)}
    assert [stream.push(one)[0, 0] for _ in range(3)] == [1, 2, 3]
    stream.reset()
    assert stream.push(one)[0, 0] == 1
    other = scanloom.InferenceSession(SUM, states={"h0": "h"}).stream()
    assert other.push(one)[0, 0] == 1


def test_results_do_not_touch_the_state(sums):
    stream = sums.stream(states={"h0": "h"})
    one = {"x": np.ones((1, 3), np.float32)}
    (state,) = stream.push(one, ["h"])
    state[:] = 100
    assert stream.push(one)[0, 0] == 2


def test_a_push_that_fails_keeps_the_state(sums):
    stream = sums.stream(states={"h0": "h"})
    one = {"x": np.ones((1, 3), np.float32)}
    stream.push(one)
    with pytest.raises(scanloom.InvalidArgument):
        stream.push({"x": np.ones((1, 4), np.float32)})
    assert stream.push(one)[0, 0] == 2


def test_mistakes_with_streams(sums):
    with pytest.raises(scanloom.NotFound, match="no input of that name"):
        sums.stream(states={"nothing": "h"})
    with pytest.raises(scanloom.NotFound, match="no output 'nothing'"):
        sums.stream(states={"h0": "nothing"})
    stream = sums.stream(states={"h0": "h"})
    with pytest.raises(scanloom.InvalidArgument, match="'h0' is a state"):
        stream.push(feeds())
    with pytest.raises(scanloom.NotFound, match="has no state 'x'"):
        stream.set("x", np.zeros(3, np.float32))
    with pytest.raises(scanloom.InvalidArgument, match="state 'h0' is float, the value is double"):
        stream.set("h0", np.zeros(3))


def test_errors_have_classes_codes_and_bases(sums):
    with pytest.raises(scanloom.InvalidArgument) as caught:
        sums.run(None, {"x": feeds()["x"]})
    assert isinstance(caught.value, (scanloom.Error, ValueError))
    assert caught.value.code == "invalid_argument"
    assert caught.value.text == "input 'h0' (tensor(float)) is not fed"
    with pytest.raises(scanloom.InvalidArgument) as caught:
        sums.run(None, {"y": 1})
    assert caught.value.notes == ("its inputs are: x, h0",)
    assert "note: its inputs are" in str(caught.value)
    bases = {
        scanloom.InvalidModel: ValueError,
        scanloom.Unsupported: NotImplementedError,
        scanloom.NotFound: LookupError,
        scanloom.OutOfMemory: MemoryError,
        scanloom.Internal: RuntimeError,
        scanloom.LimitReached: scanloom.Error,
        scanloom.Cancelled: scanloom.Error,
    }
    for kind, base in bases.items():
        assert issubclass(kind, scanloom.Error) and issubclass(kind, base)


def test_check_collects(tmp_path):
    good, bad = tmp_path / "good.onnx", tmp_path / "bad.onnx"
    good.write_bytes(SUM)
    bad.write_bytes(parse("g (float[2] x) => (float[2] y) { a = Nope(x) y = Neither(a) }"))
    assert scanloom.check(good).ok
    report = scanloom.check(bad)
    assert not report.ok
    assert all(isinstance(error, scanloom.Error) for error in report.errors)
    text = "\n".join(map(str, report.errors))
    assert "Nope" in text and "Neither" in text
    assert isinstance(scanloom.check(tmp_path / "absent.onnx").errors[0], scanloom.NotFound)
    assert list(map(str, scanloom.check(bad.read_bytes()).errors)) == list(map(str, report.errors))


def test_check_takes_bytes():
    for source in (SUM, bytearray(SUM), memoryview(SUM)):
        assert scanloom.check(source).ok
    for source in (b"zz", b""):
        (error,) = scanloom.check(source).errors
        assert isinstance(error, scanloom.InvalidModel)


def test_two_threads_run_one_session_at_once(sums):
    expected = {steps: sums.run(None, feeds(steps)) for steps in (3, 40)}
    wrong = []

    def work(steps):
        for _ in range(200):
            results = sums.run(None, feeds(steps))
            if any(a.tobytes() != b.tobytes() for a, b in zip(results, expected[steps])):
                wrong.append(steps)

    threads = [threading.Thread(target=work, args=(steps,)) for steps in (3, 40, 3, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_gil_is_free_while_running():
    session = scanloom.InferenceSession(ENDLESS, threads=1)
    options = scanloom.RunOptions(deadline=20)
    ended = []

    def work():
        try:
            session.run(None, {"x": np.zeros((32, 32), np.float32)}, options)
        except scanloom.Error as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    begin = time.monotonic()
    thread.start()
    turns = 0
    while time.monotonic() - begin < 0.3:
        turns += 1  # only possible while the other thread does not hold the lock
    assert thread.is_alive() and turns > 100
    options.cancel()
    thread.join(10)
    assert isinstance(ended[0], scanloom.Cancelled)
    assert time.monotonic() - begin < 10


def test_cancelled_options_can_be_used_again():
    session = scanloom.InferenceSession(WHILE)
    options = scanloom.RunOptions()
    options.terminate = True
    with pytest.raises(scanloom.Cancelled):
        session.run(None, {"n": 10**9}, options)
    options.terminate = False
    assert session.run(None, {"n": 3}, options) == [3]


@pytest.mark.parametrize("execution", ["automatic", "stepped", "interpreted"])
@pytest.mark.parametrize("model", [WHILE, ENDLESS], ids=["counted", "endless"])
def test_a_deadline_ends_a_run(model, execution):
    session = scanloom.InferenceSession(model, execution=execution)
    given = {"n": 10**15} if model is WHILE else {"x": np.zeros((32, 32), np.float32)}
    begin = time.monotonic()
    with pytest.raises(scanloom.LimitReached, match="0.2"):
        session.run(None, given, scanloom.RunOptions(deadline=0.2))
    assert time.monotonic() - begin < 5


def test_limits_end_a_layer_that_is_one_call():
    layer = parse(
        """g (float[T,1,1] x) => (float[1,1,64] h) {
          w_sizes = Constant <value_ints = [1, 256, 1]> ()
          r_sizes = Constant <value_ints = [1, 256, 64]> ()
          w = ConstantOfShape <value = float[1] {0.1}> (w_sizes)
          r = ConstantOfShape <value = float[1] {0.01}> (r_sizes)
          _, h = LSTM <hidden_size = 64> (x, w, r)
        }"""
    )
    session = scanloom.InferenceSession(layer)
    x = np.ones((10_000_000, 1, 1), np.float32)  # five seconds
    begin = time.process_time()
    with pytest.raises(scanloom.LimitReached, match="LSTM.*0.1"):
        session.run(None, {"x": x}, scanloom.RunOptions(deadline=0.1))
    assert time.process_time() - begin < 3
    options = scanloom.RunOptions()
    threading.Timer(0.1, options.cancel).start()
    begin = time.process_time()
    with pytest.raises(scanloom.Cancelled, match="LSTM"):
        session.run(None, {"x": x}, options)
    assert time.process_time() - begin < 3


@pytest.mark.parametrize("execution", ["automatic", "stepped", "interpreted"])
def test_the_step_limit_names_the_count(execution):
    session = scanloom.InferenceSession(ENDLESS, execution=execution)
    with pytest.raises(scanloom.LimitReached, match=r"(?s)100.*max_steps"):
        session.run(
            None, {"x": np.zeros((32, 32), np.float32)}, scanloom.RunOptions(max_steps=100)
        )


@pytest.mark.parametrize("execution", ["automatic", "stepped", "interpreted"])
def test_any_byte_but_zero_is_true(execution):
    model = parse(
        """g (bool c, bool[N] m, float[N] x) => (float[N] y, bool[N] same, bool[N] inverse) {
          y = If (c) <
            then_branch = t () => (float[N] u) { u = Neg(x) },
            else_branch = e () => (float[N] v) { v = Identity(x) }
          >
          same = Identity(m)
          inverse = Not(m)
        }"""
    )
    session = scanloom.InferenceSession(model, execution=execution)
    odd = np.array([2, 0, 255, 1], np.uint8).view(np.bool_)
    given = {"c": odd[:1].reshape(()), "m": odd, "x": np.ones(4, np.float32)}
    y, same, inverse = session.run(None, given)
    assert y.tolist() == [-1] * 4
    assert same.view(np.uint8).tolist() == [1, 0, 1, 1]
    assert inverse.view(np.uint8).tolist() == [0, 1, 0, 0]
    assert odd.view(np.uint8).tolist() == [2, 0, 255, 1]


def test_progress_is_reported_and_may_raise():
    session = scanloom.InferenceSession(ENDLESS)
    given = {"x": np.zeros((32, 32), np.float32)}
    seen = []

    class Enough(Exception):
        pass

    def progress(node, step, steps):
        seen.append((node, step, steps))
        if len(seen) == 3:
            raise Enough

    begin = time.monotonic()
    with pytest.raises(Enough):
        session.run(None, given, scanloom.RunOptions(progress=progress, deadline=30))
    assert len(seen) == 3
    assert 0.1 < time.monotonic() - begin < 10
    assert seen[0][1] < seen[2][1] and seen[0][2] == -1
    assert "Loop" in seen[0][0]


def test_an_exception_in_progress_ends_only_its_own_run():
    session = scanloom.InferenceSession(ENDLESS)
    given = {"x": np.zeros((32, 32), np.float32)}
    ended = []

    def progress(node, step, steps):
        if threading.current_thread() is not other:
            raise ValueError("only here")

    options = scanloom.RunOptions(progress=progress, deadline=60)

    def run_on():
        with pytest.raises(scanloom.Cancelled):
            session.run(None, given, options)
        ended.append(True)

    other = threading.Thread(target=run_on)
    other.start()
    for _ in range(5):
        with pytest.raises(ValueError, match="only here"):
            session.run(None, given, options)
    assert not options.terminate
    other.join(0.5)
    assert other.is_alive()
    options.cancel()
    other.join(30)
    assert ended == [True]


def test_an_exception_in_progress_undoes_no_cancel():
    session = scanloom.InferenceSession(ENDLESS)

    def progress(node, step, steps):
        options.cancel()
        raise ValueError

    options = scanloom.RunOptions(progress=progress, deadline=60)
    with pytest.raises(ValueError):
        session.run(None, {"x": np.zeros((32, 32), np.float32)}, options)
    assert options.terminate


def test_wrong_run_options():
    session = scanloom.InferenceSession(WHILE)
    for options, words in (
        ({"deadline": 0}, "deadline is 0"),
        ({"max_steps": -1}, "max_steps is -1"),
        ({"max_memory": 0}, "max_memory is 0"),
        ({"deadline": float("nan")}, "deadline is nan"),
        ({"deadline": "soon"}, "deadline is 'soon' s, but must be positive and finite"),
        ({"max_steps": 1.5}, "max_steps is 1.5, but must be an integer"),
        ({"max_steps": 2**70}, "max_steps is 1180591620717411303424, but must be 0 to 9223372036"),
        ({"max_memory": 2**63}, "max_memory is 9223372036854775808, but must be 1 to"),
        ({"max_memory": "1GB"}, "max_memory is '1GB', but must be an integer"),
        ({"progress": 3}, "progress is 3"),
    ):
        with pytest.raises(scanloom.InvalidArgument, match=words):
            session.run(None, {"n": 1}, scanloom.RunOptions(**options))


INTERRUPTED = """
import numpy as np, scanloom, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in jobs of a script
session = scanloom.InferenceSession(sys.stdin.buffer.read())
print("ready", flush=True)
options = scanloom.RunOptions(deadline=60, max_steps=2**60)
try:
    session.run(None, {"x": np.zeros((32, 32), np.float32)}, options)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_control_c_ends_a_run():
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ,
    )
    process.stdin.write(ENDLESS)
    process.stdin.close()
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == b"interrupted\n"
    assert process.wait(20) == 0
    process.stdout.close()


def test_nothing_is_printed(capfd):
    session = scanloom.InferenceSession(SUM)
    session.run(None, feeds())
    with pytest.raises(scanloom.Error):
        session.run(None, {})
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_texts_are_refused_where_numbers_are_wanted(sums):
    for value in (np.array([["a", "b"]]), np.array([["a"]], object), [["a"]]):
        with pytest.raises(scanloom.InvalidArgument, match="'x'.*strings"):
            sums.run(None, {"x": value, "h0": feeds()["h0"]})


def test_objects_are_not_called_texts(sums):
    for value, words in (
        (None, "feed 'x' is None, but must be a tensor"),
        (np.array([[None, 1, 2.5]]), r"Python objects \(NoneType, float, int\), but must hold numbers"),
        (np.array([[1, 2, 3]], object), r"Python objects \(int\)"),
        ([[1, None, 2]], r"Python objects \(NoneType, int\)|'x' cannot be read"),
        (object(), r"Python objects \(object\)"),
    ):
        with pytest.raises(scanloom.InvalidArgument, match=words) as caught:
            sums.run(None, {"x": value, "h0": feeds()["h0"]})
        assert "text" not in str(caught.value)


def test_no_names_of_outputs_mean_all_as_with_onnxruntime(sums):
    peer = onnxruntime.InferenceSession(SUM)
    for names in ([], (), None):
        assert len(sums.run(names, feeds())) == len(peer.run(names, feeds())) == 2
    stream = sums.stream(states={"h0": "h"})
    assert stream.push({"x": feeds()["x"]}, []).shape == (4, 3)
    with pytest.raises(scanloom.InvalidArgument, match="write \\['y'\\]"):
        stream.push({"x": feeds()["x"]}, "y")


def test_strange_feeds_are_refused(sums):
    for value, words in (
        (object(), "'x'"),
        (None, "'x'"),
        ([[1, 2, 3], [4]], "'x' cannot be read"),
        (np.zeros((1, 3), "datetime64[s]"), "datetime64"),
        (np.zeros((1, 3), np.longdouble), "longdouble|float128"),
    ):
        with pytest.raises(scanloom.Error, match=words):
            sums.run(None, {"x": value, "h0": feeds()["h0"]})
    with pytest.raises(scanloom.InvalidArgument, match="names of feeds must be strings, not 3"):
        sums.run(None, {3: 1})
    with pytest.raises(scanloom.InvalidArgument, match="write \\['h'\\]"):
        sums.run("h", feeds())
    with pytest.raises(scanloom.InvalidArgument, match="no output 'z'"):
        sums.run(["z"], feeds())
