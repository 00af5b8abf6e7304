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
    CandidateRow{&ops::dequantize_linear_op, {KernelId::dequantize}},
    CandidateRow{&ops::draw_op, {KernelId::random}},
    CandidateRow{&ops::gather_op, {KernelId::gather}},
    CandidateRow{&ops::lp_pool_op, {KernelId::pool}},
    CandidateRow{&ops::lstm_op, {KernelId::lstm}},
    CandidateRow{&ops::lu_factor_op, {KernelId::lu_factor}},
    CandidateRow{&ops::lu_solve_op, {KernelId::lu_solve}},
    CandidateRow{&ops::max_pool_op, {KernelId::pool}},
    CandidateRow{&ops::pad_op, {KernelId::pad}},
    CandidateRow{&ops::qlinear_conv_op, {KernelId::qlinear_conv}},
    CandidateRow{&ops::quantize_linear_op, {KernelId::quantize}},
    CandidateRow{&ops::random_op, {KernelId::random}},
    CandidateRow{&ops::reduce_op, {KernelId::reduce}},
    CandidateRow{&ops::triangular_solve_op, {KernelId::triangular_solve}},
};

constexpr std::array kPointwise = {KernelId::pointwise};

}  // namespace

std::span<const KernelId> candidates(const ir::OpDef& op) {
  if (op.scalar != nullptr) return kPointwise;
  for (const CandidateRow& row : kRows)
    if (row.op == &op) return row.kernels;
  return {};
}

}  // namespace scanloom::plan
