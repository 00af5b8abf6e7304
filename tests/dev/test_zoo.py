"""bench/zoo: the list of packages, unpacking, the inputs, the comparison of results, the workers'
limits and the tables. Nothing is downloaded."""

import gzip
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
import zipfile

import numpy as np
import onnx
import onnx.parser
import pytest
from conftest import PROJECT

sys.path.insert(0, str(PROJECT / "bench"))

from zoo import (  # noqa: E402
    agreement, feeds, fetch, jobs, measure, model_list, profiles, quantized, report, server,
    unpack, worker,
)

CONTENT = b"weights" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()

ENTRY = f"""
[[package]]
requirement = "some-package==1.0"
files = "some_package-1.0-*.whl"
licence = "MIT"

[[package.model]]
name = "detector"
member = "some_package/data/detector.onnx"
sha256 = "{SHA256}"
inputs.x = {{shape = [1, 3], low = 0, high = 1}}
inputs."y:0" = {{fill = 16000}}
"""


@pytest.fixture
def listed(tmp_path):
    def write(text):
        path = tmp_path / "packages.toml"
        path.write_text(text)
        return path

    return write


# The list


def test_the_list_of_the_project_is_well_formed():
    packages = model_list.read()
    assert sum(len(package.models) for package in packages) >= 100
    checksums = [model.sha256 for package in packages for model in package.models]
    assert len(set(checksums)) == len(checksums), "a file is listed twice"


def test_an_entry(listed):
    [package] = model_list.read(listed(ENTRY))
    [model] = package.models
    assert (package.name, package.licence) == ("some-package", "MIT")
    assert model.inputs["x"] == model_list.Input((1, 3), 0, 1)
    assert model.inputs["y:0"].fill == 16000


@pytest.mark.parametrize("old, new, message", [
    ("==1.0\"", "\"", "some-package: requirement is 'some-package', which does not match"),
    ('licence = "MIT"', "", "some-package==1.0: licence is None"),
    ("some_package/data", "../data", "member '../data/detector.onnx' leaves the folder"),
    ("some_package/data", "/data", "leaves the folder"),
    ("some_package/data", "c:/data", "leaves the folder"),
    (SHA256, SHA256[1:], "detector: sha256 is"),
    ('name = "detector"', 'name = "../detector"', "name is '../detector'"),
    ('name = "detector"', 'nam = "detector"', "unknown key 'nam'; known: inputs, member, name"),
    ("shape = [1, 3]", "shape = [1, -3]", "input 'x': shape [1, -3] is not a list of sizes"),
    ("low = 0, ", "", "input 'x': low and high belong together"),
    ("high = 1", "high = 1, fill = 2", "input 'x': fill excludes low and high"),
    ("[[package]]", "[[package]", "packages.toml: "),
])
def test_a_mistake_in_the_list_names_the_entry(listed, old, new, message):
    assert old in ENTRY
    with pytest.raises(model_list.ListError) as caught:
        model_list.read(listed(ENTRY.replace(old, new)))
    assert message in str(caught.value)


def test_names_are_unique(listed):
    with pytest.raises(model_list.ListError, match="'detector' is listed 2 times"):
        model_list.read(listed(ENTRY + ENTRY))


# Unpacking


def zipped(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def tarred(path, *infos):
    with tarfile.open(path, "w:gz") as archive:
        for info, content in infos:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def test_only_listed_members_are_unpacked(tmp_path):
    archive = zipped(tmp_path / "a.whl", {"p/m.onnx": CONTENT, "p/setup.py": b"", "../x": b""})
    folder = tmp_path / "models"
    [path] = unpack.unpack(archive, {"p/m.onnx": ("m.onnx", SHA256)}, folder)
    assert path.read_bytes() == CONTENT
    assert list(tmp_path.iterdir()) and [p.name for p in folder.iterdir()] == ["m.onnx"]


def test_a_source_archive(tmp_path):
    archive = tarred(tmp_path / "a.tar.gz", (tarfile.TarInfo("p/m.onnx"), CONTENT))
    [path] = unpack.unpack(archive, {"p/m.onnx": ("m.onnx", SHA256)}, tmp_path / "models")
    assert path.read_bytes() == CONTENT


def test_a_compressed_member(tmp_path, listed):
    archive = zipped(tmp_path / "a.whl", {"p/m.onnx.gz": gzip.compress(CONTENT, mtime=0)})
    [path] = unpack.unpack(archive, {"p/m.onnx.gz": ("m.onnx", SHA256)}, tmp_path / "models")
    assert path.read_bytes() == CONTENT
    [package] = model_list.read(listed(ENTRY.replace("detector.onnx", "detector.onnx.gz")))
    assert fetch.model_path(tmp_path, package.models[0]).name == "detector.onnx"


def link(name, target):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info


def refused(tmp_path, archive, message, wanted=None, **limits):
    folder = tmp_path / "models"
    with pytest.raises(unpack.UnpackError, match=message):
        unpack.unpack(archive, wanted or {"p/m.onnx": ("m.onnx", SHA256)}, folder, **limits)
    assert not list(folder.iterdir())


def test_a_link_is_refused(tmp_path):
    archive = tarred(tmp_path / "a.tar.gz", (link("p/m.onnx", "/etc/hostname"), b""))
    refused(tmp_path, archive, "p/m.onnx is not a plain file")


def test_another_checksum_is_refused(tmp_path):
    archive = zipped(tmp_path / "a.whl", {"p/m.onnx": CONTENT + b"!"})
    refused(tmp_path, archive, f"has the checksum .*, but {SHA256} is listed")


def test_a_missing_member_is_refused(tmp_path):
    refused(tmp_path, zipped(tmp_path / "a.whl", {"p/n.onnx": CONTENT}), "has no member p/m.onnx")


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04" + b"\0" * 100])
def test_a_broken_archive_is_refused(tmp_path, content):
    path = tmp_path / "a.whl"
    path.write_bytes(content)
    refused(tmp_path, path, "a.whl")


def test_a_cut_archive_is_refused(tmp_path):
    path = tarred(tmp_path / "a.tar.gz", (tarfile.TarInfo("p/m.onnx"), np.random.bytes(9000)))
    path.write_bytes(path.read_bytes()[:5000])
    refused(tmp_path, path, "a.tar.gz is broken")


def test_sizes_are_bounded_while_they_are_written(tmp_path):
    archive = zipped(tmp_path / "a.whl", {"p/m.onnx": b"\0" * 10_000_000})
    refused(tmp_path, archive, "exceeds the limit of 1000000 bytes", max_bytes=1_000_000)


@pytest.mark.parametrize("content, message", [
    (b"no gzip", "a.whl is broken"),
    (gzip.compress(CONTENT, mtime=0)[:-20], "a.whl is broken"),
    (gzip.compress(b"\0" * 10_000_000, mtime=0), "exceeds the limit of 1000000 bytes"),
])
def test_a_broken_compressed_member_is_refused(tmp_path, content, message):
    archive = zipped(tmp_path / "a.whl", {"p/m.onnx.gz": content})
    refused(tmp_path, archive, message, {"p/m.onnx.gz": ("m.onnx", SHA256)}, max_bytes=1_000_000)


@pytest.mark.parametrize("name", ["../m.onnx", "/m.onnx", "a/m.onnx", "", ".."])
def test_files_stay_in_the_folder(tmp_path, name):
    archive = zipped(tmp_path / "a.whl", {"p/m.onnx": CONTENT})
    refused(tmp_path, archive, "is not the name of a file", {"p/m.onnx": (name, SHA256)})


def test_fetching_what_is_there_needs_no_network(tmp_path, listed):
    packages = model_list.read(listed(ENTRY))
    (tmp_path / "archives").mkdir()
    zipped(tmp_path / "archives" / "some_package-1.0-py3-none-any.whl",
           {"some_package/data/detector.onnx": CONTENT})
    assert fetch.fetch(packages, tmp_path) == []
    assert fetch.model_path(tmp_path, packages[0].models[0]).read_bytes() == CONTENT


# Inputs


def model(text):
    return onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]>\n' + text)


SUM = model("g (float[N, 3] x, int64 s) => (float[N, 3] y) { t = CastLike(s, x) y = Add(x, t) }")


def test_inputs_are_as_listed_and_the_same_every_time():
    listed = {"x": model_list.Input((2, 3), 5, 6), "s": model_list.Input(fill=7)}
    made = feeds.make(SUM, listed)
    assert made["x"].shape == (2, 3) and made["x"].dtype == np.float32
    assert ((made["x"] >= 5) & (made["x"] < 6)).all()
    assert made["s"] == 7 and made["s"].dtype == np.int64
    np.testing.assert_array_equal(feeds.make(SUM, listed)["x"], made["x"])


@pytest.mark.parametrize("listed, message", [
    ({}, "input 'x' has open sizes"),
    ({"x": model_list.Input((1, 3))}, "input 's' has elements of int64; list low and high"),
    ({"z": model_list.Input()}, "the list names input 'z'; the model has x, s"),
    ({"x": model_list.Input((1 << 20, 1 << 20))}, "more than 268435456 elements"),
])
def test_inputs_that_cannot_be_made(listed, message):
    with pytest.raises(feeds.FeedError, match=message):
        feeds.make(SUM, listed)


# Agreement


@pytest.mark.parametrize("got, want, apart", [
    ([np.float32([1, 2])], [np.float32([1, 2])], 0),
    ([np.float32([1, 100.005])], [np.float32([1, 100])], 0.5),
    ([np.float16([1, 100.5])], [np.float16([1, 100])], 0.5),
    ([np.float32([np.nan, np.inf, 1])], [np.float32([np.nan, np.inf, 1])], 0),
    ([np.float32([np.nan, 1])], [np.float32([0, 1])], np.inf),
    ([np.float32([np.inf])], [np.float32([-np.inf])], np.inf),
    ([np.float32([0])], [np.float32([0])], 0),
    ([np.float32([1e-9])], [np.float32([0])], np.inf),
    ([np.int64([1])], [np.int64([2])], np.inf),
    ([np.array(["a"])], [np.array(["a"])], 0),
    ([np.float32([1])], [np.float32([[1]])], np.inf),
    ([np.float32([1])], [np.int64([1])], np.inf),
    ([], [np.int64([1])], np.inf),
    ([np.zeros((0, 3), np.float32)], [np.zeros((0, 3), np.float32)], 0),
])
def test_difference(got, want, apart):
    assert agreement.difference(got, want) == pytest.approx(apart, rel=1e-2)


def test_results_that_are_no_tensors():
    arrays = agreement.flat([None, [np.ones(2), np.zeros(1)], {"a": 0.5},
                             np.array(["x"], dtype=object)])
    assert [array.shape for array in arrays] == [(2,), (1,), (1,), (1,), (1,)]
    assert arrays[-1].dtype.kind == "U"


def test_a_tolerance_for_models_that_round_to_bytes():
    got, want = [np.float32([1, 101])], [np.float32([1, 100])]
    assert agreement.difference(got, want, agreement.TOLERANCE_BYTES) == pytest.approx(0.5)
    half = [np.float16([1, 101])], [np.float16([1, 100])]
    assert agreement.difference(*half, agreement.TOLERANCE_BYTES) == pytest.approx(0.5)


@pytest.mark.parametrize("node, rounds", [
    ("y = DequantizeLinear(c, s)", False),
    ("y = Relu(x)", False),
    ("q = QuantizeLinear(x, s)  y = DequantizeLinear(q, s)", True),
    ("""y = If(b) <then_branch = t () => (float[2] z) {
        q, r, o = DynamicQuantizeLinear(x)  z = DequantizeLinear(q, r, o)},
        else_branch = e () => (float[2] z) {z = Identity(x)}>""", True),
])
def test_models_that_round_to_bytes(tmp_path, node, rounds):
    path = tmp_path / "m.onnx"
    proto = model("m (float[2] x, bool b, uint8[2] c, float s) => (float[2] y) {" + node + "}")
    path.write_bytes(proto.SerializeToString())
    assert quantized.rounds_to_bytes(path) == rounds


@pytest.mark.parametrize(("to", "rounds"), [(onnx.TensorProto.FLOAT16, True),
                                            (onnx.TensorProto.FLOAT, False)])  # fmt: skip
def test_models_that_round_to_f16(tmp_path, to, rounds):
    inner = onnx.helper.make_graph([onnx.helper.make_node("Cast", ["x"], ["y"], to=to)], "then", [],
                                   [onnx.helper.make_tensor_value_info("y", to, None)])
    branch = onnx.helper.make_node("If", ["c"], ["z"], then_branch=inner, else_branch=inner)
    path = tmp_path / "m.onnx"
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([branch], "m", [], [])), str(path))
    assert quantized.computes_in_f16(path) == rounds
    assert not quantized.computes_in_f16(tmp_path / "m.xml")


@pytest.mark.parametrize(("kind", "rounds"), [("Add", True), ("Cast", False)])
def test_models_with_constants_of_f16(tmp_path, kind, rounds):
    half = onnx.numpy_helper.from_array(np.ones(2, np.float16), "half")
    attributes = {"to": onnx.TensorProto.FLOAT} if kind == "Cast" else {}
    inputs = ["half"] if kind == "Cast" else ["half", "half"]
    node = onnx.helper.make_node(kind, inputs, ["y"], **attributes)
    path = tmp_path / "m.onnx"
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "m", [], [], [half])), str(path))
    assert quantized.computes_in_f16(path) == rounds


def test_what_is_too_small_for_f16_does_not_count():
    got, want = [np.zeros(2, np.float32)], [np.float32([1e-10, -3e-9])]
    assert agreement.difference(got, want) == pytest.approx(1 / agreement.TOLERANCE)
    assert agreement.difference(got, want, agreement.TOLERANCE_F16, agreement.MIN_NORMAL_F16) < 1


def test_irs_that_round_to_bytes(tmp_path):
    path = tmp_path / "m.xml"
    for kind, rounds in (("FakeQuantize", True), ("Relu", False)):
        path.write_text(f'<net><layers><layer id="1" type="{kind}"/></layers></net>')
        assert quantized.rounds_to_bytes(path) == rounds


# Measuring

FAST = measure.Settings(limit=60, budget=0.05)


def job(tmp_path, proto, **inputs):
    path = tmp_path / "m.onnx"
    path.write_bytes(proto if isinstance(proto, bytes) else proto.SerializeToString())
    np.savez(tmp_path / "feeds.npz", **inputs)
    return jobs.Job("m", "tests", path, tmp_path / "feeds.npz")


def test_a_model_is_measured(tmp_path):
    made = job(tmp_path, SUM, x=np.ones((2, 3), np.float32), s=np.int64(1))
    row = measure.measure(made, FAST)
    assert (row["errors"], row["right"]) == ({}, "yes")
    assert row["times"]["2"]["ours"] > 0 and row["first"]["scanloom"]["bytes"] > 0
    assert all(value > 0 for value in report.ratios(row))


def test_processor_time_and_profiles(tmp_path):
    made = job(tmp_path, SUM, x=np.ones((2, 3), np.float32), s=np.int64(1))
    row = measure.measure(made, measure.Settings((1,), 60, 0.05, "cpu"))
    assert row["errors"] == {} and list(row["times"]) == ["1"]
    ours, peers = profiles.compare(made.model, made.feeds)
    assert ours.startswith("scanloom: ") and "Add by " in ours
    assert peers.startswith("onnxruntime: ") and "Add " in peers


@pytest.mark.parametrize("apart, right, believed", [
    ({"reference": (0.5, 9)}, "yes", "reference"),
    ({"reference": (9, 0.5)}, "no", "reference"),
    ({"onnxruntime-plain": (9, 0), "openvino": (0.5, 9)}, "yes", "openvino"),
    ({"onnxruntime-plain": (9, 0)}, "no", "onnxruntime-plain"),
    ({"onnxruntime-plain": (0, 9), "openvino": (9, 0)}, "yes", "onnxruntime-plain"),
    ({"reference": (3, 4), "openvino": (5, 2)}, "no", "openvino"),
    ({}, "", None),
])
def test_who_is_believed(tmp_path, monkeypatch, apart, right, believed):
    """`apart`: how far the results of Scanloom and of the peer are from those of each arbiter."""
    asked = measure.Measurement(job(tmp_path, SUM), tmp_path, FAST)
    monkeypatch.setattr(asked, "_answer", apart.__contains__)
    monkeypatch.setattr(asked, "_difference", lambda got, want: apart[want][got != "scanloom"])
    asked._ask_arbiters("onnxruntime")
    assert asked.row["right"] == right
    assert asked.row.get("arbiter", {}).get("name") == believed


@pytest.mark.parametrize("direction, zero", [("forward", 0), ("reverse", 3), ("bidirectional", 0)])
def test_a_quantized_layer_of_the_reference(tmp_path, direction, zero):
    """Small weights, whose products onnxruntime sums without saturation on all machines."""
    random, count, hidden = np.random.default_rng(1), 2 if direction == "bidirectional" else 1, 5
    weights = {name: random.integers(-60, 61, (count, rows, 4 * hidden)).astype(np.int8)
               for name, rows in (("w", 3), ("r", hidden))}
    numbers = {"b": random.standard_normal((count, 8 * hidden)).astype(np.float32),
               "h": random.standard_normal((count, 2, hidden)).astype(np.float32)}
    for name in weights:
        numbers[name + "s"] = np.full(count, 0.01, np.float32)
        numbers[name + "z"] = np.full(count, zero, np.int8)
    names = ["x", "w", "r", "b", "", "h", "", "", "ws", "wz", "rs", "rz"]
    node = onnx.helper.make_node("DynamicQuantizeLSTM", names, ["y", "yh", "yc"],
                                 domain="com.microsoft", hidden_size=hidden, direction=direction)
    graph = onnx.helper.make_graph(
        [node], "g", [onnx.helper.make_tensor_value_info("x", 1, [7, 2, 3])],
        [onnx.helper.make_tensor_value_info(name, 1, None) for name in node.output],
        [onnx.numpy_helper.from_array(x, name) for name, x in (weights | numbers).items()])
    sets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    path = tmp_path / "m.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=sets, ir_version=8), path)
    feeds = {"x": random.standard_normal((7, 2, 3)).astype(np.float32)}
    got, want = (worker.loader(engine)(path, 1).run(None, feeds)
                 for engine in ("reference", "onnxruntime"))
    assert agreement.difference(got, want) < 1


@pytest.mark.parametrize("shape", ["2, 100", "2, 100, 1"])
@pytest.mark.parametrize("onesided", [0, 1])
def test_spectra_of_the_reference(tmp_path, shape, onesided):
    path = tmp_path / "m.onnx"
    path.write_bytes(model(f"m (float[{shape}] x, float[16] w, int64 s) => (float[N, T, F, 2] y) "
                           f"{{y = STFT <onesided = {onesided}> (x, s, w)}}").SerializeToString())
    random = np.random.default_rng(1)
    feeds = {"x": random.random([int(size) for size in shape.split(",")], np.float32),
             "w": np.hanning(16).astype(np.float32), "s": np.array(7)}
    got, want = (worker.loader(engine)(path, 1).run(None, feeds)
                 for engine in ("reference", "onnxruntime"))
    assert agreement.difference(got, want) < 1


def test_a_model_that_nobody_loads_is_a_row(tmp_path):
    row = measure.measure(job(tmp_path, b"no model"), FAST)
    assert set(row["errors"]) == {"scanloom", "onnxruntime"}
    assert "times" not in row
    assert report.model_line(row).startswith("| m | neither |  |")


def test_a_model_that_hangs_is_a_row(tmp_path):
    endless = model("""g (float x) => (float y) { n = Constant <value_int = 4000000000000> ()
        t = Constant <value = bool {1}> ()
        y = Loop(n, t, x) <body = b (int64 i, bool c, float a) => (bool d, float e) {
            d = Identity(c) e = Sin(a) }> }""")
    row = measure.measure(job(tmp_path, endless, x=np.float32(1)), measure.Settings(limit=3))
    assert row["errors"]["onnxruntime"] == "took more than 3 s"
    assert row["errors"]["scanloom"] == "took more than 3 s"


@pytest.mark.parametrize(("answer", "words"), [
    ({"status": -9, "output": "", "complaint": ""}, "ended by signal 9"),
    ({"status": None, "output": "", "complaint": ""}, "took more than 10 s"),
    ({"status": 3, "output": "", "complaint": ""}, "ended with status 3"),
])  # fmt: skip
def test_workers_that_fail(monkeypatch, answer, words):
    monkeypatch.setattr(measure.Server, "run", lambda *_: answer)
    with pytest.raises(measure.Failed, match=words):
        measure.work(["first"], 10)


@pytest.mark.parametrize(("limit", "status"), [(30, -9), (0, None)])
def test_the_server_waits_for_workers(limit, status):
    child = os.fork()
    if child == 0:
        if limit:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
    assert server.wait(child, limit) == status


def test_the_message_of_an_error_with_several_lines():
    text = 'Traceback\n  File "a.py", line 1, in f\n    g()\nx.Error: onnx: wrong\n  note: here\n'
    assert measure.message_of(text) == "x.Error: onnx: wrong"
    assert len(measure.message_of("E: " + "x" * 1000)) <= measure.MAX_MESSAGE + 3


# Tables


def row(name="m", group="p", ours=1.0, **changes):
    return {"name": name, "group": group, "peer": "onnxruntime", "errors": {}, "right": "yes",
            "first": {"scanloom": {"seconds": 1, "bytes": 10},
                      "onnxruntime": {"seconds": 2, "bytes": 40}},
            "times": {threads: {"ours": ours, "peer": 2.0} for threads in ("1", "2")}} | changes


def test_a_line_of_the_table():
    assert report.model_line(row(ours=1e-3)) == (
        "| m | yes | yes | 1 ms | 2 s | 0.0005 | 0.0005 | 0.50 | 0.25 |")


def test_means_and_medians():
    lines = report.summary([row("a", ours=1), row("b", ours=4), row("c", "q", ours=16),
                            row("d", "q", errors={"scanloom": "no"}, first={}, times={},
                                right="")])
    assert lines[2] == ("| p | 2 | 2 | 2 | 1.00 (1.25) | 1.00 (1.25) | 0.50 (0.50) | 0.25 (0.25) |")
    assert lines[3].startswith("| q | 2 | 1 | 1 | 8.00 (8.00) |")
    assert lines[4].startswith("| all | 4 | 3 | 3 | 2.00 (2.00) |")


def test_rows_of_several_runs_are_in_order():
    rows = [row(name, group, order=order) for name, group, order in (
        ("d", "made", 3), ("b", "p", 1), ("a", "p", 0), ("c", "made", 2), ("e", "other", 2))]
    assert [found["name"] for found in report.in_order(rows)] == ["a", "b", "c", "d", "e"]


def test_errors_stay_inside_their_line():
    [text] = report.remarks([row(errors={"scanloom": "a | b\n<script>"})])
    assert text == "- m, scanloom: a \\| b &lt;script>"


def test_the_page_is_rewritten_between_its_marks(tmp_path):
    page = tmp_path / "zoo.md"
    page.write_text("# Zoo\n<!-- measured -->\nold\n<!-- end -->\nafter\n")
    report.write(page, [row()], "A machine.")
    text = page.read_text()
    assert "old" not in text and "A machine." in text
    assert text.startswith("# Zoo\n") and text.endswith("<!-- end -->\nafter\n")
    page.write_text("# Zoo\n")
    with pytest.raises(ValueError, match="has 0 parts"):
        report.write(page, [row()], "A machine.")


EXPORTER = """
import numpy as np
from _making import make_all

def good(path):
    path.write_bytes(b"model")
    return {"x": np.ones(2)}, [np.zeros(3)]

def bad(path):
    raise NotImplementedError("no such operator\\nat node 7")

make_all({"good": good, "bad": bad, "goods": good})
"""


def test_an_exporter_notes_what_it_cannot_make(tmp_path):
    folder = tmp_path / "made" / "exporter"
    folder.mkdir(parents=True)

    def run(*only):
        subprocess.run([sys.executable, "-c", EXPORTER, str(folder), *only], check=True,
                       cwd=PROJECT / "bench" / "zoo" / "exporters", capture_output=True)
        return json.loads((folder / "made.json").read_text())

    good, bad = {"name": "good", "file": "good.onnx"}, {"name": "bad"}
    bad["reason"] = "NotImplementedError: no such operator"
    assert run("bad") == [bad]
    assert run("good") == [good, bad, {"name": "goods", "file": "goods.onnx"}]
    assert [job.name for job in jobs.of_exporters(tmp_path)] == ["exporter_good", "exporter_goods"]
    assert measure._read(folder / "good.expected.npz")[0].shape == (3,)


def test_models_of_exporters(tmp_path):
    folder = tmp_path / "made" / "exporter"
    folder.mkdir(parents=True)
    (folder / "a.expected.npz").write_bytes(b"")
    (folder / "made.json").write_text(json.dumps([
        {"name": "a", "file": "a.onnx"}, {"name": "b", "reason": "unsupported"},
        {"name": "c", "file": "c.xml"}]))
    assert jobs.not_made(tmp_path) == [("exporter_b", "unsupported")]
    assert report.markdown([row()], "", jobs.not_made(tmp_path)).endswith(
        "Not exported:\n\n- exporter_b: unsupported")
    first, second = jobs.of_exporters(tmp_path)
    assert (first.name, first.peer) == ("exporter_a", "onnxruntime")
    assert first.expected == folder / "a.expected.npz"
    assert (second.name, second.peer, second.expected) == ("exporter_c", "openvino", None)
