#include "exporters/openvino/forms.h"

#include <algorithm>

#include "exporters/openvino/ops/forms.h"
#include "ops/ops.h"

namespace scanloom::exporters::openvino {

namespace {

/// Sorted by operator. A row without a function is a layer of the same operands, without
/// attributes.
const Form kForms[] = {
    {&ops::abs_op, nullptr, "Abs", 1},
    {&ops::acos_op, nullptr, "Acos", 1},
    {&ops::acosh_op, nullptr, "Acosh", 4},
    {&ops::add_op, nullptr, "Add", 1},
    {&ops::asin_op, nullptr, "Asin", 1},
    {&ops::asinh_op, nullptr, "Asinh", 4},
    {&ops::atan_op, nullptr, "Atan", 1},
    {&ops::atanh_op, nullptr, "Atanh", 4},
    {&ops::average_pool_op, write_average_pool},
    {&ops::bit_and_op, nullptr, "BitwiseAnd", 13},
    {&ops::bit_not_op, nullptr, "BitwiseNot", 13},
    {&ops::bit_or_op, nullptr, "BitwiseOr", 13},
    {&ops::bit_xor_op, nullptr, "BitwiseXor", 13},
    {&ops::cast_op, write_cast},
    {&ops::ceil_op, nullptr, "Ceiling", 1},
    {&ops::check_equal_op, write_first},
    {&ops::clip_op, write_clip},
    {&ops::concat_op, write_concat},
    {&ops::constant_of_shape_op, write_constant_of_shape},
    {&ops::contract_op, write_contract},
    {&ops::conv_op, write_conv},
    {&ops::conv_transpose_op, write_conv_transpose},
    {&ops::cos_op, nullptr, "Cos", 1},
    {&ops::cosh_op, nullptr, "Cosh", 1},
    {&ops::cumsum_op, write_cumsum},
    {&ops::dense_op, write_first},
    {&ops::dequantize_linear_op, write_dequantize_linear},
    {&ops::dim_op, write_dim},
    {&ops::div_op, write_div},
    {&ops::elu_op, write_elu},
    {&ops::equal_op, nullptr, "Equal", 1},
    {&ops::erf_op, nullptr, "Erf", 1},
    {&ops::exp_op, nullptr, "Exp", 1},
    {&ops::expand_op, write_expand},
    {&ops::expm1_op, write_expm1},
    {&ops::floor_op, nullptr, "Floor", 1},
    {&ops::gather_op, write_gather},
    {&ops::gru_op, write_gru},
    {&ops::hard_sigmoid_op, write_hard_sigmoid},
    {&ops::identity_op, write_first},
    {&ops::is_inf_op, write_is_inf},
    {&ops::is_nan_op, nullptr, "IsNaN", 10},
    {&ops::leaky_relu_op, write_leaky_relu},
    {&ops::less_op, nullptr, "Less", 1},
    {&ops::less_equal_op, nullptr, "LessEqual", 1},
    {&ops::log_op, nullptr, "Log", 1},
    {&ops::log1p_op, write_log1p},
    {&ops::log_softmax_op, write_softmax},
    {&ops::logical_and_op, nullptr, "LogicalAnd", 1},
    {&ops::logical_not_op, nullptr, "LogicalNot", 1},
    {&ops::logical_or_op, nullptr, "LogicalOr", 1},
    {&ops::logical_xor_op, nullptr, "LogicalXor", 1},
    {&ops::lp_pool_op, write_lp_pool},
    {&ops::lstm_op, write_lstm},
    {&ops::max_op, nullptr, "Maximum", 1},
    {&ops::max_pool_op, write_max_pool},
    {&ops::min_op, nullptr, "Minimum", 1},
    {&ops::mod_op, write_mod},
    {&ops::mul_op, nullptr, "Multiply", 1},
    {&ops::neg_op, nullptr, "Negative", 1},
    {&ops::pow_op, write_pow},
    {&ops::qlinear_conv_op, write_qlinear_conv},
    {&ops::quantize_linear_op, write_quantize_linear},
    {&ops::range_op, write_range},
    {&ops::reduce_op, write_reduce},
    {&ops::relu_op, nullptr, "ReLU", 1},
    {&ops::reshape_op, write_reshape},
    {&ops::rnn_op, write_rnn},
    {&ops::round_op, write_round},
    {&ops::shape_op, write_shape},
    {&ops::shift_left_op, nullptr, "BitwiseLeftShift", 15},
    {&ops::shift_right_op, nullptr, "BitwiseRightShift", 15},
    {&ops::sigmoid_op, nullptr, "Sigmoid", 1},
    {&ops::sign_op, nullptr, "Sign", 1},
    {&ops::sin_op, nullptr, "Sin", 1},
    {&ops::sinh_op, nullptr, "Sinh", 1},
    {&ops::size_op, write_size},
    {&ops::slice_op, write_slice},
    {&ops::softmax_op, write_softmax},
    {&ops::softplus_op, nullptr, "SoftPlus", 4},
    {&ops::sqrt_op, nullptr, "Sqrt", 1},
    {&ops::squeeze_op, write_squeeze},
    {&ops::sub_op, nullptr, "Subtract", 1},
    {&ops::tanh_op, nullptr, "Tanh", 1},
    {&ops::tile_op, nullptr, "Tile", 1},
    {&ops::transpose_op, write_transpose},
    {&ops::unsqueeze_op, write_unsqueeze},
    {&ops::where_op, nullptr, "Select", 1},
};

}  // namespace

const Form* find_form(const ir::OpDef& op) {
  const auto* const found = std::ranges::find(kForms, &op, &Form::op);
  return found == std::end(kForms) ? nullptr : found;
}

}  // namespace scanloom::exporters::openvino
