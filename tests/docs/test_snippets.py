"""Runs the snippets of README.md and docs/: Python, C++, and commands, whose printed output is
compared. Paths are checked to exist."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import scanloom
import scanloom.tensor as T

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SCANLOOM_BUILD", PROJECT / "build" / "release"))
QLSTM = PROJECT.parent / "shared" / "models" / "qlstm" / "model.onnx"
VOICE_MODEL = PROJECT / "build" / "cache" / "silero-vad" / "silero_vad.onnx"
sys.path.insert(0, str(PROJECT / "python" / "tests"))

import new_process  # noqa: E402
from openvino_ir import Graph  # noqa: E402

DOCUMENTS = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")])
# Pages whose programs build on each other.
CONNECTED = [path for path in DOCUMENTS
             if path.name.startswith("getting-started-")
             or path.name in ("life-of-a-loop.md", "many-sequences.md")]
APART = [path for path in DOCUMENTS if path not in CONNECTED]
HAS_AVX2 = "avx2" in pathlib.Path("/proc/cpuinfo").read_text()


def blocks(document, language):
    """The texts of the fenced blocks of that language, "" for those that name none."""
    text = (PROJECT / document).read_text(encoding="utf-8")
    return [
        body for name, body in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
        if name == language
    ]


def info(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def save_running_sums(path):
    """Writes the model.onnx that getting-started-onnx.md gives for the programs of other pages:
    y[t] = x[0] + ... + x[t], x of [T, 1, 40], by a Scan."""
    page = (PROJECT / "docs" / "getting-started-onnx.md").read_text(encoding="utf-8")
    text = re.search(r'parse_model\("""(.*?)"""\)', page, re.S)[1]
    onnx.save(onnx.parser.parse_model(text), path)


def save_running_sums_as_ir(folder):
    """y[t] = total + x[0] + ... + x[t], of which the last becomes the total, by a TensorIterator."""
    graph = Graph()
    x = graph.parameter("x", "float32", [-1, 1, 40])
    start = graph.add("ReadValue", [graph.constant(np.zeros((1, 1, 40)), "float32")], version=6,
                      variable_id="total", variable_type="f32", variable_shape="1,1,40")
    body = graph.body()
    row, state = (body.parameter(name, "float32", [1, 1, 40]) for name in ("row", "state"))
    total = body.result(body.add("Add", [row, state]))
    loop = graph.loop("TensorIterator", body, [x, start], 2, [
        {"kind": "input", "port": 0, "layer": row.layer, "axis": 0},
        {"kind": "input", "port": 1, "layer": state.layer},
        {"kind": "output", "port": 0, "layer": total, "axis": 0},
        {"kind": "output", "port": 1, "layer": total}], [(total, state.layer)])
    graph.add("Assign", [type(loop)(loop.layer, 1)], version=6, variable_id="total")
    graph.result(loop)
    graph.save(folder)


def save_function(path):
    """h[t] = h[t-1] / 2 + 3 x[t], and how often it was called."""
    x, w = T.vector("x"), scanloom.shared(3.0, "w")
    calls = scanloom.shared(np.int64(0), "calls")
    h, _ = scanloom.scan(
        lambda x_t, before, w: before / 2 + w * x_t,
        sequences=x, outputs_info=T.ones(()), non_sequences=w, name="filter",
    )  # fmt: skip
    scanloom.function([x], [h, calls], updates={calls: calls + 1}, name="filtered").save(path)


def save_broken(path):
    """Writes a model with an unknown operator and a node that lacks an input."""
    graph = helper.make_graph(
        [helper.make_node("Frobnicate", ["x"], ["y"]),
         helper.make_node("Add", ["x"], ["z"], name="lonely")],
        "broken", [info("x", [2])], [info("z", [2])],
    )
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 16)])
    path.write_bytes(model.SerializeToString())


@pytest.fixture
def folder(tmp_path):
    """Where snippets run: every file that one of them names."""
    shutil.copy(VOICE_MODEL, tmp_path)
    save_running_sums(tmp_path / "model.onnx")
    save_running_sums_as_ir(tmp_path)
    save_broken(tmp_path / "broken.onnx")
    save_function(tmp_path / "f.scanloom")
    x = np.arange(200, dtype=np.float32).reshape(5, 1, 40)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "chunk.npy", np.zeros((1, 576), np.float32))
    sums = np.cumsum(x, axis=0)
    np.savez(tmp_path / "io.npz", x=x, last=sums[-1], y=sums)
    for name in ("folder_with_test_data_sets", "test_scan_sum"):
        data = tmp_path / name / "test_data_set_0"
        data.mkdir(parents=True)
        shutil.copy(tmp_path / "model.onnx", tmp_path / name)
        for file, value in (("input_0", x), ("output_0", sums[-1]), ("output_1", sums)):
            tensor = numpy_helper.from_array(value)
            (data / f"{file}.pb").write_bytes(tensor.SerializeToString())
    if QLSTM.is_file():
        shutil.copy(QLSTM, tmp_path / "qlstm.onnx")
    return tmp_path


# Without what the tests have added: where programs of users find modules.
OURS = tuple(PROJECT / name for name in ("python", "tests", "demo", "bench", "tools"))
USERS_PATH = ["", *(each for each in sys.path if not any(pathlib.Path(each).is_relative_to(own) for own in OURS))]
# What a machine was calibrated as is no part of a document.
VARIABLES = {"SCANLOOM_MACHINE": os.devnull, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}


def run(command, folder):
    return subprocess.run(command, cwd=folder, env={**os.environ, **VARIABLES}, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, timeout=300)


def python_snippets():
    found = []
    for document in APART:
        for number, block in enumerate(blocks(document.relative_to(PROJECT), "python")):
            found.append(pytest.param(block, id=f"{document.name}-{number}"))
    return found


def check_python(snippet, folder):
    """Runs a program and returns its output. The program shows it in a comment after the line that
    prints it, or in comments at its end."""
    answer = new_process.answer_of(snippet, folder=folder, variables=VARIABLES, path=USERS_PATH, timeout=300)
    assert answer.returncode == 0, answer.stderr
    for printed in re.findall(r"print\(.*\)  # (.*)$", snippet, re.M):
        assert printed in answer.stdout, answer.stdout
    last = re.search(r"(?:^# .*\n)+\Z", snippet, re.M)
    if last:
        output = re.sub(r"^# ", "", last[0], flags=re.M)
        shown = shows("...\n" + output, answer.stdout) if "..." in output else output in answer.stdout
        assert shown, answer.stdout
    return answer.stdout


@pytest.mark.parametrize("snippet", python_snippets())
def test_python(snippet, folder):
    check_python(snippet, folder)


def cpp_compiler():
    """Makes main of main.cpp."""
    return ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror",
            f"-I{PROJECT / 'include'}", "main.cpp", f"-L{BUILD / 'lib'}", "-lscanloom",
            f"-Wl,-rpath,{BUILD / 'lib'}", "-o", "main"]


def program_of_the_readme():
    (snippet,) = blocks("README.md", "cpp")
    include, code = snippet.split("\n", 1)
    return f"""{include}
#include <iostream>
int main() {{
  const std::int64_t steps = 5;
  const std::vector<float> x(200, 1);
  {code}
  std::cout << y->size() << ' ' << y->back();
}}
"""


def test_cpp_of_the_readme(folder):
    (folder / "main.cpp").write_text(program_of_the_readme())
    assert run(cpp_compiler(), folder).stderr == ""
    assert run(["./main"], folder).stdout == "200 5"


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('as<float>("y")', 'as<float>("Y")', "unknown result 'Y'\n  note: the results are 'last', 'y'\n"),
        ('as<float>("y")', 'as<double>("y")', "value 'y' is f32[5,1,40], not f64: use as<float>() to read it\n"),
        ("{steps, 1, 40}", "{steps, 40}", None),
        ("model.onnx", "nothere.onnx", None),
    ],
)
def test_mistakes_in_the_cpp_of_the_readme_are_values(folder, right, wrong, message):
    """No exception: the program that is shown ends as it says."""
    shown = program_of_the_readme().replace("scanloom::Expected<std::span<const float>> y", "auto y")
    assert right in shown and "auto y" in shown
    (folder / "main.cpp").write_text(shown.replace(right, wrong))
    assert run(cpp_compiler(), folder).stderr == ""
    answer = run(["./main"], folder)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == message if message else answer.stderr


def test_no_cpp_that_is_shown_looks_results_up_by_force():
    """at() and [] of what may be missing end a program; find() and try_as() give errors."""
    shown = [block for document in DOCUMENTS for block in blocks(document.relative_to(PROJECT), "cpp")]
    shown += [path.read_text(encoding="utf-8") for path in (PROJECT / "examples").glob("*.cpp")]
    assert len(shown) > 5
    assert not [code for code in shown if re.search(r"(\.|->)at\(", code)]


def test_cpp_of_the_page_on_loops(folder):
    head, *snippets = blocks("docs/scan.md", "cpp")
    functions = [f"void snippet_{i}() {{\n{code}}}\n" for i, code in enumerate(snippets)]
    calls = [f"  snippet_{i}();\n" for i in range(len(snippets))]
    (folder / "main.cpp").write_text(f"{head}{''.join(functions)}int main() {{\n{''.join(calls)}}}\n")
    assert run(cpp_compiler(), folder).stderr == ""
    printed = re.findall(r";  // ([-\d. ]+)$", "".join(snippets), re.M)
    assert len(printed) > len(snippets)
    assert run(["./main"], folder).stdout.split() == " ".join(printed).split()


@pytest.mark.parametrize("program", blocks("docs/cpp.md", "cpp") + blocks("docs/report.md", "cpp"))
def test_programs_of_the_page_on_cpp(program, folder):
    (folder / "main.cpp").write_text(program)
    assert run([*cpp_compiler(), "-pthread"], folder).stderr == ""
    answer = run(["./main"], folder)
    assert answer.returncode == 0, answer.stderr
    printed = re.findall(r";  // (.+)$", "\n".join(
        line for line in program.splitlines() if "std::cout" in line), re.M)
    assert answer.stdout.split() == " ".join(printed).split()


@pytest.mark.parametrize("snippet", [pytest.param(block, id=document.name) for document in DOCUMENTS
                                     for block in blocks(document.relative_to(PROJECT), "c")])
def test_c(snippet, folder):
    (folder / "main.c").write_text(snippet)
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror",
               f"-I{PROJECT / 'include'}", "main.c", f"-L{BUILD / 'lib'}", "-lscanloom",
               f"-Wl,-rpath,{BUILD / 'lib'}", "-o", "main"]
    answer = run(command, folder)
    assert answer.returncode == 0, answer.stderr
    answer = run(["./main"], folder)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == re.findall(r"printf\(.*/\* (.*) \*/$", snippet, re.M)


def test_functions_that_the_page_on_c_names_exist():
    header = (PROJECT / "include" / "scanloom" / "scanloom.h").read_text(encoding="utf-8")
    page = (PROJECT / "docs" / "c-api.md").read_text(encoding="utf-8")
    names = set(re.findall(r"\bscanloom_[a-z_]+\b", page))
    assert len(names) > 20
    for name in names:
        assert re.search(rf"\b{name}\b", header), name


def test_commands_of_the_readme(folder):
    lines = [line for block in blocks("README.md", "sh") for line in block.splitlines()]
    assert sum(line.startswith("scanloom") for line in lines) >= 5
    targets = re.findall(r"^(\w+):", (PROJECT / "Makefile").read_text(), re.M)
    for line in lines:
        if line.startswith("make "):
            assert line.split()[1] in targets, line
        elif line:
            answer = run(["bash", "-c", line], folder)
            assert answer.returncode == 0, line + "\n" + answer.stdout + answer.stderr


def words(text):
    """The words of an output, without its numbers and times: they differ from run to run."""
    return re.sub(r"[-+]?\d[\d.e+-]*( [num]?s\b)?", "#", text).split()


def shows(output, printed):
    """Whether a document shows what was printed. A line `...` matches any lines, and ` ...` at the
    end of a line matches the rest of that line."""
    parts = [words(part) for part in re.split(r"(?:^| )\.\.\.$", output, flags=re.M)]
    pattern = " ?.*? ?".join(re.escape(" ".join(part)) for part in parts)
    return re.fullmatch(pattern, " ".join(words(printed)), re.S) is not None


def commands(block):
    """The commands of a block, each with what the block shows of its output."""
    parts = [part.partition("\n") for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return [(command, output) for command, _, output in parts
            if re.match(r"(SCANLOOM_ISA=\w+ )?scanloom ", command)]


def transcripts():
    """Each command that the documents show with what it prints."""
    found = []
    for document in APART:
        for block in blocks(document.relative_to(PROJECT), ""):
            for command, output in commands(block):
                found.append(pytest.param(command, output, id=command.split("#")[0].strip()))
    return found


@pytest.mark.parametrize(("command", "output"), transcripts())
def test_transcripts(command, output, folder):
    check_transcript(command, output, folder)


def check_transcript(command, output, folder):
    if "qlstm.onnx" in command and not (folder / "qlstm.onnx").is_file():
        pytest.skip("../shared/models is not there")
    answer = run(["bash", "-c", command], folder)
    if output.strip():
        printed = answer.stderr + answer.stdout
        assert shows(output, printed), f"{printed}\nis not what the document shows:\n{output}"
    else:
        assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_paths_that_documents_name_exist(document):
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)[)#]", text):
        if "://" not in target:
            assert (document.parent / target).exists(), target
    roots = "src|include|python|tests|tools|bench|demo|examples|docs|cmake"
    for name in re.findall(rf"`((?:{roots})/[\w./-]*)`", text):
        assert (PROJECT / name).exists(), name


def test_presets_and_targets_that_documents_name_exist():
    targets = re.findall(r"^(\w+):", (PROJECT / "Makefile").read_text(), re.M)
    for document in DOCUMENTS:
        for target in re.findall(r"`make (\w+)`", document.read_text(encoding="utf-8")):
            assert target in targets, f"{document.name}: make {target}"


def all_blocks(document):
    """The languages and texts of all fenced blocks, in their order."""
    text = document.read_text(encoding="utf-8")
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)


@pytest.mark.parametrize("page", CONNECTED, ids=lambda path: path.name)
def test_connected_programs_run_from_top_to_bottom_in_an_empty_folder(page, tmp_path):
    for language, block in all_blocks(page):
        if language == "python":
            check_python(block, tmp_path)
        elif language == "":
            for command, output in commands(block):
                if HAS_AVX2 or "SCANLOOM_ISA=avx2" not in command:
                    check_transcript(command, output, tmp_path)


def test_the_first_program_of_the_readme_runs_in_an_empty_folder(tmp_path):
    check_python(blocks("README.md", "python")[0], tmp_path)


def test_the_loop_in_jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed: make bench-peers does it")
    (code,) = blocks("docs/words.md", "py")
    names = {"jax": jax, "xs": np.ones(2, np.float32)}
    exec(code, names)
    assert np.allclose(names["last"], 0.19) and np.allclose(names["slope"], [0.09, 0.1])
