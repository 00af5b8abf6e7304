// Which kernels may run which operator, fastest first. The reference kernel is always the last.
#include <array>

#include "ops/ops.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

using kernels::KernelId;

struct Row {
  const ir::OpDef* op;
  std::array<KernelId, 1> kernels;
};

const std::array kRows = {
    Row{&ops::affine_scan_op, {KernelId::affine_scan}},
    Row{&ops::argmax_op, {KernelId::argmax}},
    Row{&ops::argmin_op, {KernelId::argmin}},
    Row{&ops::average_pool_op, {KernelId::pool}},
    Row{&ops::cholesky_op, {KernelId::cholesky}},
    Row{&ops::concat_op, {KernelId::concat}},
    Row{&ops::contract_op, {KernelId::contract}},
    Row{&ops::conv_op, {KernelId::conv}},
    Row{&ops::dense_op, {KernelId::copy}},
    Row{&ops::dequantize_linear_op, {KernelId::dequantize}},
    Row{&ops::draw_op, {KernelId::random}},
    Row{&ops::gather_op, {KernelId::gather}},
    Row{&ops::lp_pool_op, {KernelId::pool}},
    Row{&ops::lstm_op, {KernelId::lstm}},
    Row{&ops::lu_factor_op, {KernelId::lu_factor}},
    Row{&ops::lu_solve_op, {KernelId::lu_solve}},
    Row{&ops::max_pool_op, {KernelId::pool}},
    Row{&ops::pad_op, {KernelId::pad}},
    Row{&ops::qlinear_conv_op, {KernelId::qlinear_conv}},
    Row{&ops::quantize_linear_op, {KernelId::quantize}},
    Row{&ops::random_op, {KernelId::random}},
    Row{&ops::reduce_op, {KernelId::reduce}},
    Row{&ops::triangular_solve_op, {KernelId::triangular_solve}},
};

constexpr std::array kPointwise = {KernelId::pointwise};

}  // namespace

std::span<const KernelId> candidates(const ir::OpDef& op) {
  if (op.scalar != nullptr) return kPointwise;
  for (const Row& row : kRows)
    if (row.op == &op) return row.kernels;
  return {};
}

}  // namespace scanloom::plan
