"""Programs written for onnxruntime: each snippet runs with both modules and gives the same."""

import importlib
import json
import pathlib
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import TensorProto

import scanloom
from loop_models import SUM, parse

FIXED = parse("g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }")
HALVES = parse("g (bfloat16[N] x) => (bfloat16[N] y) { y = Identity(x) }")

# Names of onnxruntime that are not here: what they belong to is not.
ABSENT = {
    "adapters": {"AdapterFormat", "LoraAdapter"},
    "compiling for other providers": {
        *("ModelCompiler", "OrtCompileApiFlags", "OrtEpAssignedNode", "OrtEpAssignedSubgraph"),
        *("OrtEpContextData", "OrtEpContextDataBuffer", "OrtExternalInitializerInfo"),
    },
    "other devices": {
        *("OrtEpDevice", "OrtHardwareDevice", "OrtHardwareDeviceType", "OrtMemoryInfoDeviceType"),
        *("OrtSyncStream", "OrtArenaCfg", "create_and_register_allocator_v2"),
        *("register_execution_provider_library", "unregister_execution_provider_library"),
    },
    "sparse tensors": {"SparseTensor", "OrtSparseFormat"},
    "the inside of its package": {
        *("SessionIOBinding", "contextlib", "cuda_version", "import_capi_exception"),
        *("onnxruntime_validation", "package_name", "print_debug_info", "version"),
    },
}
CLASSES = [
    *("SessionOptions", "RunOptions", "InferenceSession", "IOBinding", "OrtValue", "OrtDevice"),
    *("NodeArg", "ModelMetadata", "GraphOptimizationLevel", "ExecutionMode", "ExecutionOrder"),
    *("OrtAllocatorType", "OrtMemType", "OrtDeviceMemoryType", "OrtDeviceVendorId"),
    "OrtExecutionProviderDevicePolicy",
]


def public(holder):
    names = {*dir(holder), *getattr(holder, "__members__", ())}  # dir() leaves out aliases
    return {name for name in names if not name.startswith("_")}


def feeds(steps=4, width=3):
    return {
        "x": np.arange(steps * width, dtype=np.float32).reshape(steps, width),
        "h0": np.ones(width, np.float32),
    }


def plain(value):
    """A snippet's result without numpy, to be compared."""
    if isinstance(value, np.ndarray):
        return (value.dtype.name, value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    if isinstance(value, dict):
        return {key: plain(element) for key, element in value.items()}
    return value


def fails(call):
    """Whether the call raises, as both modules must."""
    try:
        call()
    except Exception:
        return True
    return False


SNIPPETS = []


def snippet(function):
    SNIPPETS.append(function)
    return function


@snippet
def runs_by_name_and_in_order(ort):
    session = ort.InferenceSession(SUM)
    h, y = session.run(None, feeds())
    return h, y, session.run(["y", "h"], feeds()), session.run(["h"], feeds())


@snippet
def providers_are_named_in_every_way(ort):
    given = [
        {"providers": ["CPUExecutionProvider"]},
        {"providers": [("CPUExecutionProvider", {})]},
        {"providers": ["CPUExecutionProvider"], "provider_options": [{}]},
        {"providers": None, "enable_fallback": 0},
    ]
    sessions = [ort.InferenceSession(FIXED, **arguments) for arguments in given]
    session = sessions[0]
    session.disable_fallback()
    session.enable_fallback()
    session.set_providers(["CPUExecutionProvider"])
    return [
        session.get_providers(),
        "CPUExecutionProvider" in ort.get_available_providers(),
        "CPUExecutionProvider" in ort.get_all_providers(),
        session.get_provider_options(),
        [s.run(None, {"x": np.ones((2, 3), np.float32)}) for s in sessions],
    ]


@snippet
def attributes_of_session_options(ort):
    options = ort.SessionOptions()
    before = {name: getattr(options, name) for name in public(options)}
    before = {name: value for name, value in before.items() if not callable(value)}
    for name, value in before.items():
        if isinstance(value, bool):
            setattr(options, name, not value)
        elif isinstance(value, str):
            setattr(options, name, "text")
    options.intra_op_num_threads = 2
    options.inter_op_num_threads = 3
    options.log_severity_level = 3
    options.log_verbosity_level = 1
    options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    options.execution_order = ort.ExecutionOrder.PRIORITY_BASED
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    after = {name: getattr(options, name) for name in before}
    own = {"threads", "execution", "optimize", "disabled_passes", "lenient", "seed", "states"}
    own |= {"low_latency", "fed_defaults", "weights", "strict", "speculate", "numerics"}
    texts = [{k: str(v) for k, v in d.items() if k not in own} for d in (before, after)]
    names = (options.execution_mode.name, options.graph_optimization_level.name)
    entry = options.get_session_config_entry("session.intra_op.allow_spinning")
    missing = fails(lambda: options.get_session_config_entry("no such entry"))
    unknown = fails(lambda: setattr(options, "intra_op_threads", 2))
    numbers = [{k: re_number(v) for k, v in text.items()} for text in texts]
    return numbers, names, entry, missing, unknown, options.has_providers()


def re_number(text):
    """Enumerations print differently; what they are called is compared elsewhere."""
    return "" if "Execution" in text or "ORT_" in text or "." in text or text.isdigit() else text


@snippet
def a_session_with_many_options(ort):
    options = ort.SessionOptions()
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = ort.InferenceSession(SUM, options, providers=["CPUExecutionProvider"])
    kept = session.get_session_options()
    return session.run(["h"], feeds()), kept.intra_op_num_threads, kept.enable_mem_pattern


@snippet
def sizes_by_name(ort):
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("N", 3)
    session = ort.InferenceSession(SUM, sess_options=options)
    return (
        session.run(["h"], feeds()),
        [value.shape for value in session.get_inputs()],
        fails(lambda: session.run(["h"], feeds(width=5))),
    )


@snippet
def run_options(ort):
    options = ort.RunOptions()
    options.log_severity_level = 4
    options.log_verbosity_level = 0
    options.logid = "run"
    options.only_execute_path_to_fetches = True
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    session = ort.InferenceSession(FIXED)
    x = np.ones((2, 3), np.float32)
    (y,) = session.run(["y"], {"x": x}, run_options=options)
    (z,) = session.run(["y"], {"x": x}, options)
    entry = options.get_run_config_entry("memory.enable_memory_arena_shrinkage")
    missing = fails(lambda: options.get_run_config_entry("no such entry"))
    options.terminate = True
    terminate = options.terminate
    options.terminate = False
    return y, z, entry, missing, terminate, options.terminate, options.logid


@snippet
def descriptions(ort):
    session = ort.InferenceSession(SUM)
    values = session.get_inputs() + session.get_outputs() + session.get_overridable_initializers()
    return [(value.name, value.shape, value.type) for value in values]


@snippet
def inputs_with_default_values(ort):
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 18]>
        g (float[2] x, float[2] w = {2, 3}, float[1] b = {10}) => (float[2] y)
        { xw = Mul(x, w)  y = Add(xw, b) }"""
    )
    session = ort.InferenceSession(model.SerializeToString())
    defaults = [(end.name, end.shape, end.type) for end in session.get_overridable_initializers()]
    x, w, b = np.ones(2, np.float32), np.full(2, 5, np.float32), np.zeros(1, np.float32)
    fed = [{"x": x}, {"x": x, "w": w}, {"b": b, "x": x}, {"x": x, "w": w, "b": b}, {"x": x}]
    return (
        [end.name for end in session.get_inputs()],
        sorted(defaults),
        [session.run(None, feeds) for feeds in fed],
        fails(lambda: session.run(None, {"w": w})),
        fails(lambda: session.run(None, {"x": x, "w": b})),
    )


@snippet
def metadata(ort):
    model = onnx.load_from_string(SUM)
    model.producer_name, model.producer_version, model.domain = "maker", "1.2", "example.com"
    model.model_version, model.doc_string, model.graph.doc_string = 7, "adds rows", "the graph"
    onnx.helper.set_model_props(model, {"key": "value"})
    meta = ort.InferenceSession(model.SerializeToString()).get_modelmeta()
    return {name: getattr(meta, name) for name in public(onnxruntime.ModelMetadata)}


@snippet
def values_of_arrays(ort):
    array = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    value = ort.OrtValue.ortvalue_from_numpy(array, "cpu", 0)
    array[0, 0] = 9
    whole = ort.OrtValue.ortvalue_from_numpy(np.array(5, np.int64))
    return (
        *(value.numpy(), value.shape(), value.data_type(), value.element_type()),
        *(value.device_name(), value.tensor_size_in_bytes(), value.data_ptr() == array.ctypes.data),
        *(value.is_tensor(), value.is_sparse_tensor(), value.is_tensor_sequence()),
        *(value.has_value(), np.asarray(value), np.asarray(value, np.float64)),
        *(whole.shape(), whole.numpy(), whole.data_type()),
    )


@snippet
def values_of_shapes(ort):
    value = ort.OrtValue.ortvalue_from_shape_and_type([2, 2], np.float32)
    value.update_inplace(np.array([[1, 2], [3, 4]], np.float32))
    source = ort.OrtValue.ortvalue_from_numpy(np.full((2, 2), 7, np.float32))
    before = value.numpy().copy()
    value.update_inplace(source)
    bf16 = ort.OrtValue.ortvalue_from_shape_and_type([3], TensorProto.BFLOAT16, "cpu", 0)
    return (
        *(before, value.numpy(), bf16.data_type(), bf16.element_type(), bf16.shape()),
        fails(lambda: value.update_inplace(np.zeros((3, 2), np.float32))),
        fails(lambda: value.update_inplace([1, 2])),
        fails(lambda: ort.OrtValue.ortvalue_from_shape_and_type([2], np.float32, "nowhere")),
    )


@snippet
def values_through_a_run(ort):
    session = ort.InferenceSession(SUM)
    given = {name: ort.OrtValue.ortvalue_from_numpy(a) for name, a in feeds().items()}
    both = session.run_with_ort_values(None, given)
    (y,) = session.run_with_ort_values(["y"], given)
    return [value.numpy() for value in both], y.shape(), y.data_type(), session.run(["h"], given)


@snippet
def bfloat16_by_number(ort):
    bits = np.array([0x3F80, 0xC000], np.uint16)  # 1, -2
    value = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, TensorProto.BFLOAT16)
    (y,) = ort.InferenceSession(HALVES).run_with_ort_values(["y"], {"x": value})
    return value.data_type(), y.data_type(), y.element_type(), y.shape(), y.tensor_size_in_bytes()


@snippet
def dlpack_in_and_out(ort):
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    value = ort.OrtValue.from_dlpack(array)
    back = np.from_dlpack(value)
    capsule = ort.OrtValue.from_dlpack(array.__dlpack__())
    return (
        *(value.numpy(), value.data_type(), value.data_ptr() == array.ctypes.data, back),
        *(np.shares_memory(back, array), capsule.numpy(), tuple(value.__dlpack_device__())),
    )


@snippet
def bound_arrays(ort):
    session = ort.InferenceSession(SUM)
    binding = session.io_binding()
    for name, array in feeds().items():
        binding.bind_cpu_input(name, array)
    binding.bind_output("y")
    binding.bind_output("h", "cpu")
    binding.synchronize_inputs()
    session.run_with_iobinding(binding)
    binding.synchronize_outputs()
    return (
        binding.copy_outputs_to_cpu(),
        [value.numpy() for value in binding.get_outputs()],
        len(binding.get_outputs_as_ortvaluevector()),
    )


@snippet
def bound_memory(ort):
    session = ort.InferenceSession(SUM)
    given = feeds()
    y, h = np.zeros((4, 3), np.float32), np.zeros(3, np.float32)
    binding = session.io_binding()
    for name, array in given.items():
        binding.bind_input(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
    binding.bind_output("y", "cpu", 0, np.float32, y.shape, y.ctypes.data)
    value = ort.OrtValue.ortvalue_from_numpy(h)
    binding.bind_ortvalue_output("h", value)
    session.run_with_iobinding(binding, ort.RunOptions())
    first = y.copy(), h.copy()
    given["x"] += 1  # read again from the same memory
    binding.bind_ortvalue_input("h0", value)  # the state goes on in place
    session.run_with_iobinding(binding)
    second = y.copy(), h.copy(), value.numpy().copy()
    binding.clear_binding_inputs()
    nothing = fails(lambda: session.run_with_iobinding(binding))
    binding.clear_binding_outputs()
    return first, second, nothing


@snippet
def wrong_bindings(ort):
    session, other = ort.InferenceSession(SUM), ort.InferenceSession(SUM)
    binding = session.io_binding()
    x = np.zeros((4, 3), np.float32)
    return (
        fails(lambda: binding.bind_cpu_input("speed", x)),
        fails(lambda: binding.bind_output("y", "cpu", 0, None, None, x.ctypes.data)),
        fails(lambda: other.run_with_iobinding(binding)),
    )


@snippet
def asynchronous_runs(ort):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    session = ort.InferenceSession(SUM, options)
    answers, ready = [], threading.Event()

    def callback(results, user_data, error):
        answers.append((results, user_data, error))
        ready.set()

    session.run_async(["h"], feeds(), callback, "mine")
    assert ready.wait(30)
    return answers


@snippet
def errors(ort):
    session = ort.InferenceSession(SUM)
    given = feeds()

    def value_error(call):
        with pytest.raises(ValueError):
            call()

    value_error(lambda: session.run(None, {"x": given["x"]}))
    return (
        fails(lambda: session.run(None, {**given, "z": given["x"]})),
        fails(lambda: session.run(["z"], given)),
        fails(lambda: session.run(None, {**given, "x": given["x"].astype(np.float64)})),
        fails(lambda: session.run(None, {**given, "x": given["x"][0]})),
        fails(lambda: ort.InferenceSession("no such model.onnx")),
        fails(lambda: ort.InferenceSession(b"no model")),
        fails(lambda: ort.InferenceSession(3)),
    )


@snippet
def errors_by_their_classes(ort):
    state = importlib.import_module(f"{ort.__name__}.capi.onnxruntime_pybind11_state")
    session = ort.InferenceSession(SUM)
    with pytest.raises(state.NoSuchFile):
        ort.InferenceSession("no such model.onnx")
    with pytest.raises(state.InvalidArgument):
        session.run(None, {**feeds(), "x": feeds()["x"].astype(np.float64)})
    with pytest.raises(state.InvalidProtobuf):
        ort.InferenceSession(b"no model")
    return sorted(
        name for name in dir(state)
        if isinstance(getattr(state, name), type) and issubclass(getattr(state, name), Exception)
    )  # fmt: skip


@snippet
def functions_of_the_module(ort):
    ort.set_default_logger_severity(4)
    ort.set_default_logger_verbosity(0)
    ort.set_seed(1)
    ort.disable_telemetry_events()
    texts = (ort.__version__, ort.get_version_string(), ort.get_build_info(), ort.get_device())
    return [isinstance(text, str) for text in texts], ort.has_collective_ops()


@snippet
def devices(ort):
    device = ort.OrtDevice.make("cpu", 0)
    return device.device_type(), device.device_id(), device.device_mem_type()


@snippet
def tuning_and_memory(ort):
    session = ort.InferenceSession(SUM)
    infos = session.get_input_memory_infos() + session.get_output_memory_infos()
    value = session.create_ortvalue_from_shape_and_type([2], np.float32, "cpu")
    return (
        [(info.name, info.device_id) for info in infos],
        *(len(session.get_input_epdevices()), value.shape(), value.data_type()),
    )


@pytest.fixture
def severity():
    """Tests of warnings in the same process need the default again."""
    yield
    scanloom.set_default_logger_severity(2)


@pytest.mark.usefixtures("severity")
@pytest.mark.parametrize("run", SNIPPETS, ids=lambda run: run.__name__)
def test_both_give_the_same(run):
    assert plain(run(scanloom)) == plain(run(onnxruntime))


@pytest.mark.parametrize("name", CLASSES)
def test_classes_have_every_attribute(name):
    ours, theirs = getattr(scanloom, name), getattr(onnxruntime, name)
    holder = ours() if name in ("SessionOptions", "RunOptions") else ours
    missing = public(theirs) - public(holder)
    # Members of pybind11's enumerations know their name and value as ours do.
    assert missing - {"name", "value"} <= {"create_v2"}, missing


def test_the_module_has_every_name():
    absent = set().union(*ABSENT.values())
    # Attributes only in a process that has imported these packages.
    theirs = public(onnxruntime) - {"quantization", "tools", "transformers"}
    assert theirs - public(scanloom) == absent
    assert absent <= theirs


def test_error_classes_need_no_import_of_their_own():
    program = "import {0}; print({0}.capi.onnxruntime_pybind11_state.NoSuchFile.__name__)"
    for ort in (onnxruntime, scanloom):
        text = program.format(ort.__name__)
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_profiles_are_written_where_they_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for ort in (onnxruntime, scanloom):
        options = ort.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = ort.__name__
        session = ort.InferenceSession(SUM, options)
        session.run(None, feeds())
        session.run(None, feeds())
        assert session.get_profiling_start_time_ns() > 0
        path = pathlib.Path(session.end_profiling())
        assert path.name.startswith(ort.__name__) and path.suffix == ".json"
        events = json.loads(path.read_text())
        assert {"Session", "Node"} <= {event["cat"] for event in events}
        for event in events:
            if event["cat"] == "Node":
                assert event["dur"] >= 0 and event["args"]["op_name"]
        runs = [event for event in events if event["name"] == "model_run"]
        assert len(runs) == 2 and all(event["ph"] == "X" for event in runs)
    assert scanloom.InferenceSession(SUM).end_profiling() == ""


def test_what_has_no_meaning_is_noted():
    options = scanloom.SessionOptions()
    options.register_custom_ops_library("ops.so")
    options.add_provider("CUDAExecutionProvider", {})
    options.add_free_dimension_override_by_denotation("BATCH", 2)
    options.set_provider_selection_policy(scanloom.OrtExecutionProviderDevicePolicy.PREFER_NPU)
    session = scanloom.InferenceSession(FIXED, options, disabled_optimizers=["x"])
    session.set_providers(["DmlExecutionProvider"], [{"device_id": 1}])
    run = scanloom.RunOptions()
    run.only_execute_path_to_fetches = True
    run.add_run_config_entry("gpu_graph_id", "1")
    for _ in range(2):
        session.run(None, {"x": np.ones((2, 3), np.float32)}, run)
    warnings = session.warnings()
    for words in (
        *("ops.so", "CUDAExecutionProvider", "BATCH", "policy", "disabled_optimizers"),
        *("DmlExecutionProvider", "provider_options", "only_execute_path_to_fetches"),
        "'gpu_graph_id' = '1'",
    ):
        assert sum(words in warning for warning in warnings) == 1, (words, warnings)


def test_what_would_change_results_is_refused():
    options = scanloom.SessionOptions()
    for call in (
        lambda: options.add_initializer("w", None),
        lambda: options.add_external_initializers(["w"], [None]),
        lambda: options.add_external_initializers_from_files_in_memory(["w"], [b""], [0]),
        lambda: scanloom.RunOptions().add_active_adapter(None),
        lambda: scanloom.OrtValue.ort_value_from_sparse_tensor(None),
    ):
        with pytest.raises(scanloom.Unsupported):
            call()
    options.set_load_cancellation_flag(True)
    with pytest.raises(scanloom.Cancelled):
        scanloom.InferenceSession(FIXED, options)


class Exporter:
    """Speaks DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_feeds_may_speak_dlpack_alone():
    session = scanloom.InferenceSession(SUM)
    given = feeds()
    expected = session.run(None, given)
    strided = np.asfortranarray(given["x"])
    results = session.run(None, {"x": Exporter(strided), "h0": Exporter(given["h0"])})
    for result, right in zip(results, expected):
        np.testing.assert_array_equal(result, right)
    with pytest.raises(scanloom.InvalidArgument, match="'x'.*DLPack"):
        session.run(None, {**given, "x": Exporter(np.array(["text"]))})


@pytest.mark.parametrize(
    "dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2fnuz]
)
def test_dlpack_knows_small_floats(dtype):
    array = np.array([[1, -2, 0.5]]).astype(dtype)
    value = scanloom.OrtValue.ortvalue_from_numpy(array)
    again = scanloom.OrtValue.from_dlpack(value)
    assert again.numpy().dtype == dtype and again.data_ptr() == array.ctypes.data
    np.testing.assert_array_equal(again.numpy().view(np.uint8), array.view(np.uint8))
    if dtype is ml_dtypes.bfloat16:
        (y,) = scanloom.InferenceSession(HALVES).run(None, {"x": Exporter(value)} | {"x": array[0]})
        np.testing.assert_array_equal(y, array[0])


def test_booleans_come_through_dlpack():
    truth = np.array([True, False])
    for source in (truth, scanloom.OrtValue.ortvalue_from_numpy(truth), truth.__dlpack__()):
        value = scanloom.OrtValue.from_dlpack(source)
        assert value.data_type() == "tensor(bool)" and value.numpy().tolist() == [True, False]


def test_values_are_copied_one_by_one():
    source = scanloom.OrtValue.ortvalue_from_numpy(np.arange(3, dtype=np.float32))
    target = scanloom.OrtValue.ortvalue_from_shape_and_type([3], np.float32)
    scanloom.copy_tensors([source], [target])
    assert target.numpy().tolist() == [0, 1, 2]
    with pytest.raises(scanloom.InvalidArgument, match="1 sources and 0 destinations"):
        scanloom.copy_tensors([source], [])


def test_dlpack_refuses_packed_types():
    value = scanloom.OrtValue.ortvalue_from_numpy(np.zeros(3, ml_dtypes.int4))
    with pytest.raises(scanloom.Unsupported, match="int4"):
        value.__dlpack__()


def test_memory_that_dlpack_gives_stays():
    value = scanloom.OrtValue.from_dlpack(np.arange(1000, dtype=np.float64))
    np.testing.assert_array_equal(value.numpy(), np.arange(1000))
    taken = np.from_dlpack(scanloom.OrtValue.ortvalue_from_numpy(np.arange(1000)))
    np.testing.assert_array_equal(taken, np.arange(1000))


def test_values_that_may_only_be_read_stay_as_they_are():
    array = np.zeros(3, np.float32)
    array.flags.writeable = False
    value = scanloom.OrtValue.ortvalue_from_numpy(array)
    with pytest.raises(scanloom.InvalidArgument, match="read-only memory"):
        value.update_inplace(np.ones(3, np.float32))
    assert array.tolist() == [0, 0, 0]


def test_outputs_that_do_not_fit_are_refused_before_one_is_written():
    session = scanloom.InferenceSession(SUM)
    binding = session.io_binding()
    for name, array in feeds().items():
        binding.bind_cpu_input(name, array)
    h = scanloom.OrtValue.ortvalue_from_shape_and_type([3], np.float32)
    binding.bind_ortvalue_output("h", h)
    binding.bind_ortvalue_output("y", scanloom.OrtValue.ortvalue_from_shape_and_type([9], "f4"))
    with pytest.raises(scanloom.InvalidArgument, match=r"'y' is float32\[9\].*float32\[4, 3\]"):
        session.run_with_iobinding(binding)
    assert h.numpy().tolist() == [0, 0, 0]
