"""scanloom.convert: what may be converted, names and types that stay, states, mistakes."""

import os
import pathlib

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import converted
import openvino_ir
import scanloom
import scanloom.tensor as T


def save(graph, path, opset=18, ir_version=9):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)
    onnx.save(model, path)
    return model


def info(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def doubled(path):
    nodes = [helper.make_node("Add", ["x", "x"], ["sum"], name="add_them"),
             helper.make_node("Relu", ["sum"], ["y"], name="cut")]  # fmt: skip
    return save(helper.make_graph(nodes, "doubled", [info("x", ["batch", 3])], [info("y", ["batch", 3])]), path)


def read(path):
    onnx.checker.check_model(str(path), full_check=True)
    return onnx.load(path)


def test_names_and_sizes_stay(tmp_path):
    doubled(tmp_path / "in.onnx")
    scanloom.convert(tmp_path / "in.onnx", tmp_path / "out.onnx")
    graph = read(tmp_path / "out.onnx").graph
    assert graph.name == "doubled"
    assert [value.name for value in (*graph.input, *graph.output)] == ["x", "y"]
    for value in (*graph.input, *graph.output):
        sizes = value.type.tensor_type.shape.dim
        assert (sizes[0].dim_param, sizes[1].dim_value) == ("batch", 3)
    assert [node.name for node in graph.node][:2] == ["add_them", "cut"]


def test_what_is_converted(tmp_path):
    """A path, bytes, a ModelProto, a function, a saved function."""
    model = doubled(tmp_path / "in.onnx")
    x = T.matrix("x", dtype="float32")
    function = scanloom.function([x], T.maximum(x + x, 0))
    function.save(tmp_path / "f.scanloom")
    value = np.array([[1, -2, 3]], np.float32)
    sources = (str(tmp_path / "in.onnx"), model.SerializeToString(), model, function, tmp_path / "f.scanloom")
    for source in sources:
        scanloom.convert(source, tmp_path / "out.onnx")
        read(tmp_path / "out.onnx")
        (found,) = scanloom.InferenceSession(tmp_path / "out.onnx").run(None, {"x": value})
        assert found.tolist() == [[2, 0, 6]]


def test_outputs_that_are_inputs_or_the_same(tmp_path):
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])], "same", [info("x", [2])],
        [info("x", [2]), info("y", [2])])  # fmt: skip
    save(graph, tmp_path / "in.onnx")
    scanloom.convert(tmp_path / "in.onnx", tmp_path / "out.onnx")
    read(tmp_path / "out.onnx")
    session = scanloom.InferenceSession(tmp_path / "out.onnx")
    assert [value.name for value in session.get_outputs()] == ["x", "y"]
    assert [found.tolist() for found in session.run(None, {"x": np.ones(2, np.float32)})] == [[1, 1]] * 2


def test_defaults_are_fed_on_request(tmp_path):
    start = numpy_helper.from_array(np.ones(2, np.float32), "start")
    graph = helper.make_graph([helper.make_node("Add", ["x", "start"], ["y"])], "g",
                              [info("x", [2]), info("start", [2])], [info("y", [2])], [start])  # fmt: skip
    save(graph, tmp_path / "in.onnx")
    scanloom.convert(tmp_path / "in.onnx", tmp_path / "out.onnx")
    assert [value.name for value in read(tmp_path / "out.onnx").graph.input] == ["x"]
    options = scanloom.SessionOptions(fed_defaults=["start"])
    scanloom.convert(tmp_path / "in.onnx", tmp_path / "out.onnx", options=options)
    assert sorted(value.name for value in read(tmp_path / "out.onnx").graph.input) == ["start", "x"]


@pytest.mark.parametrize("computed", [False, True])
def test_states_are_inputs_and_outputs(tmp_path, computed):
    """Fed back by hand they give what a stream gives; `computed`: their first values are, too."""
    graph = openvino_ir.Graph()
    x = graph.parameter("x", "float32", [2])
    first = graph.add("Multiply", [x, x]) if computed else graph.constant(np.zeros(2, np.float32))
    before = graph.add("ReadValue", [first], version=6, variable_id="total", variable_type="f32",
                       variable_shape="2")  # fmt: skip
    after = graph.add("Add", [before, x])
    graph.add("Assign", [after], version=6, variable_id="total")
    graph.result(after, "sums")
    path = graph.save(tmp_path)
    scanloom.convert(path, tmp_path / "out.onnx")
    names = [value.name for value in read(tmp_path / "out.onnx").graph.input]
    assert names == ["x", "total", *(["total/kept"] if computed else [])]
    stream = scanloom.InferenceSession(path).stream()
    for runner in (scanloom, onnxruntime):
        session = runner.InferenceSession(str(tmp_path / "out.onnx"))
        state = np.zeros(2, np.float32)
        stream.reset_state()
        for step in range(3):
            value = np.array([step + 1, 10], np.float32)
            fed = {"x": value, "total": state, "total/kept": np.array(step > 0)}
            sums, state = session.run(None, {name: fed[name] for name in names})
            assert np.array_equal(sums, stream.push({"x": value}))
            assert np.array_equal(sums, state)
        assert session.get_outputs()[1].name == "total (next)"


def test_element_types_that_onnx_has_not(tmp_path):
    graph = openvino_ir.Graph()
    layer = graph.add("Const", (), 1, 1, "narrow", "FP32", element_type="nf4", shape="2", offset=0, size=1)
    graph.weights += b"\x10"
    graph.result(graph.add("Convert", [layer], 1, 1, "wide", destination_type="f32"))
    path = graph.save(tmp_path)
    x = graph.parameter("x", "float32", [2])
    graph.result(graph.add("Convert", [graph.add("Convert", [x], 1, 1, "narrowed", destination_type="nf4")], 1, 1,
                           "again", destination_type="f32"))  # fmt: skip
    path = graph.save(tmp_path)
    with pytest.raises(scanloom.Unsupported, match="narrowed.*ONNX has no elements of type nf4"):
        scanloom.convert(path, tmp_path / "out.onnx")
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize(
    ("dtype", "opset"),
    [(TensorProto.FLOAT, 18), (TensorProto.FLOAT8E5M2, 19), (TensorProto.INT4, 21), (TensorProto.FLOAT4E2M1, 23)],
)
def test_the_version_is_the_lowest_that_has_the_types(tmp_path, dtype, opset):
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=dtype)], "g", [info("x", [3])],
                              [info("y", [3], dtype)])  # fmt: skip
    save(graph, tmp_path / "in.onnx", 25, 13)
    scanloom.convert(tmp_path / "in.onnx", tmp_path / "out.onnx")
    assert read(tmp_path / "out.onnx").opset_import[0].version == opset


def test_constants_of_few_bits(tmp_path):
    """Two in a byte, an odd number of them."""
    values = np.array([1, -2, 7], np.int8)
    packed = helper.make_tensor("w", TensorProto.INT4, [3], values)
    graph = helper.make_graph([helper.make_node("Cast", ["w"], ["wide"], to=TensorProto.FLOAT),
                               helper.make_node("Add", ["x", "wide"], ["y"])], "g", [info("x", [3])],
                              [info("y", [3])], [packed])  # fmt: skip
    save(graph, tmp_path / "in.onnx", 21, 10)
    scanloom.convert(tmp_path / "in.onnx", tmp_path / "out.onnx")
    read(tmp_path / "out.onnx")
    for runner in (scanloom, onnxruntime):
        (found,) = runner.InferenceSession(str(tmp_path / "out.onnx")).run(None, {"x": np.zeros(3, np.float32)})
        assert found.tolist() == [1, -2, 7]


def test_large_constants_are_written_once(tmp_path):
    """A constant that two bodies read is stored once: in the main graph, or in the file next to the
    model."""
    weights = scanloom.shared(np.arange(4096, dtype=np.float64).reshape(64, 64) / 1e4, "w")
    x = T.matrix("x")
    rows, _ = scanloom.scan(lambda row: T.tanh(T.dot(row, weights)) @ weights, sequences=x)
    function = scanloom.function([x], rows)
    value = np.random.default_rng(1).standard_normal((5, 64))
    (wanted,) = [function(value)]
    for external in (False, True):
        function.to_onnx(tmp_path / "f.onnx", external_data=external)
        assert os.path.getsize(tmp_path / "f.onnx") < (4096 * 8 + 4000 if not external else 4000)
        onnx.checker.check_model(str(tmp_path / "f.onnx"), full_check=True)
        for runner in (scanloom, onnxruntime):
            session = runner.InferenceSession(str(tmp_path / "f.onnx"))
            converted.compare(session.run(None, {"x": value}), [wanted], 1e-12, "again")
    assert os.path.getsize(tmp_path / "f.onnx.data") == 4096 * 8


def test_updated_variables_are_states_of_an_ir(tmp_path):
    """A program that learns goes on from where it was written, in a stream and in OpenVINO."""
    rng = np.random.default_rng(7)
    weights = scanloom.shared(rng.standard_normal((3, 4)).astype(np.float32), "w")
    seen = scanloom.shared(np.zeros((0, 4), np.float32), "seen")
    x, h0 = T.matrix("x", dtype="float32"), T.vector("h0", dtype="float32")
    states, _ = scanloom.scan(lambda row, h: T.tanh(T.dot(row, weights) + h), x, h0)
    cost = (states**2).mean() + seen.sum()
    updates = [
        (weights, weights - 0.1 * T.grad(cost, weights)),
        (seen, T.concatenate([seen, states[-1:]])),
    ]
    learn = scanloom.function([x, h0], cost, updates=updates)
    feeds = {"x": rng.standard_normal((6, 3)).astype(np.float32), "h0": np.zeros(4, np.float32)}
    learn(*feeds.values())
    path = tmp_path / "learn.xml"
    learn.to_openvino(path)
    session = scanloom.InferenceSession(path)
    stream = session.stream()
    assert sorted(state.name for state in session.get_states()) == ["seen", "w"]
    streamed = [float(stream.push(feeds)) for _ in range(3)]
    openvino = pytest.importorskip("openvino")
    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    inferred = [float(request.infer(feeds)[0]) for _ in range(3)]
    called = [float(learn(*feeds.values())) for _ in range(3)]
    assert streamed == called
    np.testing.assert_allclose(inferred, called, rtol=1e-5)
    np.testing.assert_array_equal(stream.get("w"), weights.get_value())


def test_names_of_tensors_stay_in_irs(tmp_path):
    """An IR's tensors may have several names, others than their layers: OpenVINO finds all of them."""
    openvino = pytest.importorskip("openvino")
    opset = openvino.opset15
    x = opset.parameter([-1, 2], openvino.Type.f32, name="layer of x")
    x.output(0).set_names({"x", "x, too"})
    y = opset.relu(x)
    y.output(0).set_names({"y", "out:0"})
    openvino.save_model(openvino.Model([opset.result(y)], [x], "m"), tmp_path / "in.xml")
    scanloom.convert(tmp_path / "in.xml", tmp_path / "out.xml")
    model = openvino.Core().read_model(tmp_path / "out.xml")
    assert model.inputs[0].get_names() == {"x", "x, too"}
    assert model.inputs[0].get_node().get_friendly_name() == "layer of x"
    assert model.outputs[0].get_names() == {"y", "out:0"}
    session = scanloom.InferenceSession(tmp_path / "out.xml")
    assert [end.name for end in session.get_inputs()] == ["layer of x"]
    (found,) = session.run(["y"], {"x, too": np.float32([[-1, 2]])})
    assert found.tolist() == [[0, 2]]


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_texts_pass_through_irs(tmp_path, shape):
    openvino = pytest.importorskip("openvino")
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Identity", ["x"], ["z"])],
        "texts", [info("x", shape, TensorProto.STRING)],
        [info(name, shape, TensorProto.STRING) for name in ("y", "z")],
    )  # fmt: skip
    save(graph, tmp_path / "in.onnx")
    scanloom.convert(tmp_path / "in.onnx", tmp_path / "out.xml")
    texts = np.array(["", "a", "b\xfc", "c"][-int(np.prod(shape)) :]).reshape(shape)
    for found in scanloom.InferenceSession(tmp_path / "out.xml").run(None, {"x": texts.astype(object)}):
        assert found.tolist() == texts.tolist()
    compiled = openvino.Core().compile_model(tmp_path / "out.xml", "CPU")
    results = compiled.create_infer_request().infer({"x": texts})
    for name in ("y", "z"):
        assert results[compiled.output(name)].tolist() == texts.tolist()


def test_mistakes(tmp_path):
    doubled(tmp_path / "in.onnx")
    with pytest.raises(scanloom.InvalidArgument, match="in neither .onnx nor .xml"):
        scanloom.convert(tmp_path / "in.onnx", tmp_path / "out.pb")
    with pytest.raises(scanloom.InvalidArgument, match="belongs to the model being read"):
        scanloom.convert(tmp_path / "in.onnx", tmp_path / "in.onnx")
    with pytest.raises(scanloom.FileNotWritten, match="no such/out.onnx' cannot be written"):
        scanloom.convert(tmp_path / "in.onnx", tmp_path / "no such" / "out.onnx")
    with pytest.raises(scanloom.NotFound):
        scanloom.convert(tmp_path / "none.onnx", tmp_path / "out.onnx")
    with pytest.raises(scanloom.InvalidArgument, match="a model must be a path, bytes"):
        scanloom.convert(3, tmp_path / "out.onnx")
    with pytest.raises(scanloom.InvalidArgument, match="not scanloom.SessionOptions"):
        scanloom.convert(tmp_path / "in.onnx", tmp_path / "out.onnx", options=1)
    with pytest.raises(scanloom.InvalidModel):
        scanloom.convert(b"no model", tmp_path / "out.onnx")
    with pytest.raises(scanloom.InvalidArgument, match="external data is an option of ONNX models.*out.xml"):
        scanloom.convert(tmp_path / "in.onnx", tmp_path / "out.xml", external_data=True)
    x = T.vector("x")
    with pytest.raises(scanloom.InvalidArgument, match="external data is an option of ONNX models.*out.xml"):
        scanloom.convert(scanloom.function([x], x * 2), tmp_path / "out.xml", external_data=True)
    with pytest.raises(scanloom.InvalidArgument, match="in neither .onnx nor .xml"):
        scanloom.convert(scanloom.function([x], x * 2), tmp_path / "out.txt")
    assert sorted(path.name for path in pathlib.Path(tmp_path).iterdir()) == ["in.onnx"]


def test_external_data_of_the_source_is_not_replaced(tmp_path):
    """Whatever its file is called, and although a model of the other name is there."""
    weights = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [info("x", ["n", 64])],
                              [info("y", ["n", 64])], [weights])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    for data, to in (("a.bin", "a.xml"), ("b.onnx.data", "b.onnx")):
        copy = onnx.load_from_string(model.SerializeToString())
        onnx.save(copy, tmp_path / "a.onnx", save_as_external_data=True, location=data)
        (tmp_path / to).touch()
        before = (tmp_path / data).read_bytes()
        with pytest.raises(scanloom.InvalidArgument, match=f"{data}' belongs to the model being read"):
            scanloom.convert(tmp_path / "a.onnx", tmp_path / to, external_data=to.endswith(".onnx"))
        assert (tmp_path / data).read_bytes() == before
        (tmp_path / data).unlink()


def nested_branches(depth):
    """Builds branches in which the first operation of each region is another branch, where x is
    negated."""
    graph = openvino_ir.Graph()
    c, x = graph.parameter("c", "bool", []), graph.parameter("x", "float32", [2])

    def inside(outer, c, x, left):
        if left == 0:
            return outer.add("Negative", [x])
        sides = []
        for at in range(2):
            side = outer.body()
            inner = side.parameter("c", "bool", []), side.parameter("x", "float32", [2])
            made = inside(side, *inner, left - 1) if at == 0 else side.add("Abs", [inner[1]])
            ports = [{"kind": "input", "port": i, "layer": one.layer} for i, one in enumerate(inner)]
            sides.append((side, [*ports, {"kind": "output", "port": 0, "layer": side.result(made)}]))
        return outer.branch([c, x], 1, sides)

    graph.result(inside(graph, c, x, depth))
    return graph


def test_bodies_are_nested_so_deep_and_no_deeper(tmp_path):
    feeds = {"c": np.array(True), "x": np.float32([1, 2])}
    for depth, to in ((60, "out.xml"), (61, "out.onnx")):
        scanloom.convert(nested_branches(depth).save(tmp_path), tmp_path / to)
        (found,) = scanloom.InferenceSession(tmp_path / to).run(None, feeds)
        assert found.tolist() == [-1, -2]
    with pytest.raises(scanloom.Unsupported, match="bodies are nested 61 deep, at most 60 are written"):
        scanloom.convert(nested_branches(61).save(tmp_path), tmp_path / "other.xml")


def test_unknown_numbers_of_axes_are_told(tmp_path):
    """OpenVINO's CPU plugin refuses branches whose results have any number of axes."""
    sides = [helper.make_graph([helper.make_node(kind, ["x"] + more, ["side"])], kind, [],
                               [helper.make_tensor_value_info("side", TensorProto.FLOAT, None)])
             for kind, more in (("Identity", []), ("Squeeze", []))]  # fmt: skip
    branch = helper.make_node("If", ["c"], ["y"], "pick", then_branch=sides[0], else_branch=sides[1])
    graph = helper.make_graph(
        [branch], "g", [info("c", [], TensorProto.BOOL), info("x", ["n", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )  # fmt: skip
    save(graph, tmp_path / "in.onnx")
    with pytest.warns(UserWarning, match="whose results have unknown rank: .*'pick'"):
        scanloom.convert(tmp_path / "in.onnx", tmp_path / "out.xml")


@pytest.mark.parametrize(
    ("window", "rest", "slices"),
    [({"start": 0, "end": -1}, "the last 1 of 5 elements of axis 0", [0, 1, 2, 3]),
     ({"start": 1, "end": 3}, "the last 1 of 3 elements from 1 to 3 of axis 0", [1, 2]),
     ({"start": -1, "end": 2, "stride": -2}, "the last 1 of 3 elements from -1 to 2 of axis 0", [3, 4])],
)  # fmt: skip
def test_warnings_of_reading_are_shown(tmp_path, window, rest, slices):
    graph = openvino_ir.Graph()
    x = graph.parameter("x", "float32", [5])
    body = graph.body()
    part = body.parameter("part", "float32", [2])
    row = body.result(body.add("Add", [part, part]))
    loop = graph.loop("TensorIterator", body, [x], 1, [
        {"kind": "input", "port": 0, "layer": part.layer, "axis": 0, "stride": 2, "part_size": 2} | window,
        {"kind": "output", "port": 0, "layer": row, "axis": 0}])  # fmt: skip
    graph.result(loop)
    path = graph.save(tmp_path)
    with pytest.warns(UserWarning, match=f"{rest} do not fill a slice of 2") as warned:
        scanloom.convert(path, tmp_path / "out.onnx")
    assert len(warned) == 1
    (found,) = scanloom.InferenceSession(tmp_path / "out.onnx").run(None, {"x": np.arange(5, dtype=np.float32)})
    assert found.tolist() == [2 * at for at in slices]


def stepped(tmp_path) -> str:
    """If `double`, twice the sums of x, else x as one row: of another number of axes."""
    graph = openvino_ir.Graph()
    double = graph.parameter("double", "bool", [])
    x = graph.parameter("x", "float32", [-1, -1])
    then, other = graph.body(), graph.body()
    inner = then.parameter("x", "float32", [-1, -1])
    total = then.add("ReduceSum", [inner, then.constant(np.array([0]))], keep_dims=False)
    doubled = then.result(then.add("Add", [total, total]))
    same = other.parameter("x", "float32", [-1, -1])
    untouched = other.result(other.add("Abs", [same]))
    port = graph.branch([double, x], 1, [
        (then, [{"kind": "input", "port": 1, "layer": inner.layer}, {"kind": "output", "port": 0, "layer": doubled}]),
        (other, [{"kind": "input", "port": 1, "layer": same.layer}, {"kind": "output", "port": 0, "layer": untouched}]),
    ])  # fmt: skip
    graph.result(port, "y")
    return graph.save(tmp_path)


@pytest.mark.parametrize("extension", [".onnx", ".xml"])
def test_sizes_and_values(tmp_path, extension):
    """Values are no inputs of what is written, and branches that they decide are gone."""
    source, target = stepped(tmp_path), tmp_path / f"fixed{extension}"
    scanloom.convert(source, target, sizes={"x": [None, 3]}, values={"double": True})
    session = scanloom.InferenceSession(target)
    assert [(end.name, end.shape[1]) for end in session.get_inputs()] == [("x", 3)]
    assert session.get_outputs()[0].shape == [3]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (y,) = session.run(None, {"x": x})
    assert y.tolist() == [6, 10, 14]
    if extension == ".xml":
        openvino = pytest.importorskip("openvino")
        compiled = openvino.Core().compile_model(target, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        assert compiled({"x": x})[0].tolist() == [6, 10, 14]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [({"sizes": {"z": [1, 2]}}, scanloom.NotFound, "the model has no input 'z'"),
     ({"sizes": {"x": [1]}}, scanloom.InvalidArgument, r"input 'x' is f32\[.*\], but 1 sizes are given for it"),
     ({"values": {"double": np.float32(1)}}, scanloom.InvalidArgument, r"input 'double' is boolean\[\], the value for it f32"),
     ({"values": {"x": np.zeros(3, "f")}}, scanloom.InvalidArgument, "but 1 sizes are given for it")],
)  # fmt: skip
def test_sizes_and_values_that_do_not_fit(tmp_path, arguments, error, words):
    with pytest.raises(error, match=words):
        scanloom.convert(stepped(tmp_path), tmp_path / "fixed.onnx", **arguments)
    assert not (tmp_path / "fixed.onnx").exists()


def test_silero_vad_with_fixed_inputs(shared, tmp_path):
    """Its branch on the sample rate leaves open how many axes there are, which OpenVINO does not run."""
    openvino = pytest.importorskip("openvino")
    path, target = shared / "silero_vad.onnx", tmp_path / "vad.xml"
    scanloom.convert(path, target, sizes={"input": [1, 512], "state": [2, 1, 128]}, values={"sr": 16000})
    rng = np.random.default_rng(5)
    feeds = {"input": rng.normal(size=(1, 512)).astype("f"), "state": rng.normal(size=(2, 1, 128)).astype("f")}
    wanted = scanloom.InferenceSession(path).run(None, feeds | {"sr": np.array(16000)})
    compiled = openvino.Core().compile_model(target, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    for one, other in zip(wanted, compiled(feeds).values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("extension", [".onnx", ".xml"])
def test_outputs_that_are_inputs_keep_their_names(tmp_path, extension):
    graph = openvino_ir.Graph()
    x = graph.parameter("x", "float32", [2])
    graph.result(x)
    graph.result(graph.add("Abs", [x], name="y"))
    target = tmp_path / f"same{extension}"
    scanloom.convert(graph.save(tmp_path), target)
    session = scanloom.InferenceSession(target)
    assert [end.name for end in session.get_outputs()] == ["x", "y"]
    value = np.float32([-1, 2])
    assert [y.tolist() for y in session.run(None, {"x": value})] == [[-1, 2], [1, 2]]
    if extension == ".xml":
        openvino = pytest.importorskip("openvino")
        model = openvino.Core().read_model(target)
        assert [port.get_any_name() for port in model.outputs] == ["x", "y"]
