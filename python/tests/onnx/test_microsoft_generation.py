"""GreedySearch, BeamSearch and Sampling of com.microsoft against onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from microsoft_cases import DOMAIN, by_onnxruntime
from onnx import TensorProto as TP
from onnx import helper as oh
from onnx import numpy_helper
from single_node import close, run_every_way

import scanloom

HEADS, SIZE, VOCABULARY = 2, 4, 11
WIDTH = HEADS * SIZE
END, PADDING = 1, 0
F32, I32 = np.float32, np.int32


def weights(seed=0):
    rng = np.random.default_rng(seed)
    return {
        "words": rng.standard_normal((VOCABULARY, WIDTH)).astype(F32),
        "places": rng.standard_normal((40, WIDTH)).astype(F32) / 2,
        "project": rng.standard_normal((WIDTH, VOCABULARY)).astype(F32),
        "by_head": np.array([0, 0, HEADS, SIZE]),
        "flat": np.array([0, 1, -1]),
        "one": np.array([1]),
        "two": np.array([2]),
        "zero": np.array([0]),
        "three": np.array([3]),
        "at_zero": np.array(0),
    }


def decoder(seed=0, inner=True):
    """A decoder whose tokens see the sum of all earlier ones that the mask keeps."""
    nodes = [
        ("Gather", ["words", "input_ids"], ["embedded"], {}),
        ("Gather", ["places", "position_ids"], ["placed"], {}),
        ("Add", ["embedded", "placed"], ["x"], {}),
        ("Reshape", ["x", "by_head"], ["heads"], {}),
        ("Transpose", ["heads"], ["key"], {"perm": [0, 2, 1, 3]}),
        ("Unsqueeze", ["key", "zero"], ["new"], {}),
        ("Concat", ["new", "new"], ["state"], {"axis": 0}),
        ("Concat", ["past_0", "state"], ["present_0"], {"axis": 3}),
        ("Gather", ["present_0", "at_zero"], ["keys"], {"axis": 0}),
        ("Cast", ["attention_mask"], ["kept"], {"to": TP.FLOAT}),
        ("Unsqueeze", ["kept", "one"], ["kept_heads"], {}),
        ("Unsqueeze", ["kept_heads", "three"], ["kept_keys"], {}),
        ("Mul", ["keys", "kept_keys"], ["seen"], {}),
        ("ReduceSum", ["seen", "two"], ["summed"], {"keepdims": 0}),
        ("Reshape", ["summed", "flat"], ["context"], {}),
        ("Add", ["x", "context"], ["sum"], {}),
        ("Tanh", ["sum"], ["hidden"], {}),
        ("MatMul", ["hidden", "project"], ["logits"], {}),
    ]
    info = oh.make_tensor_value_info
    inputs = [
        info("input_ids", TP.INT32, ["batch", "steps"]),
        info("position_ids", TP.INT32, ["batch", "steps"]),
        info("attention_mask", TP.INT32, ["batch", "total"]),
        info("past_0", TP.FLOAT, [2, "batch", HEADS, "past", SIZE]),
    ]
    outputs = [
        info("logits", TP.FLOAT, ["batch", "steps", VOCABULARY]),
        info("present_0", TP.FLOAT, [2, "batch", HEADS, "total", SIZE]),
    ]
    constants = [numpy_helper.from_array(v, k) for k, v in weights(seed).items()] if inner else []
    return oh.make_graph(
        [oh.make_node(op, ins, outs, **attributes) for op, ins, outs, attributes in nodes],
        "decoder", inputs, outputs, constants,
    )


PROMPTS = np.array([[3, 5, 2, 7], [0, 0, 4, 9], [6, 6, 6, 8]], I32)


def model(op, operands, outputs, *, seed=0, inner=True, symbolic=False, **attributes):
    """`operands` by name; those whose name begins with an underscore are constants."""
    names, declared, constants = [], [], []
    for name, value in operands.items():
        names.append("" if value is None else name)
        if value is None:
            continue
        dtype = oh.np_dtype_to_tensor_dtype(value.dtype)
        if name.startswith("_"):
            constants.append(numpy_helper.from_array(value, name))
        else:
            shape = [f"{name}{i}" for i in range(value.ndim)] if symbolic else value.shape
            declared.append(oh.make_tensor_value_info(name, dtype, shape))
    while not names[-1]:
        names.pop()
    if not inner:
        constants += [numpy_helper.from_array(v, k) for k, v in weights(seed).items()]
    types = [TP.INT32, TP.FLOAT, TP.FLOAT]
    results = [f"y{i}" for i in range(outputs)]
    node = oh.make_node(op, names, results, domain=DOMAIN, eos_token_id=END, pad_token_id=PADDING,
                        decoder=decoder(seed, inner), **attributes)
    graph = oh.make_graph([node], "search", declared, [
        oh.make_tensor_value_info(name, kind, None) for name, kind in zip(results, types)
    ], constants)
    return oh.make_model(graph, ir_version=10, opset_imports=[
        oh.make_opsetid("", 18), oh.make_opsetid(DOMAIN, 1)])


def one(value, dtype=I32):
    return np.array([value], dtype)


def forbid(*tokens, rows=0):
    mask = np.ones(VOCABULARY if not rows else (rows, VOCABULARY), I32)
    mask[..., list(tokens)] = 0
    return mask


def greedy(max_length=12, prompts=PROMPTS, min_length=None, penalty=None, vocabulary=None,
           first=None, mask=None):
    return {"ids": prompts, "_max": one(max_length),
            "_min": None if min_length is None else one(min_length),
            "_penalty": None if penalty is None else one(penalty, F32),
            "vocabulary": vocabulary, "first": first, "mask": mask}


def row_of(fed, row):
    """The feeds of one row of the batch."""
    batched = ("ids", "first", "mask")
    return {k: v[row : row + 1].copy() if k in batched else v for k, v in fed.items()}


def fed_with(operands):
    return {k: v for k, v in operands.items() if v is not None}


MASK = np.array([[1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1]], I32)
GREEDY = {
    "plain": (greedy(), {}),
    "one row": (greedy(prompts=PROMPTS[:1].copy()), {}),
    "no end": (greedy(min_length=12, max_length=20), {}),
    "minimal length": (greedy(min_length=7), {}),
    "penalty": (greedy(penalty=1.7), {}),
    "no repeats": (greedy(max_length=20, min_length=19), {"no_repeat_ngram_size": 2}),
    "vocabulary": (greedy(vocabulary=forbid(2, 5, 1)), {}),
    "first token": (greedy(first=forbid(1, 4, 9, rows=3)), {}),
    "mask": (greedy(mask=MASK), {}),
    "everything": (greedy(min_length=6, penalty=1.3, vocabulary=forbid(3), first=forbid(9, rows=3)),
                   {"no_repeat_ngram_size": 1}),
}


def same_tokens(result, wanted):
    """Compares all tokens up to the last one and one more: what onnxruntime has after the step in
    which all sequences end is undefined; here it is padding."""
    assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
    last = np.flatnonzero((result != PADDING).any(0))[-1]
    np.testing.assert_array_equal(result[:, : last + 2], wanted[:, : last + 2])


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", GREEDY)
def test_greedy_search(name, seed):
    operands, attributes = GREEDY[name]
    proto = model("GreedySearch", operands, 1, seed=seed, symbolic=seed == 1, inner=seed != 2,
                  **attributes)
    fed = {k: v for k, v in fed_with(operands).items() if not k.startswith("_")}
    [wanted] = by_onnxruntime(proto, fed)
    [result] = run_every_way(proto, fed)
    same_tokens(result, wanted)


def beams(count=3, returned=1, length_penalty=1.0, **rest):
    operands = greedy(**rest)
    # onnxruntime wants most operands, although its documentation calls them optional.
    return {"ids": operands["ids"], "max": operands["_max"], "min": operands["_min"] or one(0),
            "beams": one(count), "returned": one(returned), "length": one(length_penalty, F32),
            "penalty": operands["_penalty"] or one(1, F32), "vocabulary": operands["vocabulary"],
            "first": operands["first"], "mask": operands["mask"]}


BEAMS = {
    "plain": (beams(), {}),
    "one beam": (beams(1), {}),
    "all returned": (beams(4, 4), {}),
    "early": (beams(4, 2), {"early_stopping": 1}),
    "long": (beams(3, 2, length_penalty=2.0), {}),
    "short": (beams(3, 2, length_penalty=0.3), {"early_stopping": 1}),
    "minimal length": (beams(min_length=7), {}),
    "penalty": (beams(3, 3, penalty=1.7), {}),
    "no repeats": (beams(2, 2, max_length=20), {"no_repeat_ngram_size": 2}),
    "vocabulary": (beams(3, 3, vocabulary=forbid(2, 5)), {}),
    "never ends": (beams(3, 3, vocabulary=forbid(1)), {}),
    "first token": (beams(3, 2, first=forbid(1, 4, 9, rows=3)), {}),
    "mask": (beams(3, 2, mask=MASK), {}),
}


# Rows of a batch do not depend on each other. In onnxruntime they do: whether a row is done is
# judged by scores of the row before. So its results are those of batches of one row.
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", BEAMS)
def test_beam_search(name, seed):
    operands, attributes = BEAMS[name]
    proto = model("BeamSearch", operands, 2, seed=seed, symbolic=True, inner=seed != 2,
                  **attributes)
    fed = fed_with(operands)
    results = run_every_way(proto, fed)
    for row in range(len(PROMPTS)):
        wanted = by_onnxruntime(proto, row_of(fed, row))
        np.testing.assert_array_equal(results[0][row : row + 1], wanted[0])
        close(results[1][row : row + 1], wanted[1], 10)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", BEAMS)
def test_scores_of_all_tokens(name, seed):
    operands, attributes = BEAMS[name]
    fed = row_of(fed_with(operands), seed)
    proto = model("BeamSearch", {**operands, **fed}, 3, seed=seed, **attributes)
    results, wanted = run_every_way(proto, fed), by_onnxruntime(proto, fed)
    np.testing.assert_array_equal(results[0], wanted[0])
    close(results[1], wanted[1], 10)
    # The scores of steps that did not run are undefined in onnxruntime; here they are 0.
    steps = 1 + np.flatnonzero(results[2].any((1, 2, 3)))[-1]
    assert results[2].shape == wanted[2].shape
    close(results[2][:steps], wanted[2][:steps], 10)


def sampling(seed=5, **rest):
    return {**greedy(**rest), "presence": None, "_seed": one(seed)}


SAMPLING = {
    "nucleus": (sampling(), {"top_p": 0.9, "temperature": 1.3}),
    "all": (sampling(seed=77), {"top_p": 1.0}),
    "some kept": (sampling(), {"top_p": 0.2, "min_tokens_to_keep": 3}),
    "from the best": (sampling(), {"top_p": 0.8, "custom": 1}),
    "penalty": (sampling(penalty=1.5, min_length=8), {"top_p": 0.95, "no_repeat_ngram_size": 2}),
}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", SAMPLING)
def test_sampling_with_the_numbers_of_onnxruntime(name, seed):
    operands, attributes = SAMPLING[name]
    proto = model("Sampling", operands, 1, seed=seed, symbolic=seed == 1, **attributes)
    fed = {k: v for k, v in fed_with(operands).items() if not k.startswith("_")}
    [wanted] = by_onnxruntime(proto, fed)
    [result] = run_every_way(proto, fed)
    same_tokens(result, wanted)


def test_the_number_of_beams_may_be_an_input():
    operands = beams(3, 2)
    operands = {k.lstrip("_"): v for k, v in operands.items()}
    proto = model("BeamSearch", operands, 2, symbolic=True)
    session = scanloom.InferenceSession(proto.SerializeToString())
    for count in (2, 3, 5):
        operands["beams"] = one(count)
        fed = row_of(fed_with(operands), 1)
        wanted, results = by_onnxruntime(proto, fed), session.run(None, fed)
        np.testing.assert_array_equal(results[0], wanted[0])
        close(results[1], wanted[1], 10)


MISTAKES = [
    ("GreedySearch", greedy(max_length=4), {}, "a maximal length of 5 at least, but it is 4"),
    ("GreedySearch", greedy(), {"model_type": 1}, "'model_type' is 1: only decoders"),
    ("GreedySearch", greedy(), {"no_repeat_ngram_size": -1}, "'no_repeat_ngram_size' is -1"),
    ("GreedySearch", greedy(prompts=PROMPTS + 9), {}, "index 1[0-9] is outside"),
    ("GreedySearch", {**greedy(), "_max": None}, {}, "it has 1 inputs"),
    ("BeamSearch", {**beams(), "max": None}, {}, "input 1"),
    ("BeamSearch", beams(vocabulary=forbid(2, rows=3)), {}, "has 2 axes, not 1"),
    ("GreedySearch", greedy(prompts=PROMPTS[0]), {}, "has 1 axes, but at least 2"),
    ("BeamSearch", beams(2, 3), {}, "3 sequences are to be returned, but there are 2 beams"),
    ("Sampling", sampling(), {"temperature": 0.0}, "'temperature' is 0"),
    ("Sampling", sampling(), {"min_tokens_to_keep": -1}, "'min_tokens_to_keep' is -1"),
]


@pytest.mark.parametrize("op, operands, attributes, words", MISTAKES)
def test_mistakes_are_errors(op, operands, attributes, words):
    proto = model(op, operands, 1, **attributes)
    with pytest.raises(scanloom.Error, match=words):
        fed = {k: v for k, v in fed_with(operands).items() if not k.startswith("_")}
        scanloom.InferenceSession(proto.SerializeToString()).run(None, fed)


def test_decoders_that_do_not_fit():
    def refused(change, words):
        proto = model("GreedySearch", greedy(), 1)
        graph = next(a.g for a in proto.graph.node[0].attribute if a.name == "decoder")
        change(graph)
        with pytest.raises(scanloom.Error, match=words):
            scanloom.InferenceSession(proto.SerializeToString())

    refused(lambda graph: graph.output.pop(), "has 4 inputs and 1 outputs")
    refused(lambda graph: graph.input.pop(0), "has 3 inputs and 2 outputs")
    refused(lambda graph: graph.input[3].type.tensor_type.shape.dim.pop(), "must declare 5 axes")
    refused(lambda graph: graph.output.reverse(), "the logits, must have 3 axes")
    refused(lambda graph: graph.output[1].CopyFrom(onnx.ValueInfoProto(name="heads")), "state 3 of")
