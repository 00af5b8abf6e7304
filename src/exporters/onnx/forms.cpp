#include "exporters/onnx/forms.h"

#include <algorithm>
#include <initializer_list>
#include <span>

#include "ops/ops.h"

namespace scanloom::exporters::onnx {
namespace {

using Write = void (*)(NodeEmitter&);

/// An operator written as the ONNX node `type` with the same operands and attributes, unless
/// `write` does it. Operands in `as_i64` must be i64 in ONNX, while the module also allows i32.
struct FormRow {
  const ir::OpDef* op;
  const char* type;
  Write write = nullptr;
  std::initializer_list<std::size_t> as_i64 = {};
  int opset = 18;
};

const FormRow kRows[] = {
    {&ops::abs_op, "Abs"},
    {&ops::acos_op, "Acos"},
    {&ops::acosh_op, "Acosh"},
    {&ops::add_op, "Add"},
    {&ops::affine_grid_op, "AffineGrid", nullptr, {1}, 20},
    {&ops::argmax_op, "ArgMax"},
    {&ops::argmin_op, "ArgMin"},
    {&ops::asin_op, "Asin"},
    {&ops::asinh_op, "Asinh"},
    {&ops::atan_op, "Atan"},
    {&ops::atanh_op, "Atanh"},
    {&ops::average_pool_op, "AveragePool", forms::average_pool},
    {&ops::bit_and_op, "BitwiseAnd"},
    {&ops::bit_cast_op, "BitCast", forms::bit_cast},
    {&ops::bit_not_op, "BitwiseNot"},
    {&ops::bit_or_op, "BitwiseOr"},
    {&ops::bit_xor_op, "BitwiseXor"},
    {&ops::cast_op, "Cast", forms::cast},
    {&ops::ceil_op, "Ceil"},
    {&ops::check_equal_op, "Identity", forms::check_equal},
    {&ops::clip_op, "Clip", forms::clip},
    {&ops::col2im_op, "Col2Im", nullptr, {1, 2}},
    {&ops::concat_op, "Concat"},
    {&ops::constant_of_shape_op, "ConstantOfShape", forms::constant_of_shape, {0}},
    {&ops::contract_op, "Einsum", forms::contract},
    {&ops::conv_op, "Conv", forms::conv},
    {&ops::conv_transpose_op, "ConvTranspose", forms::conv},
    {&ops::cos_op, "Cos"},
    {&ops::cosh_op, "Cosh"},
    {&ops::cumprod_op, "Scan", forms::cumprod},
    {&ops::cumsum_op, "CumSum", forms::cumsum},
    {&ops::deform_conv_op, "DeformConv", forms::deform_conv, {}, 19},
    {&ops::dense_op, "Identity"},
    {&ops::dequantize_blocks_op, "DequantizeLinear", forms::dequantize_blocks},
    {&ops::dequantize_linear_op, "DequantizeLinear", forms::dequantize_linear},
    {&ops::dft_op, "DFT", forms::dft, {}, 20},
    {&ops::dim_op, "Shape", forms::dim},
    {&ops::div_op, "Div"},
    {&ops::elu_op, "Elu"},
    {&ops::equal_op, "Equal"},
    {&ops::erf_op, "Erf"},
    {&ops::exp_op, "Exp"},
    {&ops::expand_op, "Expand", nullptr, {1}},
    {&ops::expm1_op, "Tanh", forms::expm1},
    {&ops::flatten_op, "Flatten"},
    {&ops::floor_op, "Floor"},
    {&ops::gather_op, "Gather"},
    {&ops::gather_elements_op, "GatherElements"},
    {&ops::gather_nd_op, "GatherND", nullptr, {1}},
    {&ops::grid_sample_op, "GridSample", forms::grid_sample},
    {&ops::gru_op, "GRU", forms::gru},
    {&ops::hard_sigmoid_op, "HardSigmoid"},
    {&ops::identity_op, "Identity"},
    {&ops::image_decode_op, "ImageDecoder", nullptr, {}, 20},
    {&ops::integer_matmul_op, "MatMulInteger", forms::integer_matmul},
    {&ops::is_inf_op, "IsInf"},
    {&ops::is_nan_op, "IsNaN"},
    {&ops::label_encode_op, "LabelEncoder", forms::label_encode},
    {&ops::leaky_relu_op, "LeakyRelu"},
    {&ops::less_op, "Less"},
    {&ops::less_equal_op, "LessOrEqual"},
    {&ops::log_op, "Log"},
    {&ops::log1p_op, "Log", forms::log1p},
    {&ops::log_softmax_op, "LogSoftmax"},
    {&ops::logical_and_op, "And"},
    {&ops::logical_not_op, "Not"},
    {&ops::logical_or_op, "Or"},
    {&ops::logical_xor_op, "Xor"},
    {&ops::lp_pool_op, "LpPool", forms::lp_pool},
    {&ops::lstm_op, "LSTM", forms::lstm},
    {&ops::lu_det_op, "Det", forms::lu_det},
    {&ops::lu_factor_op, "Det", forms::lu_factor},
    {&ops::map_gather_op, "DictVectorizer", forms::map_gather},
    {&ops::map_values_op, "CastMap", forms::map_values},
    {&ops::max_op, "Max"},
    {&ops::max_pool_op, "MaxPool", forms::max_pool},
    {&ops::max_roi_pool_op, "MaxRoiPool", forms::max_roi_pool},
    {&ops::max_unpool_op, "MaxUnpool", forms::max_unpool, {1, 2}},
    {&ops::min_op, "Min"},
    {&ops::mod_op, "Mod", forms::mod},
    {&ops::mul_op, "Mul"},
    {&ops::neg_op, "Neg", forms::neg},
    {&ops::non_max_suppression_op, "NonMaxSuppression", forms::non_max_suppression, {2}},
    {&ops::non_zero_op, "NonZero"},
    {&ops::optional_op, "Optional"},
    {&ops::optional_empty_op, "Optional", forms::optional_empty},
    {&ops::optional_get_element_op, "OptionalGetElement"},
    {&ops::optional_has_element_op, "OptionalHasElement"},
    {&ops::pad_op, "Pad", forms::pad, {1}},
    {&ops::pow_op, "Pow"},
    {&ops::qlinear_conv_op, "QLinearConv", forms::qlinear_conv},
    {&ops::quantize_linear_op, "QuantizeLinear", forms::quantize_linear},
    {&ops::random_op, "RandomUniformLike", forms::random, {0}},
    {&ops::range_op, "Range", forms::range},
    {&ops::reduce_op, "Reduce", forms::reduce, {1}},
    {&ops::regex_full_match_op, "RegexFullMatch", nullptr, {}, 20},
    {&ops::relu_op, "Relu", forms::relu},
    {&ops::resample_op, "Resize", forms::resample},
    {&ops::reshape_op, "Reshape", nullptr, {1}},
    {&ops::reverse_sequence_op, "ReverseSequence", forms::reverse_sequence, {1}},
    {&ops::rnn_op, "RNN", forms::rnn},
    {&ops::roi_align_op, "RoiAlign", forms::roi_align, {2}},
    {&ops::round_op, "Round"},
    {&ops::scatter_elements_op, "ScatterElements"},
    {&ops::scatter_nd_op, "ScatterND", nullptr, {1}},
    {&ops::sequence_at_op, "SequenceAt"},
    {&ops::sequence_concat_op, "ConcatFromSequence"},
    {&ops::sequence_construct_op, "SequenceConstruct", forms::sequence_construct},
    {&ops::sequence_empty_op, "SequenceEmpty"},
    {&ops::sequence_erase_op, "SequenceErase"},
    {&ops::sequence_insert_op, "SequenceInsert"},
    {&ops::sequence_length_op, "SequenceLength"},
    {&ops::sequence_split_op, "SplitToSequence"},
    {&ops::shape_op, "Shape"},
    {&ops::shift_left_op, "BitShift", forms::shift_left},
    {&ops::shift_right_op, "BitShift", forms::shift_right},
    {&ops::sigmoid_op, "Sigmoid"},
    {&ops::sign_op, "Sign"},
    {&ops::sin_op, "Sin"},
    {&ops::sinh_op, "Sinh"},
    {&ops::size_op, "Size"},
    {&ops::slice_op, "Slice"},
    {&ops::softmax_op, "Softmax"},
    {&ops::softplus_op, "Softplus"},
    {&ops::split_op, "Split", forms::split, {1}},
    {&ops::sqrt_op, "Sqrt"},
    {&ops::squared_distances_op, "ReduceSumSquare", forms::squared_distances},
    {&ops::squeeze_op, "Squeeze", forms::axes, {1}},
    {&ops::string_concat_op, "StringConcat", nullptr, {}, 20},
    {&ops::string_format_op, "Cast", forms::string_format},
    {&ops::string_normalize_op, "StringNormalizer", forms::string_normalize},
    {&ops::string_parse_op, "Cast", forms::string_parse},
    {&ops::string_split_op, "StringSplit", forms::string_split, {}, 20},
    {&ops::sub_op, "Sub"},
    {&ops::sum_to_op, "ReduceSum", forms::sum_to, {1}},
    {&ops::tanh_op, "Tanh"},
    {&ops::tfidf_op, "TfIdfVectorizer", forms::tfidf},
    {&ops::tile_op, "Tile", nullptr, {1}},
    {&ops::topk_op, "TopK", forms::topk},
    {&ops::transpose_op, "Transpose"},
    {&ops::tree_ensemble_op, "TreeEnsembleRegressor", forms::tree_ensemble},
    {&ops::unique_op, "Unique"},
    {&ops::unsqueeze_op, "Unsqueeze", forms::axes, {1}},
    {&ops::where_op, "Where"},
    {&ops::zip_map_op, "ZipMap", forms::zip_map},
};

/// The first ONNX opset in which the first operand can have that type. Lists operators that accept
/// a type later than ONNX introduced it (see ModelParts::need_type).
struct Later {
  const char* type;
  std::initializer_list<DType> dtypes;
  int opset;
};

const Later kLater[] = {
    {"Equal", {DType::string}, 19},
    {"IsInf", {DType::f16, DType::bf16}, 20},
    {"IsNaN", {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz}, 20},
    {"SplitToSequence", {DType::bf16}, 24},
    {"TopK", {DType::bf16}, 24},
    {"ReverseSequence", {DType::bf16}, 28},
    {"Unique", {DType::bf16}, 28},
    {"Optional", {DType::bf16}, 28},
    {"OptionalGetElement", {DType::bf16}, 28},
    {"OptionalHasElement", {DType::bf16}, 28},
};
/// Operators that accept bf16 since opset 22.
const char* const kLaterBf16[] = {
    "Acos",     "Acosh",      "AffineGrid",  "Asin", "Asinh",
    "Atan",     "Atanh",      "AveragePool", "Conv", "ConvTranspose",
    "Cos",      "Cosh",       "DeformConv",  "Det",  "Elu",
    "GRU",      "GridSample", "HardSigmoid", "LSTM", "LpPool",
    "MaxPool",  "MaxRoiPool", "MaxUnpool",   "RNN",  "RandomUniformLike",
    "RoiAlign", "Round",      "Sin",         "Sinh", "Softplus"};
/// Operators that accept 8-bit floats since opset 21; other operators that move data do since 19.
const char* const kLaterF8[] = {"Flatten", "Pad", "Squeeze", "Transpose", "Unsqueeze"};

bool is_f8(DType dtype) {
  return dtype == DType::f8e4m3fn || dtype == DType::f8e4m3fnuz || dtype == DType::f8e5m2 ||
         dtype == DType::f8e5m2fnuz;
}

bool is_among(std::string_view type, std::span<const char* const> types) {
  return std::ranges::any_of(types, [&](const char* each) { return type == each; });
}

int opset_of(std::string_view type, DType dtype) {
  for (const Later& row : kLater)
    if (type == row.type && std::ranges::find(row.dtypes, dtype) != row.dtypes.end())
      return row.opset;
  if (dtype == DType::bf16 && is_among(type, kLaterBf16)) return 22;
  if (is_f8(dtype) && is_among(type, kLaterF8)) return 21;
  return 0;
}

/// Element types most operators do not accept: narrow floats and integers.
bool is_narrow(DType dtype) {
  return (is_floating_point(dtype) && dtype_bytes(dtype) == 1) ||
         (is_integer(dtype) && dtype_file_bits(dtype) < 8);
}

/// Operators that accept all element types.
const char* const kTakeNarrow[] = {
    "Cast",      "Flatten",   "Identity", "IsInf",          "IsNaN",
    "Reshape",   "Shape",     "Size",     "Squeeze",        "Pad",
    "Transpose", "Unsqueeze", "BitCast",  "QuantizeLinear", "DequantizeLinear"};

/// Computes in a wider type that can represent every element of the narrow one.
void write_widened(NodeEmitter& node, const char* type) {
  const auto wide = [](DType dtype) { return is_floating_point(dtype) ? DType::f32 : DType::i32; };
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    if (node.has(i) && is_narrow(node.dtype(i)))
      node.set_in(i, node.cast(node.in(i), wide(node.dtype(i))));
  Names made;
  for (std::size_t i = 0; i < node.outputs().size(); ++i)
    made.push_back(is_narrow(node.out_type(i).dtype) ? node.fresh() : node.out(i));
  node.emit(type, node.inputs(), made, node.attributes());
  for (std::size_t i = 0; i < made.size(); ++i) {
    const DType dtype = node.out_type(i).dtype;
    if (!is_narrow(dtype)) continue;
    Attributes attributes{attribute("to", std::int64_t{dtype_onnx_number(dtype)})};
    // Infinities are valid elements, so do not saturate.
    if (is_f8(dtype)) attributes.push_back(attribute("saturate", std::int64_t{0}));
    node.emit("Cast", {made[i]}, {node.out(i)}, attributes);
  }
}

bool meets_narrow(const NodeEmitter& node) {
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    if (node.has(i) && node.in_type(i).is_tensor() && is_narrow(node.dtype(i))) return true;
  return false;
}

}  // namespace

void write_form(NodeEmitter& node) {
  const auto row = std::ranges::find(kRows, node.node().op, &FormRow::op);
  if (row == std::end(kRows)) return node.refuse();
  node.need_opset(row->opset);
  if (node.has(0)) node.need_opset(opset_of(row->type, node.dtype()));
  for (const std::size_t i : row->as_i64) node.take_as_i64(i);
  if (row->write != nullptr) return row->write(node);
  if (meets_narrow(node) && !is_among(row->type, kTakeNarrow))
    return write_widened(node, row->type);
  node.finish(row->type, node.attributes());
}

}  // namespace scanloom::exporters::onnx
