// Which kernels may run which operator, fastest first. The reference kernel is always the last.
#include <array>

#include "ops/ops.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

using kernels::KernelId;

struct CandidateRow {
  const ir::OpDef* op;
  std::array<KernelId, 1> kernels;
};

const std::array kRows = {
    CandidateRow{&ops::affine_scan_op, {KernelId::affine_scan}},
    CandidateRow{&ops::argmax_op, {KernelId::argmax}},
    CandidateRow{&ops::argmin_op, {KernelId::argmin}},
    CandidateRow{&ops::average_pool_op, {KernelId::pool}},
    CandidateRow{&ops::cholesky_op, {KernelId::cholesky}},
    CandidateRow{&ops::concat_op, {KernelId::concat}},
    CandidateRow{&ops::contract_op, {KernelId::contract}},
    CandidateRow{&ops::conv_op, {KernelId::conv}},
    CandidateRow{&ops::conv_transpose_op, {KernelId::conv_transpose}},
    CandidateRow{&ops::dense_op, {KernelId::copy}},
    CandidateRow{&ops::dequantize_blocks_op, {KernelId::dequantize_blocks}},
    CandidateRow{&ops::dequantize_linear_op, {KernelId::dequantize}},
    CandidateRow{&ops::dft_op, {KernelId::dft}},
    CandidateRow{&ops::draw_op, {KernelId::random}},
    CandidateRow{&ops::expand_op, {KernelId::copy}},
    CandidateRow{&ops::gather_op, {KernelId::gather}},
    CandidateRow{&ops::gather_elements_op, {KernelId::gather_elements}},
    CandidateRow{&ops::gather_nd_op, {KernelId::gather_nd}},
    CandidateRow{&ops::integer_matmul_op, {KernelId::contract}},
    CandidateRow{&ops::linear_scan_op, {KernelId::linear_scan}},
    CandidateRow{&ops::lp_pool_op, {KernelId::pool}},
    CandidateRow{&ops::lstm_op, {KernelId::lstm}},
    CandidateRow{&ops::lu_factor_op, {KernelId::lu_factor}},
    CandidateRow{&ops::lu_solve_op, {KernelId::lu_solve}},
    CandidateRow{&ops::matmul_nbits_op, {KernelId::matmul_nbits}},
    CandidateRow{&ops::max_pool_op, {KernelId::pool}},
    CandidateRow{&ops::non_max_suppression_op, {KernelId::non_max_suppression}},
    CandidateRow{&ops::pad_op, {KernelId::pad}},
    CandidateRow{&ops::qlinear_conv_op, {KernelId::qlinear_conv}},
    CandidateRow{&ops::quantize_linear_op, {KernelId::quantize}},
    CandidateRow{&ops::random_op, {KernelId::random}},
    CandidateRow{&ops::reduce_op, {KernelId::reduce}},
    CandidateRow{&ops::resample_op, {KernelId::resample}},
    CandidateRow{&ops::scatter_elements_op, {KernelId::scatter_elements}},
    CandidateRow{&ops::scatter_nd_op, {KernelId::scatter_nd}},
    CandidateRow{&ops::tile_op, {KernelId::tile}},
    CandidateRow{&ops::topk_op, {KernelId::topk}},
    CandidateRow{&ops::tree_ensemble_op, {KernelId::tree_ensemble}},
    CandidateRow{&ops::triangular_solve_op, {KernelId::triangular_solve}},
    CandidateRow{&ops::unique_op, {KernelId::unique}},
};

constexpr std::array kPointwise = {KernelId::pointwise};
constexpr std::array kCopy = {KernelId::copy};

}  // namespace

std::span<const KernelId> candidates(const ir::OpDef& op) {
  if (op.scalar != nullptr) return kPointwise;
  for (const CandidateRow& row : kRows)
    if (row.op == &op) return row.kernels;
  // Where the strides of a view cannot express it, or its sizes are not known.
  if (op.access == ir::Access::view && op.keeps_order) return kCopy;
  return {};
}

}  // namespace scanloom::plan
