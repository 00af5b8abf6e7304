"""Every version of every operator that list.inc names, against numpy."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.checker
import onnx.defs
import onnx.helper as oh
import pytest
from onnx import TensorProto as TP

import scanloom
from places import PROJECT
from version_rows import NEWEST, ROWS, VERSIONS, X, Row, value

# Operators that other files test, and which.
TESTED_IN = {
    "test_composed_operators.py": (
        "Acos Acosh AffineGrid Asin Asinh Atan Atanh BitCast CenterCropPad Cosh "
        "GroupNormalization InstanceNormalization LRN LpNormalization "
        "MeanVarianceNormalization NegativeLogLikelihoodLoss Sinh SoftmaxCrossEntropyLoss"
    ),
    "test_attention.py": (
        "Attention CausalConvWithState LinearAttention RotaryEmbedding TensorScatter"
    ),
    "test_random.py": (
        "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike"
    ),
    "test_machine_learning.py": (
        "Binarizer Imputer LabelEncoder LinearRegressor Normalizer Scaler TreeEnsemble"
    ),
    "test_classical_models.py": (
        "CastMap CategoryMapper DictVectorizer FeatureVectorizer LinearClassifier OneHotEncoder "
        "SVMClassifier SVMRegressor TreeEnsembleClassifier TreeEnsembleRegressor ZipMap"
    ),
    "test_signal.py": "BlackmanWindow DFT HammingWindow HannWindow MelWeightMatrix STFT",
    "window_cases.py": (
        "AveragePool Col2Im ConvInteger ConvTranspose DeformConv DynamicQuantizeLinear "
        "GlobalLpPool GridSample LpPool MatMulInteger MaxPool MaxRoiPool MaxUnpool "
        "QLinearMatMul Resize RoiAlign Upsample"
    ),
    "picking_cases.py": (
        "Compress CumProd DepthToSpace Det EyeLike GRU GatherND Hardmax NonMaxSuppression "
        "OneHot RNN ReverseSequence Scatter ScatterElements ScatterND SpaceToDepth Unique"
    ),
    "test_sequences.py": (
        "ConcatFromSequence Optional OptionalGetElement OptionalHasElement RegexFullMatch "
        "SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert "
        "SequenceLength SequenceMap SplitToSequence StringConcat StringNormalizer StringSplit "
        "TfIdfVectorizer"
    ),
    "test_training.py": "Adagrad Adam Momentum",
    "test_gradient.py": "Gradient",
    "test_image_decoder.py": "ImageDecoder",
    "test_backend_suite.py": "FlexAttention",
}
ELSEWHERE = {op: file for file, ops in TESTED_IN.items() for op in ops.split()}

RUNS = [(one, version) for one in ROWS for version in one.versions()]


def model_of(one: Row, version: int) -> bytes:
    schema = onnx.defs.get_schema(one.op, version, one.domain)
    attributes = dict(one.attributes)
    if "consumed_inputs" in schema.attributes:
        attributes["consumed_inputs"] = [0] * len(one.inputs)
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(one.inputs)]
    kind = oh.np_dtype_to_tensor_dtype
    fed = names[:1] if one.constant else names
    inputs = [
        value(name, kind(np.asarray(array).dtype), np.shape(array))
        for name, array in zip(fed, one.inputs)
        if name
    ]
    initialisers = [
        onnx.numpy_helper.from_array(np.asarray(array), name)
        for name, array in zip(names[len(fed) :], one.inputs[len(fed) :])
    ]
    outputs = [
        value(f"y{i}", kind(np.asarray(array).dtype), np.shape(array))
        for i, array in enumerate(one.expected)
    ]
    read = names[:1] if one.op == "If" else names
    if one.op == "If":  # the second operand is read by the branches
        for branch in ("then_branch", "else_branch"):
            attributes[branch] = onnx.GraphProto.FromString(
                attributes[branch].SerializeToString().replace(b"x0", b"x1")
            )
    node = oh.make_node(
        one.op, read, [out.name for out in outputs], domain=one.domain, **attributes
    )
    graph = oh.make_graph([node], "g", inputs, outputs, initializer=initialisers)
    opsets = [oh.make_opsetid(one.domain, version)]
    if one.domain:
        opsets.append(oh.make_opsetid("", 9))
    model = oh.make_model(graph, opset_imports=opsets)
    model.ir_version = 3 if version < 9 else 8 if version < 24 else 12
    onnx.checker.check_model(model)
    return model.SerializeToString()


@pytest.mark.parametrize(
    ("one", "version"), RUNS, ids=[f"{one.name}-{version}" for one, version in RUNS]
)
@pytest.mark.parametrize("execution", ["automatic", "interpreted"])
def test_version_gives_numpys_results(one, version, execution):
    session = scanloom.InferenceSession(model_of(one, version), execution=execution)
    assert session.warnings() == []
    fed = one.inputs[:1] if one.constant else one.inputs
    feeds = {f"x{i}": np.asarray(a) for i, a in enumerate(fed) if a is not None}
    results = session.run(None, feeds)
    assert len(results) == len(one.expected)
    for result, wanted in zip(results, one.expected):
        wanted = np.asarray(wanted)
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        if wanted.dtype.kind not in "fiub":  # those of ml_dtypes
            result, wanted = result.astype(np.float32), wanted.astype(np.float32)
        np.testing.assert_allclose(result, wanted, rtol=one.tolerance, atol=one.tolerance)


def test_every_version_of_every_operator_has_a_row():
    covered = {(one.op, version) for one, version in RUNS}
    missing = [
        f"{op}-{version}"
        for (op, domain), versions in VERSIONS.items()
        for version in versions
        if version <= NEWEST and op not in ELSEWHERE and (op, version) not in covered
    ]
    assert missing == []
    print(f"{len(covered)} versions of {len({op for op, _ in covered})} operators")


def test_other_files_name_what_they_test():
    for op, file in ELSEWHERE.items():
        (path,) = (PROJECT / "python/tests").rglob(file)
        text = path.read_text(encoding="utf-8")
        assert op in text or file == "test_backend_suite.py", (op, file)


def test_the_list_has_the_versions_that_onnx_has():
    theirs: dict[tuple[str, str], set[int]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        theirs.setdefault((schema.name, schema.domain), set()).add(schema.since_version)
    for key, versions in VERSIONS.items():
        assert set(versions) == theirs[key], key


OLD = {"opset_imports": [oh.make_opsetid("", 6)], "ir_version": 3}


def refusal(op, arrays, **attributes):
    names = [f"x{i}" for i in range(len(arrays))]
    inputs = [value(n, TP.FLOAT, a.shape) for n, a in zip(names, arrays)]
    node = oh.make_node(op, names, ["y"], name="n", **attributes)
    graph = oh.make_graph([node], "g", inputs, [value("y", TP.FLOAT, None)])
    with pytest.raises(scanloom.Error) as caught:
        scanloom.InferenceSession(oh.make_model(graph, **OLD).SerializeToString())
    return str(caught.value)


def test_old_versions_do_not_broadcast_unasked():
    text = refusal("Add", [X, X[0]])
    assert "node 'n' (Add-6)" in text and "input 1 'x1' has 1 axes, but the first one has 2" in text
    text = refusal("Max", [X, X[:, :1]])
    assert "(Max-6)" in text and "input 1 'x1' has size 1 on axis 1, but the first one has 3" in text


def test_old_axis_outside():
    text = refusal("Mul", [X, X], broadcast=1, axis=1)
    assert "attribute 'axis' is 1" in text
