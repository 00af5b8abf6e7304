// Operators without a useful gradient here, and the reasons.
#include "grad/rules.h"
#include "ops/ops.h"

namespace scanloom::autodiff {

std::span<const RuleRow> remaining_rules() {
  constexpr std::string_view kFlat = "its steps are flat";
  constexpr std::string_view kMadeByPasses =
      "only a pass creates it, after gradients have been taken";
  constexpr std::string_view kUnwritten = "it has no gradient rule";
  static const RuleRow rows[] = {
      {.op = &ops::draw_op, .rule = nullptr, .constant = true},
      {.op = &ops::random_op, .rule = nullptr, .constant = true},
      {.op = &ops::quantize_linear_op, .rule = nullptr, .reason = kFlat},
      {.op = &ops::dequantize_blocks_op, .rule = nullptr, .reason = kFlat},
      {.op = &ops::dequantize_linear_op, .rule = nullptr, .reason = kFlat},
      {.op = &ops::qlinear_conv_op, .rule = nullptr, .reason = kFlat},
      {.op = &ops::integer_matmul_op, .rule = nullptr, .reason = kFlat},
      {.op = &ops::label_encode_op, .rule = nullptr, .reason = kFlat},
      {.op = &ops::tfidf_op, .rule = nullptr, .reason = kFlat},
      {.op = &ops::tree_ensemble_op, .rule = nullptr, .constant = true},
      {.op = &ops::pairwise_coupling_op,
       .rule = nullptr,
       .reason = "it stops after a number of rounds that depends on its operand"},
      {.op = &ops::bit_cast_op, .rule = nullptr, .reason = "its result is the bits of its operand"},
      {.op = &ops::unique_op, .rule = nullptr, .reason = "its length depends on its operand"},
      {.op = &ops::range_op, .rule = nullptr, .reason = "its length depends on its operands"},
      {.op = &ops::affine_scan_op,
       .rule = nullptr,
       .reason = "only a pass creates it, from loops that already are gradients"},
      {.op = &ops::linear_scan_op, .rule = nullptr, .reason = kMadeByPasses},
      {.op = &ops::mul_add_op, .rule = nullptr, .reason = kMadeByPasses},
      {.op = &ops::affine_grid_op, .rule = nullptr, .reason = kUnwritten},
      {.op = &ops::col2im_op, .rule = nullptr, .reason = kUnwritten},
      {.op = &ops::deform_conv_op, .rule = nullptr, .reason = kUnwritten},
      {.op = &ops::grid_sample_op, .rule = nullptr, .reason = kUnwritten},
      {.op = &ops::lp_pool_op, .rule = nullptr, .reason = kUnwritten},
      {.op = &ops::matmul_nbits_op,
       .rule = nullptr,
       .reason = "only a pass creates it, from a product with dequantized weights"},
      {.op = &ops::matrix_nms_op, .rule = nullptr, .reason = kUnwritten},
      {.op = &ops::max_roi_pool_op, .rule = nullptr, .reason = kUnwritten},
      {.op = &ops::max_unpool_op, .rule = nullptr, .reason = kUnwritten},
      {.op = &ops::psroi_pool_op, .rule = nullptr, .reason = kUnwritten},
      {.op = &ops::resample_op, .rule = nullptr, .reason = kUnwritten},
      {.op = &ops::roi_align_op, .rule = nullptr, .reason = kUnwritten},
      {.op = &ops::roi_align_rotated_op, .rule = nullptr, .reason = kUnwritten},
      {.op = &ops::suppress_boxes_op, .rule = nullptr, .reason = kUnwritten},
  };
  return rows;
}

}  // namespace scanloom::autodiff
