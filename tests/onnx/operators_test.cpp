// Every operator that can be read, in its old and new forms: read, verified and interpreted.
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "frontends/onnx/converter.h"
#include "tests/onnx/reading.h"

namespace scanloom::onnx::test {
namespace {

using tensor::Shape;
using tensor::Tensor;

/// Inputs of the node are i0, i1, ...; outputs o0, o1, ...
NodeBytes op(const std::string& type, int inputs, int outputs = 1) {
  std::vector<std::string> in, out;
  for (int i = 0; i < inputs; ++i) in.push_back("i" + std::to_string(i));
  for (int i = 0; i < outputs; ++i) out.push_back("o" + std::to_string(i));
  return NodeBytes(type, in, out);
}

/// A feed, or an initialiser.
struct Input {
  Input(Tensor value, bool is_constant = false) : value(std::move(value)), constant(is_constant) {}
  Tensor value;
  bool constant;
};

Tensor f(const Shape& shape, const std::vector<float>& values) { return floats(shape, values); }
Tensor n(const Shape& shape, const std::vector<std::int64_t>& values) {
  return ints(shape, values);
}
Input fixed(std::vector<std::int64_t> values) {
  return {ints({static_cast<std::int64_t>(values.size())}, values), true};
}
Input fixed_scalar(std::int64_t value) { return {ints({}, {value}), true}; }

template <class T>
Tensor of(const Shape& shape, const std::vector<T>& values) {
  return Tensor::of<T>(shape, values);
}
Tensor truth(const Shape& shape, const std::vector<std::uint8_t>& values) {
  return *Tensor::copy_of(DType::boolean, shape, values.data());
}

struct Case {
  std::string name;
  NodeBytes node;
  std::vector<Input> inputs;
  std::vector<Tensor> expected;
  int opset = 16;
};

std::vector<double> doubles(const Tensor& tensor) {
  std::vector<double> values;
  if (tensor.dtype() == DType::f32)
    for (const float value : tensor.as<float>()) values.push_back(static_cast<double>(value));
  else
    for (const std::int64_t value : int_values(tensor))
      values.push_back(static_cast<double>(value));
  return values;
}

std::string raw_bytes(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.data()), tensor.bytes()};
}

ModelBytes model_of_case(const Case& one) {
  ModelBytes model;
  model.opset = one.opset;
  model.ml_opset = 1;
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    const Tensor& value = one.inputs[i].value;
    const std::string name = "i" + std::to_string(i);
    const int number = dtype_onnx_number(value.dtype());
    if (one.inputs[i].constant) {
      const auto dims = value.shape().dims();
      model.graph.initialisers.push_back(
          raw_tensor(name, number, {dims.begin(), dims.end()}, raw_bytes(value)));
    } else {
      std::vector<DimBytes> dims(static_cast<std::size_t>(value.shape().rank()), DimBytes(""));
      model.graph.inputs.push_back(value_info(name, number, dims));
    }
  }
  for (std::size_t i = 0; i < one.expected.size(); ++i)
    model.graph.outputs.push_back(value_info("o" + std::to_string(i)));
  model.graph.nodes = {one.node};
  return model;
}

std::vector<Case> activation_cases() {
  const Tensor x = f({3}, {-1, 0.5f, 2});
  const auto unary = [&](const char* type, const std::vector<float>& values, int opset = 16) {
    return Case{type, op(type, 1), {x}, {f({3}, values)}, opset};
  };
  return {
      unary("Abs", {1, 0.5f, 2}),
      unary("Neg", {1, -0.5f, -2}),
      unary("Ceil", {-1, 1, 2}),
      unary("Floor", {-1, 0, 2}),
      unary("Round", {-1, 0, 2}),
      unary("Relu", {0, 0.5f, 2}),
      unary("Sign", {-1, 1, 1}),
      unary("Reciprocal", {-1, 2, 0.5f}),
      unary("Exp", {std::exp(-1.f), std::exp(.5f), std::exp(2.f)}),
      unary("Sin", {std::sin(-1.f), std::sin(.5f), std::sin(2.f)}),
      unary("Cos", {std::cos(-1.f), std::cos(.5f), std::cos(2.f)}),
      unary("Tan", {std::tan(-1.f), std::tan(.5f), std::tan(2.f)}),
      unary("Tanh", {std::tanh(-1.f), std::tanh(.5f), std::tanh(2.f)}),
      unary("Erf", {std::erf(-1.f), std::erf(.5f), std::erf(2.f)}),
      unary("Sigmoid", {0.26894142f, 0.62245933f, 0.88079708f}),
      unary("Softplus", {0.31326169f, 0.97407698f, 2.12692801f}),
      unary("Softsign", {-0.5f, 1.f / 3, 2.f / 3}),
      unary("Elu", {std::expm1(-1.f), 0.5f, 2}),
      unary("LeakyRelu", {-0.01f, 0.5f, 2}),
      unary("HardSigmoid", {0.3f, 0.6f, 0.9f}),
      unary("HardSwish", {-1.f / 3, 0.29166667f, 5.f / 3}),
      unary("Selu", {-1.1113307f, 0.5253505f, 2.101402f}),
      unary("ThresholdedRelu", {0, 0, 2}),
      unary("Shrink", {-1, 0, 2}),
      unary("Mish", {-0.3034015f, 0.3752452f, 1.9439590f}, 18),
      unary("Gelu", {-0.15865525f, 0.34573123f, 1.95449974f}, 20),
      unary("Swish", {-0.26894142f, 0.31122967f, 1.76159416f}, 24),
      {"Gelu_tanh",
       op("Gelu", 1).text("approximate", "tanh"),
       {x},
       {f({3}, {-0.15880801f, 0.34571401f, 1.95459769f})},
       20},
      {"Gelu_large", op("Gelu", 1), {f({2}, {3e38f, -3e38f})}, {f({2}, {3e38f, 0})}, 20},
      {"Gelu_tanh_large",
       op("Gelu", 1).text("approximate", "tanh"),
       {f({2}, {3e38f, -3e38f})},
       {f({2}, {3e38f, 0})},
       20},
      {"Celu", op("Celu", 1).real("alpha", 2), {x}, {f({3}, {2 * std::expm1(-0.5f), 0.5f, 2})}},
  };
}

std::vector<Case> pointwise_cases() {
  const Tensor x = f({3}, {-1, 0.5f, 2}), a = f({2}, {6, 7}), b = f({2}, {2, 4});
  const Tensor p = truth({2}, {1, 0}), q = truth({2}, {1, 1});
  const Tensor j = n({2}, {12, 10}), k = n({2}, {10, 3});
  const auto binary = [&](const char* type, const std::vector<float>& values) {
    return Case{type, op(type, 2), {a, b}, {f({2}, values)}};
  };
  return {
      {"Log", op("Log", 1), {b}, {f({2}, {std::log(2.f), std::log(4.f)})}},
      {"Sqrt", op("Sqrt", 1), {b}, {f({2}, {std::sqrt(2.f), 2})}},
      {"PRelu", op("PRelu", 2), {x, f({1}, {0.25f})}, {f({3}, {-0.25f, 0.5f, 2})}},
      {"IsNaN", op("IsNaN", 1), {f({2}, {NAN, 1})}, {truth({2}, {1, 0})}},
      {"IsInf",
       op("IsInf", 1).integer("detect_negative", 0),
       {f({2}, {INFINITY, -INFINITY})},
       {truth({2}, {1, 0})}},
      binary("Add", {8, 11}),
      binary("Sub", {4, 3}),
      binary("Mul", {12, 28}),
      binary("Div", {3, 1.75f}),
      binary("Pow", {36, 2401}),
      binary("Max", {6, 7}),
      binary("Min", {2, 4}),
      binary("Sum", {8, 11}),
      binary("Mean", {4, 5.5f}),
      {"Mean_of_three", op("Mean", 3), {a, b, f({1}, {1})}, {f({2}, {3, 4})}},
      {"Max_of_one", op("Max", 1), {a}, {a}},
      {"Mod", op("Mod", 2), {n({2}, {-7, 7}), n({2}, {3, 3})}, {n({2}, {2, 1})}},
      {"Mod_fmod",
       op("Mod", 2).integer("fmod", 1),
       {f({2}, {-7, 7}), f({2}, {3, 3})},
       {f({2}, {-1, 1})}},
      {"And", op("And", 2), {p, q}, {p}},
      {"Or", op("Or", 2), {p, q}, {q}},
      {"Xor", op("Xor", 2), {p, q}, {truth({2}, {0, 1})}},
      {"Not", op("Not", 1), {p}, {truth({2}, {0, 1})}},
      {"Equal", op("Equal", 2), {j, n({2}, {12, 9})}, {p}},
      {"Less", op("Less", 2), {j, n({2}, {13, 10})}, {p}},
      {"LessOrEqual", op("LessOrEqual", 2), {j, n({2}, {12, 9})}, {p}},
      {"Greater", op("Greater", 2), {j, n({2}, {11, 10})}, {p}},
      {"GreaterOrEqual", op("GreaterOrEqual", 2), {j, n({2}, {12, 11})}, {p}},
      {"BitwiseAnd", op("BitwiseAnd", 2), {j, k}, {n({2}, {8, 2})}, 18},
      {"BitwiseOr", op("BitwiseOr", 2), {j, k}, {n({2}, {14, 11})}, 18},
      {"BitwiseXor", op("BitwiseXor", 2), {j, k}, {n({2}, {6, 9})}, 18},
      {"BitwiseNot", op("BitwiseNot", 1), {j}, {n({2}, {-13, -11})}, 18},
      {"BitShift",
       op("BitShift", 2).text("direction", "LEFT"),
       {of<std::uint8_t>({2}, {1, 3}), of<std::uint8_t>({2}, {2, 1})},
       {of<std::uint8_t>({2}, {4, 6})}},
      {"BitShift_right",
       op("BitShift", 2).text("direction", "RIGHT"),
       {of<std::uint8_t>({2}, {8, 3}), of<std::uint8_t>({2}, {2, 1})},
       {of<std::uint8_t>({2}, {2, 1})}},
      {"Where", op("Where", 3), {p, a, b}, {f({2}, {6, 4})}},
      {"Clip", op("Clip", 3), {x, f({}, {0}), f({}, {1})}, {f({3}, {0, 0.5f, 1})}},
      {"Clip_6", op("Clip", 1).real("max", 1), {x}, {f({3}, {-1, 0.5f, 1})}, 10},
      {"Clip_no_low",
       NodeBytes("Clip", {"i0", "", "i1"}, {"o0"}),
       {x, f({}, {1})},
       {f({3}, {-1, 0.5f, 1})}},
      {"Cast", op("Cast", 1).integer("to", kInt64), {x}, {n({3}, {-1, 0, 2})}},
      {"CastLike", op("CastLike", 2), {x, n({}, {0})}, {n({3}, {-1, 0, 2})}},
      {"Identity", op("Identity", 1), {x}, {x}},
      {"Dropout", op("Dropout", 1, 2), {x}, {x, truth({3}, {1, 1, 1})}},
      {"Dropout_12", op("Dropout", 3), {x, {f({}, {0.5f}), true}, {truth({}, {0}), true}}, {x}},
  };
}

std::vector<Case> shape_cases() {
  const Tensor x = f({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor row = f({1, 3}, {1, 2, 3}), line = f({3}, {1, 2, 3});
  return {
      {"Expand", op("Expand", 2), {line, fixed({2, 1})}, {f({2, 3}, {1, 2, 3, 1, 2, 3})}},
      {"Flatten", op("Flatten", 1).integer("axis", 0), {x}, {f({1, 6}, {1, 2, 3, 4, 5, 6})}},
      {"Reshape", op("Reshape", 2), {x, n({2}, {0, -1})}, {x}},
      {"Reshape_allowzero",
       op("Reshape", 2).integer("allowzero", 1),
       {f({0, 3}, {}), n({2}, {3, 0})},
       {f({3, 0}, {})}},
      {"Shape", op("Shape", 1), {x}, {n({2}, {2, 3})}},
      {"Shape_15", op("Shape", 1).integer("start", -1).integer("end", 7), {x}, {n({1}, {3})}},
      {"Size", op("Size", 1), {x}, {n({}, {6})}},
      {"Tile", op("Tile", 2), {line, n({1}, {2})}, {f({6}, {1, 2, 3, 1, 2, 3})}},
      {"Transpose", op("Transpose", 1), {x}, {f({3, 2}, {1, 4, 2, 5, 3, 6})}},
      {"Transpose_perm", op("Transpose", 1).integers("perm", {0, 1}), {x}, {x}},
      {"Squeeze", op("Squeeze", 2), {row, fixed({-2})}, {line}},
      {"Squeeze_all", op("Squeeze", 1), {row}, {line}},
      {"Squeeze_1", op("Squeeze", 1).integers("axes", {0}), {row}, {line}, 9},
      {"Unsqueeze", op("Unsqueeze", 2), {line, fixed({0})}, {row}},
      {"Unsqueeze_1", op("Unsqueeze", 1).integers("axes", {0}), {line}, {row}, 11},
      {"Concat", op("Concat", 2).integer("axis", -1), {line, f({1}, {4})}, {f({4}, {1, 2, 3, 4})}},
      {"Gather", op("Gather", 2).integer("axis", 1), {x, n({1}, {-1})}, {f({2, 1}, {3, 6})}},
      {"GatherElements",
       op("GatherElements", 2).integer("axis", 1),
       {x, n({2, 1}, {0, 2})},
       {f({2, 1}, {1, 6})}},
      {"NonZero", op("NonZero", 1), {n({3}, {0, 5, 6})}, {n({1, 2}, {1, 2})}},
      {"Slice",
       op("Slice", 5),
       {x, n({1}, {-1}), n({1}, {-9}), n({1}, {1}), n({1}, {-2})},
       {f({2, 2}, {3, 1, 6, 4})}},
      {"Slice_no_axes",
       NodeBytes("Slice", {"i0", "i1", "i2", "", "i3"}, {"o0"}),
       {x, n({2}, {0, 0}), n({2}, {2, 3}), n({2}, {1, 2})},
       {f({2, 2}, {1, 3, 4, 6})}},
      {"Slice_1",
       op("Slice", 1).integers("starts", {1}).integers("ends", {99}).integers("axes", {1}),
       {x},
       {f({2, 2}, {2, 3, 5, 6})},
       9},
      {"Slice_1_no_axes",
       op("Slice", 1).integers("starts", {1, 0}).integers("ends", {2, 2}),
       {x},
       {f({1, 2}, {4, 5})},
       9},
  };
}

std::vector<Case> rearranging_cases() {
  const Tensor x = f({2, 3}, {1, 2, 3, 4, 5, 6}), flat = f({6}, {1, 2, 3, 4, 5, 6});
  const Tensor row = f({1, 3}, {1, 2, 3}), line = f({3}, {1, 2, 3});
  return {
      {"Split", op("Split", 1, 2), {flat}, {line, f({3}, {4, 5, 6})}},
      {"Split_2",
       op("Split", 1, 2).integers("split", {1, 2}),
       {line},
       {f({1}, {1}), f({2}, {2, 3})},
       9},
      {"Split_13", op("Split", 2, 2), {line, n({2}, {2, 1})}, {f({2}, {1, 2}), f({1}, {3})}, 13},
      {"Split_18",
       op("Split", 1, 2).integer("num_outputs", 2),
       {line},
       {f({2}, {1, 2}), f({1}, {3})},
       18},
      {"Pad", op("Pad", 3), {line, n({2}, {1, 0}), f({}, {9})}, {f({4}, {9, 1, 2, 3})}},
      {"Pad_2",
       op("Pad", 1).integers("pads", {0, 1}).text("mode", "constant").real("value", 7),
       {line},
       {f({4}, {1, 2, 3, 7})},
       9},
      {"Pad_reflect",
       op("Pad", 2).text("mode", "reflect"),
       {line, n({2}, {2, 0})},
       {f({5}, {3, 2, 1, 2, 3})}},
      {"Pad_axes",
       NodeBytes("Pad", {"i0", "i1", "", "i2"}, {"o0"}),
       {row, n({2}, {0, 1}), n({1}, {-2})},
       {f({2, 3}, {1, 2, 3, 0, 0, 0})},
       18},
      {"Range", op("Range", 3), {n({}, {1}), n({}, {6}), n({}, {2})}, {n({3}, {1, 3, 5})}},
      {"Trilu", op("Trilu", 1), {x}, {f({2, 3}, {1, 2, 3, 0, 5, 6})}},
      {"Trilu_lower",
       op("Trilu", 2).integer("upper", 0),
       {x, n({}, {-1})},
       {f({2, 3}, {0, 0, 0, 4, 0, 0})}},
      {"ConstantOfShape",
       op("ConstantOfShape", 1).tensor("value", int64_tensor("", {1}, {4})),
       {n({1}, {2})},
       {n({2}, {4, 4})}},
      {"ConstantOfShape_zero", op("ConstantOfShape", 1), {n({1}, {2})}, {f({2}, {0, 0})}},
      {"Constant",
       op("Constant", 0).tensor("value", float_tensor("", {2}, {1, 2})),
       {},
       {f({2}, {1, 2})}},
      {"Constant_float", op("Constant", 0).real("value_float", 2), {}, {f({}, {2})}},
      {"Constant_floats", op("Constant", 0).floats("value_floats", {2, 3}), {}, {f({2}, {2, 3})}},
      {"Constant_int", op("Constant", 0).integer("value_int", 2), {}, {n({}, {2})}},
      {"Constant_ints", op("Constant", 0).integers("value_ints", {2, 3}), {}, {n({2}, {2, 3})}},
      {"ArrayFeatureExtractor",
       op("ArrayFeatureExtractor", 2).domain("ai.onnx.ml"),
       {x, n({1, 2}, {2, 0})},
       {f({2, 2}, {3, 1, 6, 4})}},
      {"ArrayFeatureExtractor_row",
       op("ArrayFeatureExtractor", 2).domain("ai.onnx.ml"),
       {line, n({1}, {2})},
       {f({1, 1}, {3})}},
  };
}

std::vector<Case> reduction_cases() {
  const Tensor x = f({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto last = [&](const char* type, const std::vector<float>& values) {
    return Case{
        type, op(type, 1).integers("axes", {1}).integer("keepdims", 0), {x}, {f({2}, values)}, 11};
  };
  const float s1 = 1 / (1 + std::exp(-1.f)), s2 = 1 - s1;
  return {
      last("ReduceSum", {6, 15}),
      last("ReduceMean", {2, 5}),
      last("ReduceMax", {3, 6}),
      last("ReduceMin", {1, 4}),
      last("ReduceProd", {6, 120}),
      last("ReduceSumSquare", {14, 77}),
      last("ReduceL1", {6, 15}),
      last("ReduceL2", {std::sqrt(14.f), std::sqrt(77.f)}),
      last("ReduceLogSum", {std::log(6.f), std::log(15.f)}),
      last("ReduceLogSumExp", {3.4076059f, 6.4076059f}),
      {"ReduceSum_13", op("ReduceSum", 2), {x, fixed({0})}, {f({1, 3}, {5, 7, 9})}, 13},
      {"ReduceMean_18", op("ReduceMean", 2), {x, fixed({-1})}, {f({2, 1}, {2, 5})}, 18},
      {"ReduceSum_all", op("ReduceSum", 1).integer("keepdims", 0), {x}, {f({}, {21})}, 13},
      {"ReduceSum_empty", op("ReduceSum", 2), {x, fixed({})}, {f({1, 1}, {21})}, 13},
      {"ReduceSumSquare_noop",
       op("ReduceSumSquare", 1).integer("noop_with_empty_axes", 1),
       {x},
       {f({2, 3}, {1, 4, 9, 16, 25, 36})},
       18},
      {"ArgMax", op("ArgMax", 1).integer("axis", 1).integer("keepdims", 0), {x}, {n({2}, {2, 2})}},
      {"ArgMin",
       op("ArgMin", 1).integer("select_last_index", 1),
       {f({2, 1}, {4, 4})},
       {n({1, 1}, {1})}},
      {"CumSum",
       op("CumSum", 2).integer("exclusive", 1).integer("reverse", 1),
       {f({3}, {1, 2, 3}), fixed_scalar(0)},
       {f({3}, {5, 3, 0})}},
      {"TopK",
       op("TopK", 2, 2).integer("largest", 0),
       {f({3}, {3, 1, 2}), n({1}, {2})},
       {f({2}, {1, 2}), n({2}, {1, 2})}},
      {"TopK_10",
       op("TopK", 2, 2),
       {f({3}, {3, 1, 2}), n({1}, {1})},
       {f({1}, {3}), n({1}, {0})},
       10},
      {"TopK_1",
       op("TopK", 1, 2).integer("k", 1),
       {f({3}, {3, 1, 2})},
       {f({1}, {3}), n({1}, {0})},
       9},
      {"Softmax", op("Softmax", 1), {f({2, 2}, {2, 1, 1, 2})}, {f({2, 2}, {s1, s2, s2, s1})}},
      {"Softmax_1",
       op("Softmax", 1).integer("axis", 0),
       {f({1, 2, 1}, {2, 1})},
       {f({1, 2, 1}, {s1, s2})},
       9},
      {"Softmax_1_default",
       op("Softmax", 1),
       {f({2, 1, 2}, {2, 1, 1, 2})},
       {f({2, 1, 2}, {s1, s2, s2, s1})},
       11},
      {"LogSoftmax",
       op("LogSoftmax", 1).integer("axis", 0),
       {f({2}, {2, 1})},
       {f({2}, {std::log(s1), std::log(s2)})}},
      {"GlobalAveragePool",
       op("GlobalAveragePool", 1),
       {f({1, 2, 2}, {1, 3, 5, 9})},
       {f({1, 2, 1}, {2, 7})}},
      {"GlobalMaxPool",
       op("GlobalMaxPool", 1),
       {f({1, 2, 2}, {1, 3, 5, 9})},
       {f({1, 2, 1}, {3, 9})}},
      {"BatchNormalization",
       op("BatchNormalization", 5).real("epsilon", 0),
       {f({1, 2, 1}, {3, 4}), f({2}, {2, 1}), f({2}, {1, 0}), f({2}, {1, 2}), f({2}, {4, 1})},
       {f({1, 2, 1}, {3, 2})},
       9},
      {"LayerNormalization",
       op("LayerNormalization", 3, 2).real("epsilon", 0),
       {f({1, 2}, {1, 3}), f({2}, {2, 2}), f({2}, {1, 1})},
       {f({1, 2}, {-1, 3}), f({1, 1}, {2})},
       17},
      {"RMSNormalization",
       op("RMSNormalization", 2).real("epsilon", 0),
       {f({1, 2}, {1, 7}), f({2}, {5, 5})},
       {f({1, 2}, {1, 7})},
       23},
  };
}

std::vector<Case> product_cases() {
  const Tensor a = f({2, 2}, {1, 2, 3, 4}), b = f({2, 2}, {5, 6, 7, 8});
  const Tensor scale = f({}, {0.5f});
  return {
      {"MatMul", op("MatMul", 2), {a, b}, {f({2, 2}, {19, 22, 43, 50})}},
      {"MatMul_vector", op("MatMul", 2), {a, f({2}, {1, 1})}, {f({2}, {3, 7})}},
      {"Gemm",
       op("Gemm", 3).integer("transA", 1).integer("transB", 1).real("alpha", 2).real("beta", 3),
       {a, b, f({2}, {1, 2})},
       {f({2, 2}, {49, 68, 71, 98})}},
      {"Gemm_11", op("Gemm", 2), {a, b}, {f({2, 2}, {19, 22, 43, 50})}, 11},
      {"Einsum", op("Einsum", 2).text("equation", "ij, jk"), {a, b}, {f({2, 2}, {19, 22, 43, 50})}},
      {"Einsum_one", op("Einsum", 1).text("equation", "ij->ji"), {a}, {f({2, 2}, {1, 3, 2, 4})}},
      {"Conv",
       op("Conv", 3)
           .integers("pads", {1, 0})
           .integers("strides", {2})
           .integers("kernel_shape", {2}),
       {f({1, 1, 3}, {1, 2, 3}), f({1, 1, 2}, {1, 10}), f({1}, {0.5f})},
       {f({1, 1, 2}, {10.5f, 32.5f})}},
      {"Conv_same",
       op("Conv", 2).text("auto_pad", "SAME_UPPER"),
       {f({1, 1, 2}, {1, 2}), f({1, 1, 2}, {1, 10})},
       {f({1, 1, 2}, {21, 2})}},
      {"QLinearConv",
       op("QLinearConv", 8),
       {of<std::uint8_t>({1, 1, 2}, {3, 5}), scale, of<std::uint8_t>({}, {1}),
        of<std::int8_t>({1, 1, 1}, {4}), scale, of<std::int8_t>({}, {0}), f({}, {1}),
        of<std::uint8_t>({}, {10})},
       {of<std::uint8_t>({1, 1, 2}, {12, 14})}},
      {"QuantizeLinear",
       op("QuantizeLinear", 3),
       {f({2}, {1, -1}), scale, of<std::int8_t>({}, {3})},
       {of<std::int8_t>({2}, {5, 1})}},
      {"QuantizeLinear_21",
       op("QuantizeLinear", 2).integer("output_dtype", 3),
       {f({1, 2}, {1, -1}), f({2}, {0.5f, 0.25f})},
       {of<std::int8_t>({1, 2}, {2, -4})},
       21},
      {"DequantizeLinear",
       op("DequantizeLinear", 3),
       {of<std::int8_t>({2}, {5, 1}), scale, of<std::int8_t>({}, {3})},
       {f({2}, {1, -1})},
       10},
  };
}

void expect_near(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(actual.shape(), expected.shape())
      << actual.shape().to_string() << " and " << expected.shape().to_string();
  const std::vector<double> got = doubles(actual), wanted = doubles(expected);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], 2e-6 * std::max(1.0, std::abs(wanted[i]))) << "element " << i;
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& part : {activation_cases(), pointwise_cases(), shape_cases(),
                           rearranging_cases(), reduction_cases(), product_cases()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

class OperatorOf : public ::testing::TestWithParam<Case> {};

TEST_P(OperatorOf, IsReadAndGivesItsResult) {
  const Case& one = GetParam();
  std::vector<Tensor> feeds;
  for (const Input& input : one.inputs)
    if (!input.constant) feeds.push_back(input.value);
  const auto outputs = run(model_of_case(one), feeds);
  ASSERT_EQ(outputs.size(), one.expected.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) expect_near(outputs[i], one.expected[i]);
  EXPECT_TRUE(read(model_of_case(one)).diagnostics.warnings().empty());
}

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

INSTANTIATE_TEST_SUITE_P(Onnx, OperatorOf, ::testing::ValuesIn(all_cases()),
                         [](const auto& info) { return info.param.name; });

// These have cases in python/tests, which test_old_versions.py lists.
constexpr const char* kInPython[] = {
    "Acos",
    "Acosh",
    "Adagrad",
    "Adam",
    "AffineGrid",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Attention",
    "AveragePool",
    "Bernoulli",
    "Binarizer",
    "BitCast",
    "BlackmanWindow",
    "CastMap",
    "CategoryMapper",
    "CausalConvWithState",
    "CenterCropPad",
    "Col2Im",
    "Compress",
    "ConcatFromSequence",
    "ConvInteger",
    "ConvTranspose",
    "Cosh",
    "CumProd",
    "DFT",
    "DeformConv",
    "DepthToSpace",
    "Det",
    "DictVectorizer",
    "DynamicQuantizeLinear",
    "EyeLike",
    "FeatureVectorizer",
    "FlexAttention",
    "GRU",
    "GatherND",
    "GlobalLpPool",
    "Gradient",
    "GridSample",
    "GroupNormalization",
    "HammingWindow",
    "HannWindow",
    "Hardmax",
    "ImageDecoder",
    "Imputer",
    "InstanceNormalization",
    "LRN",
    "LabelEncoder",
    "LinearAttention",
    "LinearClassifier",
    "LinearRegressor",
    "LpNormalization",
    "LpPool",
    "MatMulInteger",
    "MaxPool",
    "MaxRoiPool",
    "MaxUnpool",
    "MeanVarianceNormalization",
    "MelWeightMatrix",
    "Momentum",
    "Multinomial",
    "NegativeLogLikelihoodLoss",
    "NonMaxSuppression",
    "Normalizer",
    "OneHot",
    "OneHotEncoder",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
    "QLinearMatMul",
    "RNN",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "RegexFullMatch",
    "Resize",
    "ReverseSequence",
    "RoiAlign",
    "RotaryEmbedding",
    "STFT",
    "SVMClassifier",
    "SVMRegressor",
    "Scaler",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SequenceMap",
    "SimplifiedLayerNormalization",
    "Sinh",
    "SoftmaxCrossEntropyLoss",
    "SpaceToDepth",
    "SplitToSequence",
    "StringConcat",
    "StringNormalizer",
    "StringSplit",
    "TensorScatter",
    "TfIdfVectorizer",
    "TreeEnsemble",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
    "Unique",
    "Upsample",
    "ZipMap",
};

TEST(Operators, EveryListedOneHasACase) {
  std::set<std::string> missing;
  // The operators of ONNX Runtime are compared with it, in python/tests/onnx.
  for (const Converter& converter : all_converters())
    if (converter.domain != "com.microsoft") missing.emplace(converter.op_type);
  for (const Case& one : all_cases()) missing.erase(one.name);
  // These have tests of their own.
  for (const char* const name : {"If", "Loop", "Scan", "LSTM"}) missing.erase(name);
  for (const char* const name : kInPython) missing.erase(name);
  EXPECT_THAT(missing, ::testing::IsEmpty());
}

TEST(Operators, TheVersionOfAnOperatorIsTheNewestThatIsNotNewer) {
  const Converter* const slice = find_converter("", "Slice");
  ASSERT_NE(slice, nullptr);
  EXPECT_EQ(slice->since(9), 1);
  EXPECT_EQ(slice->since(10), 10);
  EXPECT_EQ(slice->since(12), 11);
  EXPECT_EQ(slice->since(27), 13);
  EXPECT_EQ(find_converter("ai.onnx.ml", "Slice"), nullptr);
}

TEST(Operators, UnknownAttributesAndNewerVersionsAreErrorsUnlessLenient) {
  ModelBytes model =
      model_of_case({"", op("Relu", 1).integer("hidden", 1), {f({1}, {1})}, {f({1}, {1})}, 99});
  const Reading refused = read(model);
  ASSERT_FALSE(refused.module);
  ASSERT_EQ(refused.diagnostics.errors().size(), 2u);
  EXPECT_EQ(refused.diagnostics.errors()[0].code(), Code::unsupported);
  EXPECT_THAT(refused.diagnostics.errors()[0].text(), ::testing::HasSubstr("version 99"));
  EXPECT_THAT(refused.diagnostics.errors()[1].text(),
              ::testing::HasSubstr("attribute 'hidden' is unknown"));
  const Reading reading = read(model, {.lenient = true, .folder = {}});
  ASSERT_TRUE(reading.module);
  ASSERT_EQ(reading.diagnostics.warnings().size(), 2u);
  EXPECT_THAT(reading.diagnostics.warnings()[1], ::testing::HasSubstr("'hidden' is unknown"));
}

/// One direction, one unit, two steps; all weights 1, no bias: h1 = sigmoid(x) * tanh(...).
ModelBytes lstm_model(NodeBytes node) {
  ModelBytes model;
  model.graph.inputs = {value_info("x", kFloat, {"T", 1, 1})};
  model.graph.initialisers = {float_tensor("w", {1, 4, 1}, {1, 1, 1, 1}),
                              float_tensor("r", {1, 4, 1}, {0, 0, 0, 0})};
  model.graph.outputs = {value_info("c")};
  model.graph.nodes = {std::move(node)};
  return model;
}

float lstm_cell(float x, float c) {
  const float gate = 1 / (1 + std::exp(-x));
  return gate * c + gate * std::tanh(x);
}

TEST(Operators, LstmWithoutHiddenSizeAndWithOneOutputOnly) {
  const auto outputs =
      run(lstm_model(NodeBytes("LSTM", {"x", "w", "r"}, {"", "", "c"})), {f({2, 1, 1}, {1, -1})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].shape(), (Shape{1, 1, 1}));
  EXPECT_NEAR(float_values(outputs[0])[0], lstm_cell(-1, lstm_cell(1, 0)), 1e-6);
}

TEST(Operators, LstmAttributesAreChecked) {
  const auto error_of = [](NodeBytes node) {
    const Reading reading = read(lstm_model(std::move(node)));
    return reading.module ? std::string("none") : reading.module.error().message();
  };
  const NodeBytes lstm("LSTM", {"x", "w", "r"}, {"", "", "c"});
  EXPECT_THAT(error_of(NodeBytes(lstm).text("direction", "up")),
              ::testing::HasSubstr("'up', neither forward"));
  EXPECT_THAT(error_of(NodeBytes(lstm).texts("activations", {"Tanh"})),
              ::testing::HasSubstr("'activations' has 1 names, but 3 are needed"));
  EXPECT_EQ(error_of(NodeBytes(lstm).texts("activations", {"Sigmoid", "Tanh", "Tanh"})), "none");
  EXPECT_EQ(error_of(NodeBytes(lstm)
                         .texts("activations", {"Elu", "Tanh", "Tanh"})
                         .floats("activation_alpha", {0.5f})),
            "none");
  EXPECT_THAT(error_of(NodeBytes(lstm).texts("activations", {"Sine", "Tanh", "Tanh"})),
              ::testing::HasSubstr("activation 'Sine' is not supported"));
}

}  // namespace
}  // namespace scanloom::onnx::test
