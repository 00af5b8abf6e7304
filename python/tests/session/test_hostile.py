"""Hostile files, graphs and feeds: an error of the right class that names what is wrong, in little
time and memory, and never the end of the process."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import hostile_run
import scanloom
from hostile_bytes import rich_model
from hostile_requests import varint
from loop_models import parse

CASES = hostile_run.graph_cases()
DAMAGED = hostile_run.byte_cases()
SLOWDOWN = 4 if hostile_run.WATCHED else 1
SECONDS, MEGABYTES = 20 * SLOWDOWN, 1500 * SLOWDOWN  # each; of the process that meets them all


@pytest.fixture(scope="module")
def answers():
    """{(name, execution): answer}; a case that ends the process is answered by its status."""
    script = pathlib.Path(hostile_run.__file__)
    found, first = {}, 0
    count = len(CASES) + len(DAMAGED)
    while first <= count:
        process = subprocess.run(
            [sys.executable, str(script), str(first)], capture_output=True, text=True, env=os.environ
        )
        for line in process.stdout.splitlines():
            answer = json.loads(line)
            found[answer["name"], answer["execution"]] = answer
            first = answer["number"] + 1
        if first <= count:
            name = (CASES + DAMAGED)[first].name if first < count else "flipped"
            found[name, "died"] = {"status": process.returncode, "words": process.stderr[-2000:]}
            first += 1
    return found


def is_as_expected(answer, case):
    """The interpreter, an oracle for the tests, has fewer words for some."""
    first = answer["text"].split("\n")[0]
    words = case.words if answer["execution"] == "automatic" else ()
    return (
        answer["code"] in case.codes
        and all(word in answer["text"] for word in words)
        and not first.endswith(".")
        and answer["seconds"] < SECONDS
    )


def test_nothing_ends_the_process(answers):
    assert {key: answer for key, answer in answers.items() if key[1] == "died"} == {}


def test_there_are_many(answers, report):
    assert len({case.name for case in CASES + DAMAGED}) == len(CASES + DAMAGED)
    slowest = max(answers.values(), key=lambda answer: answer.get("seconds", 0))
    most = max(answer.get("megabytes", 0) for answer in answers.values())
    report(f"hostile: {len(CASES)} kinds of graphs, files and feeds, {len(DAMAGED)} kinds of damaged "
           f"bytes, {hostile_run.FLIPPED} files with bits turned: at most {slowest['seconds']:.1f} s "
           f"({slowest['name']}) and {most} MB")
    assert len(CASES) >= 150


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_error_names_it(answers, case):
    for execution in case.executions:
        answer = answers[case.name, execution]
        assert is_as_expected(answer, case), (answer, case.codes, case.words)


@pytest.mark.parametrize("how", hostile_run.DAMAGED)
def test_damaged_bytes_are_malformed(answers, how):
    names = set(hostile_run.DAMAGED[how](rich_model()))
    wrong = [answers[case.name, "automatic"] for case in DAMAGED
             if case.name in names and not is_as_expected(answers[case.name, "automatic"], case)]
    assert wrong == []


def test_turned_bits_are_errors_or_harmless(answers):
    counts = answers["flipped", ""]["counts"]
    assert sum(counts.values()) == hostile_run.FLIPPED
    assert set(counts) <= {"fine", "invalid_model", "invalid_argument", "unsupported", "limit_reached"}
    assert counts["invalid_model"] > hostile_run.FLIPPED / 2


def test_memory_stays_bounded(answers):
    most = max(answers.values(), key=lambda answer: answer.get("megabytes", 0))
    assert most["megabytes"] < MEGABYTES, most


# --- strange, but harmless --------------------------------------------------------------------

STRANGE_NAMES = {
    "braces": "{}{0}{x}%s%n", "newline": "a\nb\r\n\tc", "zero": "a\0b", "quotes": "'\"`\\",
    "escape": "\x1b[31m", "wide": "\u2028\U0001f600", "long": "n" * 100_000, "percent": "%" * 99,
}


@pytest.mark.parametrize("kind", STRANGE_NAMES)
def test_strange_names_are_names(kind):
    name = STRANGE_NAMES[kind]
    model = onnx.load_from_string(parse("g (float[2] x) => (float[2] y) { t = Neg(x) y = Abs(t) }"))
    first, second = model.graph.node
    model.graph.input[0].name = first.input[0] = name
    model.graph.output[0].name = second.output[0] = f"{name} out"
    first.output[0] = second.input[0] = f"{name} inside"
    first.name = model.graph.name = name
    session = scanloom.InferenceSession(model.SerializeToString())
    assert session.get_inputs()[0].name == name
    (result,) = session.run([f"{name} out"], {name: np.array([1, -2], np.float32)})
    np.testing.assert_array_equal(result, [1, 2])
    assert session.ir() and session.plan() and session.explain() is not None
    second.input[0] = f"{name} nowhere"
    with pytest.raises(scanloom.InvalidModel, match="not produced by any"):
        scanloom.InferenceSession(model.SerializeToString())


@pytest.mark.parametrize("field", ["node", "value", "attribute", "producer", "metadata", "graph"])
def test_names_that_are_no_text(field):
    """Bytes that are not UTF-8, put in place of a name of as many bytes."""
    model = onnx.load_from_string(parse("g (float[2] x) => (float[2] y) { [nodename] value1 = Neg(x) "
                                        "y = Elu <attribute1 = 1> (value1) }"))
    model.producer_name, model.graph.name = "producer", "thegraph"
    model.metadata_props.add(key="metadata", value="v")
    word = {"node": "nodename", "value": "value1", "attribute": "attribute1", "producer": "producer",
            "metadata": "metadata", "graph": "thegraph"}[field].encode()
    data = model.SerializeToString()
    assert word in data
    bad = data.replace(word, (b"\xff\xfe\x80" + b"\xc0" * len(word))[: len(word)])
    session = scanloom.InferenceSession(bad, lenient=True)
    np.testing.assert_array_equal(session.run(None, {"x": np.ones(2, np.float32)})[0],
                                  np.full(2, np.expm1(np.float32(-1)), np.float32))
    meta = session.get_modelmeta()
    assert str(meta.producer_name) + str(meta.graph_name) + str(session.warnings()) + session.ir()


def test_a_tensor_without_elements_may_have_any_other_size():
    model = onnx.load_from_string(parse("g (float[2] x) => (int64[3] y) { y = Shape(w) }"))
    model.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[2**62, 2**62, 0])
    (result,) = scanloom.InferenceSession(model.SerializeToString()).run(
        None, {"x": np.ones(2, np.float32)}
    )
    np.testing.assert_array_equal(result, [2**62, 2**62, 0])


def test_thousands_of_inputs_and_outputs():
    count = 5000
    names = [f"x{i}" for i in range(count)]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in names]
    results = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, [1]) for i in range(count)]
    nodes = [helper.make_node("Neg", [name], [f"y{i}"]) for i, name in enumerate(names)]
    nodes.append(helper.make_node("Sum", names, ["all"]))
    results.append(helper.make_tensor_value_info("all", TensorProto.FLOAT, [1]))
    graph = helper.make_graph(nodes, "wide", values, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    session = scanloom.InferenceSession(model.SerializeToString())
    found = session.run(None, {name: np.ones(1, np.float32) for name in names})
    assert len(found) == count + 1 and found[0][0] == -1 and found[-1][0] == count


def test_newer_versions_are_noted_by_a_lenient_reading():
    data = parse("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    model = onnx.load_from_string(data)
    model.ir_version, model.opset_import[0].version = 2**40, 1000
    with pytest.raises(scanloom.Unsupported, match="newer than"):
        scanloom.InferenceSession(model.SerializeToString())
    session = scanloom.InferenceSession(model.SerializeToString(), lenient=True)
    assert any("IR version" in warning for warning in session.warnings())
    assert any("1000" in warning for warning in session.warnings())


def test_shared_external_data(tmp_path):
    """Two tensors share a file, at different offsets; the last of two equal keys counts."""
    model = onnx.load_from_string(parse("g (float[2] x) => (float[2] y) { s = Add(x, a) y = Add(s, b) }"))
    for name, offset in (("a", "0"), ("b", "4")):
        made = model.graph.initializer.add(name=name, data_type=TensorProto.FLOAT, dims=[2])
        made.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "w.bin"), ("offset", "1000"), ("offset", offset),
                           ("length", "8")):
            made.external_data.add(key=key, value=value)
    np.array([1, 10, 100], np.float32).tofile(tmp_path / "w.bin")
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    session = scanloom.InferenceSession(tmp_path / "model.onnx")
    np.testing.assert_array_equal(session.run(None, {"x": np.zeros(2, np.float32)})[0], [11, 110])
    with pytest.raises(scanloom.InvalidArgument, match="w.bin.*file"):
        scanloom.InferenceSession(model.SerializeToString())


def test_a_link_inside_the_folder_is_followed(tmp_path):
    model = onnx.load_from_string(parse("g (float[2] x) => (float[2] y) { y = Add(x, a) }"))
    made = model.graph.initializer.add(name="a", data_type=TensorProto.FLOAT, dims=[2])
    made.data_location = TensorProto.EXTERNAL
    made.external_data.add(key="location", value="link.bin")
    np.array([1, 10], np.float32).tofile(tmp_path / "w.bin")
    (tmp_path / "link.bin").symlink_to("w.bin")
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    session = scanloom.InferenceSession(tmp_path / "model.onnx")
    np.testing.assert_array_equal(session.run(None, {"x": np.zeros(2, np.float32)})[0], [1, 10])


def test_an_unknown_field_is_skipped():
    data = parse("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    extra = varint(900 << 3) + varint(1) + varint(901 << 3 | 2) + b"\x03abc" + varint(902 << 3 | 5)
    session = scanloom.InferenceSession(data + extra + b"1234")
    np.testing.assert_array_equal(session.run(None, {"x": np.ones(2, np.float32)})[0], [-1, -1])
