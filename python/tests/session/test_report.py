"""The data of reports, the programs that they show, and names that try to become more than text."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import tempfile
import webbrowser

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from places import PROJECT

import new_process
import scanloom
import scanloom.tensor as T

LIBRARY = PROJECT / "build" / "release" / "lib"
HOSTILE = "</script><script>alert(1)</script><!--\u2028\"'\\\n&amp;\U0001f600"


def has_page() -> bool:
    try:
        return bool(scanloom.Report("{}").html)
    except scanloom.Unsupported:
        return False


needs_page = pytest.mark.skipif(
    not has_page(), reason="this build has no page of reports: node-d3 or netron was missing")


def tensor(name: str, shape: list, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def sums_model(path: pathlib.Path, name: str = "x") -> pathlib.Path:
    """y[t] = x[0] + ... + x[t]; `name` names the input, the loop and the graph."""
    body = helper.make_graph(
        [helper.make_node("Add", ["before", "row"], ["after"], name="add up"),
         helper.make_node("Identity", ["after"], ["y_row"])],
        "body", [tensor("before", [2]), tensor("row", [2])],
        [tensor("after", [2]), tensor("y_row", [2])])
    scan = helper.make_node("Scan", ["start", name], ["last", "y"], name=name, num_scan_inputs=1, body=body)
    graph = helper.make_graph(
        [scan], name, [tensor("start", [2]), tensor(name, ["T", 2])],
        [tensor("last", [2]), tensor("y", ["T", 2])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8), path)
    return path


@pytest.fixture
def session(tmp_path: pathlib.Path) -> scanloom.InferenceSession:
    return scanloom.InferenceSession(sums_model(tmp_path / "sums.onnx"))


def feeds(steps: int = 50) -> dict[str, np.ndarray]:
    return {"start": np.zeros(2, np.float32), "x": np.ones((steps, 2), np.float32)}


def output_of_cpp(program: str, folder: pathlib.Path) -> str:
    (folder / "main.cpp").write_text(program, encoding="utf-8")
    build = subprocess.run(
        ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{PROJECT / 'include'}", "main.cpp",
         f"-L{LIBRARY}", "-lscanloom", f"-Wl,-rpath,{LIBRARY}", "-o", "main"],
        capture_output=True, text=True, cwd=folder)
    assert build.returncode == 0, build.stderr
    answer = subprocess.run(["./main"], capture_output=True, text=True, cwd=folder)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def page_data(html: str) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.S)[1])


def test_data_of_a_run(session: scanloom.InferenceSession) -> None:
    data = session.report(feeds()).data
    assert (data["title"], data["run"]["steps"], data["fed"]) == ("sums.onnx", 50, [[2], [50, 2]])
    (loop,) = data["loops"]
    assert loop["steps"] == 50 and loop["strategy"] and loop["advice"]
    assert loop["measured"]["steps"] == 50  # of the fastest run
    assert loop["measured"]["seconds_per_step"] > 0
    node = next(each for each in data["nodes"] if each["id"] == loop["node"])
    assert {"carried", "scanned", "stacked"} <= {port["kind"] for port in node["ports"]}
    assert data["run"]["fastest_seconds"] > 0
    row = data["run"]["rows"][0]
    assert row["nodes"] == [loop["node"]] and row["seconds"] <= data["run"]["seconds"]
    assert [state["name"] for state in data["stream"]["states"]] == ["start"]


def test_every_reference_of_the_data_exists(session: scanloom.InferenceSession) -> None:
    data = session.report(feeds()).data
    nodes = {node["id"] for node in data["nodes"]}
    values = {value["id"] for value in data["values"]}
    regions = {region["id"] for region in data["regions"]}
    for node in data["nodes"]:
        assert set(node["in"]) <= values | {-1} and set(node["out"]) <= values
        assert set(node.get("regions", [])) <= regions
    for region in data["regions"]:
        assert set(region["nodes"]) <= nodes and set(region["args"] + region["yields"]) <= values
    assert {int(node) for node in data["executions"]} <= nodes
    memory = data["memory"]
    for buffer in memory["buffers"]:
        assert 0 <= buffer["born"] <= buffer["dies"] < memory["moments"]
        assert buffer["offset"] + buffer["bytes"] <= memory["arena"]


def test_nothing_runs_without_feeds(session: scanloom.InferenceSession) -> None:
    data = session.report().data
    assert (data["run"], data["memory"], data["executions"], data["loops"]) == (None, None, None, [])
    session.run(None, feeds(7))
    data = session.report().data
    assert data["run"] is None and data["loops"][0]["steps"] == 7 and data["memory"]["arena"] >= 0


def test_a_report_of_a_stream_says_what_it_keeps(session: scanloom.InferenceSession) -> None:
    stream = session.stream()
    data = stream.report().data
    assert (data["title"], data["stream"]["kept"], data["run"]) == ("sums.onnx", [None], None)
    stream.push(feeds(7))
    data = stream.report(title="after a push").data
    assert (data["title"], data["stream"]["kept"]) == ("after a push", [[2]])
    assert data["loops"][0]["steps"] == 7 and data["executions"]
    stream.reset()
    assert stream.report().data["stream"]["kept"] == [None]
    with pytest.raises(scanloom.InvalidType, match="the title of a report must be a string, not 3"):
        stream.report(title=3)  # type: ignore[arg-type]


def test_named_states_of_a_stream(session: scanloom.InferenceSession) -> None:
    stream = session.stream(states={"start": "last"})
    stream.push({"x": np.ones((3, 2), np.float32)})
    data = stream.report().data["stream"]
    assert data["named"] and [state["name"] for state in data["states"]] == ["start"]
    assert data["kept"] == [[2]]


def test_a_report_of_a_function_sets_no_variable() -> None:
    total = scanloom.shared(np.zeros(3), "total")
    x = T.dvector("x")
    f = scanloom.function([x], (x * total).sum(), updates=[(total, total + x)], name="add up")
    report = f.report([1.0, 2.0, 3.0])
    assert (total.get_value() == 0).all()
    assert report.data["title"] == "add up" and report.data["is_function"]
    assert [end["name"] for end in report.data["inputs"]] == ["x"]
    assert len(report.data["outputs"]) == 1
    assert "command" not in report.data["code"]
    with pytest.raises(scanloom.InvalidType):
        f.report(1.0, 2.0)


@pytest.mark.parametrize("runs", [-1, 1001])
def test_runs_are_limited(session: scanloom.InferenceSession, runs: int) -> None:
    with pytest.raises(scanloom.InvalidArgument, match=rf"{runs}, outside of \[0, 1000\]"):
        session.report(feeds(), runs=runs)


@pytest.mark.parametrize(
    "given, message",
    [({"title": 3}, "the title of a report must be a string, not 3"),
     ({"title": b"x"}, "must be a string, not b'x'"),
     ({"title": None}, "must be a string, not None"),
     ({"runs": "2"}, "the number of runs of a report must be an integer, not '2'"),
     ({"runs": 2.5}, "must be an integer, not 2.5"),
     ({"runs": True}, "must be an integer, not True"),
     ({"runs": None}, "must be an integer, not None")])
def test_arguments_of_the_wrong_type(session: scanloom.InferenceSession, given: dict, message: str) -> None:
    x = T.dvector("x")
    f = scanloom.function([x], x * 2)
    for report in (lambda: session.report(**given), lambda: session.report(feeds(), **given),
                   lambda: f.report([1.0], **given)):
        with pytest.raises(scanloom.InvalidType, match=re.escape(message)):
            report()


def test_unusual_arguments(session: scanloom.InferenceSession) -> None:
    assert session.report(title="\udc80").data["title"] == "\\udc80"
    assert session.report(feeds(), runs=np.int64(1)).data["loops"][0]["measured"]["steps"] == 50
    with pytest.raises(scanloom.InvalidArgument, match="runs of a report is 1000000000000000000000"):
        session.report(feeds(), runs=10**21)


def test_data_that_are_no_report(tmp_path: pathlib.Path, session: scanloom.InferenceSession) -> None:
    for text in (3, b"{}", None):
        with pytest.raises(scanloom.InvalidType, match="must be JSON in a string, not"):
            scanloom.Report(text)  # type: ignore[arg-type]
    for text in ("x", "[]"):
        with pytest.raises(scanloom.InvalidArgument, match="not JSON|not a JSON object"):
            scanloom.Report(text).data  # noqa: B018
    assert repr(scanloom.Report("{}")) == "<report of unknown data: save(path) and open() show it>"
    report = session.report()
    for path in (3, None, True):
        with pytest.raises(scanloom.InvalidType, match="the path of a report must be a path, not"):
            report.save(path)  # type: ignore[arg-type]
    with pytest.raises(scanloom.FileNotWritten, match="null byte"):
        report.save("a\0b.json")
    report.save(bytes(tmp_path / "report.json"))  # type: ignore[arg-type]
    assert json.loads((tmp_path / "report.json").read_text()) == report.data


def test_errors_are_those_of_a_run(session: scanloom.InferenceSession) -> None:
    with pytest.raises(scanloom.InvalidArgument, match="start"):
        session.report({"x": np.ones((3, 2), np.float32)})
    with pytest.raises(scanloom.LimitReached):
        session.report(feeds(), scanloom.RunOptions(max_steps=3))


def test_interpreted_runs_have_no_plan(tmp_path: pathlib.Path) -> None:
    model = sums_model(tmp_path / "sums.onnx")
    data = scanloom.InferenceSession(model, execution="interpreted").report(feeds()).data
    assert data["run"]["steps"] == 50 and data["run"]["rows"] == [] and data["executions"] is None


def test_the_program_in_python_runs(tmp_path: pathlib.Path, session: scanloom.InferenceSession) -> None:
    code = session.report(feeds()).data["code"]["python"]
    answer = new_process.answer_of(code, folder=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split("\n")[:2] == ["last (2,)", "y (50, 2)"]


def test_programs_with_a_hostile_name_run(tmp_path: pathlib.Path) -> None:
    model = sums_model(tmp_path / "sums.onnx", HOSTILE)
    code = scanloom.InferenceSession(model).report().data["code"]
    answer = new_process.answer_of(code["python"], folder=tmp_path)
    assert answer.returncode == 0, answer.stderr
    if not (LIBRARY / "libscanloom.so").exists():
        pytest.skip("needs build/release, which is not built")
    assert output_of_cpp(code["cpp"], tmp_path) == "last: 2 elements\ny: 2 elements\n"


def test_the_programs_of_a_function_load_it(tmp_path: pathlib.Path) -> None:
    x, n = T.dvector("x"), T.iscalar("n")
    f = scanloom.function([x, n], x * n)
    f.save(tmp_path / "function.scanloom")
    code = f.report([1.0, 2.0], 3).data["code"]
    answer = new_process.answer_of(code["python"], folder=tmp_path)
    assert "3." in answer.stdout and "6." in answer.stdout, answer.stderr
    if not (LIBRARY / "libscanloom.so").exists():
        pytest.skip("needs build/release, which is not built")
    assert output_of_cpp(code["cpp"], tmp_path) == "2 elements\n"


def names_of_report(ends: list[dict]) -> list[str]:
    return [end["name"] for end in ends]


def test_the_outputs_of_a_stream_are_those_of_its_pushes(session: scanloom.InferenceSession) -> None:
    assert names_of_report(session.stream().report().data["outputs"]) == ["last", "y"]
    named = session.stream(states={"start": "last"})
    assert names_of_report(named.report().data["outputs"]) == ["last", "y"]


def computed_start_model(path: pathlib.Path) -> pathlib.Path:
    """The sums of x, which begin with twice `before`."""
    model = onnx.load(sums_model(path))
    graph = model.graph
    graph.node.insert(0, helper.make_node("Add", ["before", "before"], ["start"], name="twice"))
    graph.input[0].name = "before"
    onnx.save(model, path)
    return path


def filter_ir(path: pathlib.Path) -> pathlib.Path:
    """One step of y = x + state, with a variable of OpenVINO."""
    import openvino
    from openvino import opset8 as ops
    from openvino.op.util import Variable, VariableInfo

    info = VariableInfo()
    info.data_shape, info.data_type, info.variable_id = openvino.PartialShape([2]), openvino.Type.f32, "sum"
    variable = Variable(info)
    x = ops.parameter([2], np.float32, name="x")
    x.output(0).tensor.names = {"x"}
    y = ops.add(x, ops.read_value(ops.constant(np.zeros(2, np.float32)), variable))
    y.output(0).tensor.names = {"y"}
    model = openvino.Model([ops.result(y)], [ops.assign(y, variable)], [x], "filter")
    openvino.save_model(model, path, compress_to_fp16=False)
    return path


def streams_of_every_kind(folder: pathlib.Path) -> list[scanloom.Stream]:
    """What loops carry, whose first value is fed or computed; states that are named by the session, by
    the model, or by the option low_latency."""
    sums = scanloom.InferenceSession(sums_model(folder / "sums.onnx", HOSTILE))
    computed = scanloom.InferenceSession(computed_start_model(folder / "computed.onnx"))
    own = scanloom.InferenceSession(filter_ir(folder / "filter.xml"))
    low_latency = scanloom.InferenceSession(folder / "computed.onnx", low_latency=True)
    return [sums.stream(), sums.stream(states={"start": "last"}), computed.stream(), own.stream(),
            low_latency.stream()]


def test_the_programs_of_a_stream_push_to_one(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("openvino", reason="openvino is not installed")
    for number, stream in enumerate(streams_of_every_kind(tmp_path)):
        code = stream.report().data["code"]
        assert sorted(code) == ["cpp", "python"]
        answer = new_process.answer_of(code["python"], folder=tmp_path)
        assert answer.returncode == 0, answer.stderr
        lines = answer.stdout.splitlines()
        assert lines[-1].startswith("2 y ") and len([line for line in lines if " y " in line]) == 3
        if number < 2 and (LIBRARY / "libscanloom.so").exists():  # compiling takes seconds
            assert output_of_cpp(code["cpp"], tmp_path) == 3 * "last: 2 elements\ny: 2 elements\n"


def test_the_programs_of_a_stream_feed_the_sizes_that_ran(session: scanloom.InferenceSession) -> None:
    stream = session.stream()
    stream.push(feeds(7))
    code = stream.report().data["code"]
    assert 'stream.set("start", numpy.zeros((2,), numpy.float32))' in code["python"]
    assert '"x": numpy.zeros((7, 2), numpy.float32)' in code["python"]
    assert "session.stream(states=" not in code["python"] and ".states" not in code["cpp"]
    code = session.stream(states={"start": "last"}).report().data["code"]
    assert 'session.stream(states={"start": "last"})' in code["python"]
    assert '{.states = {{"start", "last"}}}' in code["cpp"]


@needs_page
def test_hostile_names_stay_text(tmp_path: pathlib.Path) -> None:
    model = sums_model(tmp_path / "sums.onnx", HOSTILE)
    report = scanloom.InferenceSession(model).report(title=HOSTILE)
    assert report.data["title"] == HOSTILE
    html = report.html
    assert html.count("</script>") == scanloom.InferenceSession(
        sums_model(tmp_path / "plain.onnx")).report().html.count("</script>")
    assert "alert(1)</script>" not in html
    assert page_data(html) == report.data
    frame = report._repr_html_()
    assert frame is not None
    assert frame.count("<") == 2 and frame.count('"') == 10 and 'sandbox="allow-scripts"' in frame


@needs_page
def test_a_notebook_shows_sessions_and_functions(session: scanloom.InferenceSession) -> None:
    x = T.dvector("x")
    f = scanloom.function([x], x * 2, name="double")
    for shown in (session, f, session.stream(), session.report()):
        frame = shown._repr_html_()
        assert frame is not None and frame.startswith("<iframe sandbox=")


@needs_page
def test_pages_of_foreign_data() -> None:
    text = '{"title": "</script><script>alert(1)</script>"}'
    assert "<script>alert" not in scanloom.Report(text).html
    with pytest.raises(scanloom.InvalidArgument, match="JSON"):
        scanloom.Report("</script>").html  # noqa: B018


@needs_page
def test_files(tmp_path: pathlib.Path, session: scanloom.InferenceSession) -> None:
    report = session.report()
    report.save(tmp_path / "report.html")
    report.save(tmp_path / "report.json")
    report.save(tmp_path / "data.JSON")
    assert json.loads((tmp_path / "data.JSON").read_text()) == report.data
    assert page_data((tmp_path / "report.html").read_text()) == report.data
    assert json.loads((tmp_path / "report.json").read_text()) == report.data
    with pytest.raises(scanloom.FolderNotFound):
        report.save(tmp_path / "absent" / "report.html")
    assert str(tmp_path) not in report.html  # folders are nobody else's business


@needs_page
def test_the_page_opens_from_any_folder(
    tmp_path: pathlib.Path, session: scanloom.InferenceSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a b#c%20?"
    folder.mkdir()
    opened: list[str] = []
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(webbrowser, "open", opened.append)
    path = pathlib.Path(session.report().open())
    assert path.parent == folder and "</html>" in path.read_text(encoding="utf-8")
    assert len(opened) == 1 and "/a%20b%23c%2520%3F/" in opened[0]


def test_no_file_stays_of_a_page_that_cannot_be_made(
    tmp_path: pathlib.Path, session: scanloom.InferenceSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(text: str) -> str:
        raise scanloom.Unsupported("built without the page")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "pages"))
    (tmp_path / "pages").mkdir()
    monkeypatch.setattr(scanloom._native, "report_page", refuse)
    with pytest.raises(scanloom.Unsupported):
        session.report().open()
    assert list((tmp_path / "pages").iterdir()) == []
    assert session.report()._repr_html_() is None


@needs_page
def test_the_page_asks_for_nothing(session: scanloom.InferenceSession) -> None:
    html = session.report().html
    for rule in ("default-src 'none'", "base-uri 'none'", "form-action 'none'"):
        assert rule in html
    assert not re.search(r"<(link|img|iframe|script)[^>]*(src|href)=", html)


@needs_page
def test_the_page_carries_the_licences_of_its_libraries(session: scanloom.InferenceSession) -> None:
    html = session.report().html
    for holder in ("Mike Bostock", "Lutz Roeder", "Chris Pettitt"):
        assert re.search(rf"^Copyright .*{holder}$", html, re.M)


def test_obstacles_to_a_faster_strategy(tmp_path: pathlib.Path) -> None:
    """A state that grows: the report names the node and what would help."""
    flag, number = TensorProto.BOOL, TensorProto.INT64
    body = helper.make_graph(
        [helper.make_node("Concat", ["cache", "x"], ["longer"], name="append", axis=0),
         helper.make_node("ReduceSum", ["longer"], ["sum"], name="add", keepdims=0),
         helper.make_node("Identity", ["going"], ["go_on"])],
        "body", [tensor("i", [], number), tensor("going", [], flag), tensor("cache", [None, 2])],
        [tensor("go_on", [], flag), tensor("longer", [None, 2]), tensor("sum", [])])
    loop = helper.make_node("Loop", ["trips", "", "none"], ["all", "sums"], name="grow", body=body)
    graph = helper.make_graph(
        [loop], "grow", [tensor("trips", [], number), tensor("none", [None, 2]), tensor("x", [1, 2])],
        [tensor("all", [None, 2]), tensor("sums", [None])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8), tmp_path / "m.onnx")
    session = scanloom.InferenceSession(tmp_path / "m.onnx")
    given = {"trips": np.array(9), "none": np.zeros((0, 2), np.float32), "x": np.ones((1, 2), np.float32)}
    data = session.report(given).data
    assert data["memory"]["depends_on_data"] and data["memory"]["data"] > 0
    (loop,) = data["loops"]
    assert "append" in loop["obstacles"][0]["text"]
    assert any("final size from the beginning" in text for text in loop["advice"])
    append = next(node for node in data["nodes"] if "append" in node["name"])
    assert loop["obstacles"][0]["node"] == append["id"]
    assert data["executions"][str(append["id"])]["kind"] == "dynamic"


def test_a_compiled_loop(tmp_path: pathlib.Path) -> None:
    model = scanloom.InferenceSession(sums_model(tmp_path / "m.onnx"), execution="compiled")
    (loop,) = model.report(feeds(3000)).data["loops"]
    assert loop["is_code"] or "disabled" in loop["strategy"] or "compiler" in loop["strategy"]
