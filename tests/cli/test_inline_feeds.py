"""Small values written on the command line: --feed 'x=[[1, 2], [3, 4]]'."""

import json

import numpy as np
import onnx
import pytest
from command_line import BAD, save, scanloom, sums_model, tensor
from onnx import TensorProto, helper

TYPES = {
    "float": (TensorProto.FLOAT, np.float32),
    "double": (TensorProto.DOUBLE, np.float64),
    "float16": (TensorProto.FLOAT16, np.float16),
    "int8": (TensorProto.INT8, np.int8),
    "uint8": (TensorProto.UINT8, np.uint8),
    "int64": (TensorProto.INT64, np.int64),
    "uint64": (TensorProto.UINT64, np.uint64),
    "bool": (TensorProto.BOOL, np.bool_),
    "complex64": (TensorProto.COMPLEX64, np.complex64),
    "complex128": (TensorProto.COMPLEX128, np.complex128),
    "string": (TensorProto.STRING, np.str_),
}


@pytest.fixture
def same(tmp_path):
    """Makes a model that passes a tensor on, whatever its sizes."""

    def make(type_name, rank):
        element_type = TYPES[type_name][0]
        node = helper.make_node("Identity", ["x"], ["y"])
        sizes = [f"N{axis}" for axis in range(rank)]
        ends = [[tensor(name, sizes, element_type)] for name in "xy"]
        return save(helper.make_graph([node], "same", *ends), tmp_path / f"{type_name}{rank}.onnx")

    return make


def passed_on(model, feed, folder):
    scanloom("run", model, "--feed", f"x={feed}", "--out", folder / "y.npz")
    with np.load(folder / "y.npz") as out:
        return out["y"]


@pytest.mark.parametrize(
    ("type_name", "text", "expected"),
    [
        ("float", "[1,2,3]", [1, 2, 3]),
        ("float", "[ 0.5 , -1e-3,\t.25 ]", [0.5, -1e-3, 0.25]),
        ("float", "[7]", [7]),
        ("float", "[]", []),
        ("float", "[1, 2,]", [1, 2]),
        ("float", "[[1,2,3],[4,5,6]]", [[1, 2, 3], [4, 5, 6]]),
        ("float", "[[[1],[2]],[[3],[4]],[[5],[6]]]", [[[1], [2]], [[3], [4]], [[5], [6]]]),
        ("float", "[[], []]", [[], []]),
        ("float", "[[[]]]", [[[]]]),
        ("float", "[inf, -inf, nan]", [np.inf, -np.inf, np.nan]),
        ("double", "[0.1, 1e300]", [0.1, 1e300]),
        ("float16", "[65504, 6e-8]", [65504, 6e-8]),
        ("float", "[2, -0.5, 1e3, .5, 1., inf, -inf]", [2, -0.5, 1000, 0.5, 1, np.inf, -np.inf]),
        ("int8", "[-128, 127, 1e2]", [-128, 127, 100]),
        ("uint8", "[255]", [255]),
        ("int64", "[-9223372036854775808, 9007199254740993]", [-(2**63), 2**53 + 1]),
        ("uint64", "[18446744073709551615]", [2**64 - 1]),
        ("bool", "[true, false, True, False, 1, 0]", [True, False, True, False, True, False]),
        ("bool", "[[true], [false]]", [[True], [False]]),
        ("complex64", "[1, 2j, 1-2j, (0.5+1e-3j), -1e2-1e-2j, inf]",
         [1, 2j, 1 - 2j, 0.5 + 1e-3j, -1e2 - 1e-2j, np.inf]),
        ("complex128", "[[0.1+0.2j]]", [[0.1 + 0.2j]]),
        ("string", '["a", "b c", "", "d,]"]', ["a", "b c", "", "d,]"]),
        ("string", "['single', 'with \"double\" and \\n']", ["single", 'with "double" and \\n']),
        ("string", r'["\"\\\/\n\t\u00e4\ud83d\ude00", "' + "\u00e4" + '"]', ['"\\/\n\t\u00e4\U0001f600', "\u00e4"]),
        ("string", '[["a"], ["b"]]', [["a"], ["b"]]),
    ],
)  # fmt: skip
def test_lists_are_tensors_of_the_inputs_type(same, tmp_path, type_name, text, expected):
    expected = np.array(expected, TYPES[type_name][1])
    found = passed_on(same(type_name, expected.ndim), text, tmp_path)
    assert (found.shape, found.dtype.kind) == (expected.shape, expected.dtype.kind)
    if type_name != "string":
        assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("type_name", "text", "expected"),
    [
        ("float", "0.5", 0.5),
        ("bool", "true", True),
        ("bool", "False", False),
        ("complex64", "1-2j", 1 - 2j),
        ("complex128", "zeros", 0),
        ("string", '"a b"', "a b"),
        ("string", "'[1, 2]'", "[1, 2]"),
    ],
)
@pytest.mark.parametrize("rank", [0, 2])
def test_one_element_is_for_the_whole_tensor(same, tmp_path, type_name, text, expected, rank):
    model = same(type_name, rank)
    sizes = [part for axis in range(rank) for part in ("--dim", f"N{axis}={axis + 2}")]
    scanloom("run", model, "--feed", f"x={text}", *sizes, "--out", tmp_path / "y.npz")
    with np.load(tmp_path / "y.npz") as out:
        np.testing.assert_array_equal(out["y"], np.full((2, 3)[:rank], expected))


@pytest.mark.parametrize(
    ("type_name", "text", "message"),
    [
        ("float", "[[1, 2], [3]]", "the list at [1] has 1 item, the one at [0] has 2"),
        ("float", "[[1, 2], [3, 4], []]", "the list at [2] has 0 items, the one at [0] has 2"),
        ("float", "[[[1], [2]], [[3], [4, 5]]]", "the list at [1,1] has 2 items, the one at [0,0] has 1"),
        ("float", "[[], [1]]", "the list at [1] has 1 item, the one at [0] has 0"),
        ("float", "[1, [2]]", "the item at [1] is a list, but an element elsewhere"),
        ("float", "[[1], 2]", "the item at [1] is an element, but a list elsewhere"),
        ("float", "[[1], [[2]]]", "the item at [1,0] is a list, but an element elsewhere"),
        ("float", "[[], 1]", "the item at [1] is an element, but a list elsewhere"),
        ("float", "[1, 2", "'[1, 2' is not terminated: ']' is missing"),
        ("float", "[1, 2]]", "']' follows the value"),
        ("float", "[1, 2] 3", "'3' follows the value"),
        ("float", "[1 2]", "',' or ']' is missing before '2]'"),
        ("float", "[,]", "an element is missing before ',]'"),
        ("float", "[1,,2]", "an element is missing before ',2]'"),
        ("float", "[one]", "'one' at [0] is not a number, as float32 needs"),
        ("float", "[1, true]", "'true' at [1] is not a number, as float32 needs"),
        ("float", "[+1]", "'+1' at [0] is not a number, as float32 needs"),
        ("int64", "[0x10]", "'0x10' at [0] is not a number, as int64 needs"),
        ("int64", "[1_000]", "'1_000' at [0] is not a number, as int64 needs"),
        ("float", '["1"]', "'1' at [0] is not a number, as float32 needs"),
        ("float", "[1j]", "'1j' at [0] is not a number, as float32 needs"),
        ("float", "[1e39]", "1e39 for input 'x' is not a number from -3.40282e+38"),
        ("int8", "[1, 128]", "128 for input 'x' is not an integer from -128 to 127, as int8 needs"),
        ("int64", "[1.5]", "1.5 for input 'x' is not an integer from"),
        ("uint8", "[-1]", "-1 for input 'x' is not an integer from 0 to 255"),
        ("bool", "[yes]", "'yes' at [0] is not a boolean: true or false"),
        ("bool", "[2]", "2 for input 'x' is not an integer from 0 to 1"),
        ("complex64", "[1+j2]", "'1+j2' at [0] is not a number, as complex64 needs"),
        ("complex64", "[1+2j+3j]", "'1+2j+3j' at [0] is not a number, as complex64 needs"),
        ("string", "[a]", "'a' at [0] is not a quoted string"),
        ("string", '["a]', "the text \"a] has no end: \""),
        ("string", "['a]", "the text 'a] has no end: '"),
        ("string", r'["\x"]', r'"\x" is not a JSON string'),
        ("string", r'["\ud83d"]', "is not a JSON string"),
    ],
)  # fmt: skip
def test_lists_that_are_no_tensor(same, type_name, text, message):
    model = same(type_name, text.count("[", 0, 3) or 1)
    answer = scanloom("run", model, "--feed", f"x={text}", expect=BAD)
    assert answer.stderr.startswith("error: --feed: ") and "input 'x'" in answer.stderr
    assert message in answer.stderr


def test_lists_are_as_deep_as_tensors_have_axes(same):
    deep = "[" * 16 + "1" + "]" * 16
    assert "float32[" + ",".join("1" * 16) in scanloom("run", same("float", 16), "--feed", f"x={deep}").stdout
    for text in ("[" * 17 + "]" * 17, "[" * 10000):
        answer = scanloom("run", same("float", 1), "--feed", f"x={text}", expect=BAD)
        assert "nested lists are 16 deep at most" in answer.stderr


def test_blanks_that_the_shell_has_taken_for_ends(same):
    answer = scanloom("run", same("float", 1), "--feed", "x=[1,", "2]", expect=BAD)
    assert "'[1,' is not terminated: ']' is missing" in answer.stderr
    assert "note: a feed with spaces needs quotes, as in --feed 'x=[1, 2]'" in answer.stderr


@pytest.mark.parametrize("command", ["run", "explain", "show --plan", "bench --repeat 1"])
def test_every_command_with_feeds_takes_lists(tmp_path, command):
    sums = sums_model(tmp_path / "sums.onnx")
    feeds = ["--feed", "x=[[1, 2], [3, 4], [5, 6]]", "--feed", "start=[10, 20]"]
    name, *options = command.split()
    answer = scanloom(name, sums, *options, *feeds)
    assert answer.stderr == ""
    if name == "run":
        assert answer.stdout.splitlines()[0].split() == ["last", "float32[2]", "19", "32"]
    else:
        assert "3 steps" in answer.stdout or " 3\n" in answer.stdout


def test_sizes_of_lists_are_those_of_the_model(tmp_path):
    """One symbol is one size, and a mismatch is reported with both numbers."""
    sums = sums_model(tmp_path / "sums.onnx")
    fine = ["--feed", "start=[0, 0]"]
    for text, numbers in (("[1, 2, 3]", ("2", "1")), ("[[1, 2, 3]]", ("2", "3")), ("[[[1, 2]]]", ("2", "3"))):
        answer = scanloom("run", sums, "--feed", f"x={text}", *fine, expect=BAD)
        assert "'x'" in answer.stderr and all(number in answer.stderr for number in numbers)
    answer = scanloom("run", sums, "--feed", "x=[[1, 2]]", *fine, "--dim", "T=5", expect=BAD)
    assert "'T' is given as 5, but axis 0 of the tensor for input 'x' is 1" in answer.stderr


def test_a_list_beside_files_and_words(tmp_path):
    sums = sums_model(tmp_path / "sums.onnx")
    np.save(tmp_path / "[x].npy", np.float32([[1, 2]]))
    np.savez(tmp_path / "[x].npz", x=np.float32([[1, 2]]))
    for feed in ("x=[x].npy", "x=[x].npz", "x=[x].npz:x", "x=[[1,2]]"):
        answer = scanloom("run", sums, "--feed", feed, "--feed", "start=ones", cwd=tmp_path)
        assert answer.stdout.splitlines()[0].split() == ["last", "float32[2]", "2", "3"]
    answer = scanloom("run", sums, "--feed", "x=[[1,2]]", "--feed", "x=ones", expect=BAD)
    assert answer.stderr == "error: --feed: input 'x' is fed twice\n"


@pytest.fixture
def passing(tmp_path):
    """Passes a sequence and an optional on."""
    rows = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N"])
    kinds = {
        "s": helper.make_sequence_type_proto(rows),
        "t": helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.STRING, [])),
        "o": helper.make_optional_type_proto(rows),
        "p": helper.make_optional_type_proto(helper.make_sequence_type_proto(rows)),
    }
    nodes = [helper.make_node("Identity", [name], [name + "_out"]) for name in kinds]
    ends = [[helper.make_value_info(name + end, kind) for name, kind in kinds.items()]
            for end in ("", "_out")]  # fmt: skip
    return save(helper.make_graph(nodes, "passing", *ends), tmp_path / "passing.onnx", opset=18)


def test_sequences_and_optionals(passing):
    feeds = {"s": "[[1, 2], [3], []]", "t": '["a", "b"]', "o": "[1, 2]", "p": "[[1], [2, 3]]"}
    arguments = [part for name, text in feeds.items() for part in ("--feed", f"{name}={text}")]
    out = json.loads(scanloom("run", passing, *arguments, "--json").stdout)["outputs"]
    assert [item["values"] for item in out["s_out"]["items"]] == [[1, 2], [3], []]
    assert [item["values"] for item in out["t_out"]["items"]] == [["a"], ["b"]]
    assert [item["values"] for item in out["o_out"]["items"]] == [[1, 2]]
    assert [item["values"] for item in out["p_out"]["items"][0]["items"]] == [[1], [2, 3]]
    feeds = {"s": "[]", "t": "[]", "o": "none", "p": "none"}
    arguments = [part for name, text in feeds.items() for part in ("--feed", f"{name}={text}")]
    out = json.loads(scanloom("run", passing, *arguments, "--json").stdout)["outputs"]
    assert [out[name]["items"] for name in ("s_out", "t_out", "o_out", "p_out")] == [[]] * 4


@pytest.mark.parametrize(
    ("feed", "message"),
    [
        ("s=[1, [2]]", "item 0 of feed 's' has sizes [], the model needs [?]"),
        ("s=1", "'1' is not a value for input 's', which is seq(tensor(float))\n  note: it takes a list of its items"),
        ("s=none", "'none' is not a value for input 's'"),
        ("o=ones", "'ones' is not a value for input 'o', which is optional(tensor(float))\n  note: it takes a list or none"),
        ("t=[[1]]", "'1' at [0] is not a quoted string"),
    ],
)  # fmt: skip
def test_what_is_no_sequence_or_optional(passing, feed, message):
    others = [f"{name}=[]" for name in "stop" if name != feed[0]]
    arguments = [part for one in [feed, *others] for part in ("--feed", one)]
    answer = scanloom("run", passing, *arguments, expect=BAD)
    assert message in answer.stderr


def test_types_without_numbers_are_fed_from_files(tmp_path):
    node = helper.make_node("Identity", ["x"], ["y"])
    ends = [[tensor(name, ["N"], TensorProto.FLOAT8E5M2)] for name in "xy"]
    model = helper.make_model(
        helper.make_graph([node], "small", *ends),
        opset_imports=[helper.make_opsetid("", 19)], ir_version=9,
    )  # fmt: skip
    onnx.save(model, str(tmp_path / "small.onnx"))
    for text in ("[1]", "1", "zeros"):
        answer = scanloom("run", tmp_path / "small.onnx", "--feed", f"x={text}", expect=BAD)
        assert "input 'x'" in answer.stderr and "file" in answer.stderr
