// The layout of an element program's operands: the axes that they share, and the window.
#include <algorithm>
#include <cstdlib>

#include "kernels/pointwise_plan.h"
#include "tensor/for_each.h"

namespace scanloom::kernels {
namespace {

using tensor::Operand;
using tensor::Shape;

/// Rows shorter than this are not windows of their own.
constexpr std::int64_t kShortRow = 64;

struct LayoutAxis {
  std::int64_t dim = 1;
  std::vector<std::int64_t> strides;  // in bytes, per operand
};

bool joins(const LayoutAxis& outer, const LayoutAxis& inner) {
  for (std::size_t i = 0; i < outer.strides.size(); ++i)
    if (outer.strides[i] != inner.strides[i] * inner.dim) return false;
  return true;
}

Shape strides_within(const Operand& operand, const Operand& result) {
  const auto rank = static_cast<std::size_t>(operand.rank);
  return tensor::broadcast_strides({operand.dims, rank}, {operand.strides, rank},
                                   {result.dims, static_cast<std::size_t>(result.rank)});
}

/// Returns the axes of all operands, joined, in the order of the first result's memory layout.
std::vector<LayoutAxis> axes_of(const std::vector<const Operand*>& operands,
                                const Operand& result) {
  std::vector<LayoutAxis> axes;
  for (int i = 0; i < result.rank; ++i)
    if (result.dims[i] != 1) axes.push_back({result.dims[i], {}});
  for (const Operand* operand : operands) {
    const Shape strides = strides_within(*operand, result);
    const auto bytes = static_cast<std::int64_t>(dtype_bytes(operand->dtype));
    std::size_t at = 0;
    for (int i = 0; i < result.rank; ++i)
      if (result.dims[i] != 1) axes[at++].strides.push_back(strides[i] * bytes);
  }
  const std::size_t first_result = operands.size() - 1;
  std::ranges::stable_sort(axes, [first_result](const LayoutAxis& a, const LayoutAxis& b) {
    return std::abs(a.strides[first_result]) > std::abs(b.strides[first_result]);
  });
  std::vector<LayoutAxis> kept;
  for (LayoutAxis& axis : axes) {
    if (!kept.empty() && joins(kept.back(), axis)) axis.dim *= kept.back().dim, kept.pop_back();
    kept.push_back(std::move(axis));
  }
  return kept;
}

Lie lie_of(const PointwisePlan& plan, const PointwiseOperand& operand) {
  bool single = plan.rank > plan.window, row = true;
  std::int64_t expected = operand.bytes;
  for (int axis = plan.rank - 1; axis >= plan.window; --axis) {
    const auto i = static_cast<std::size_t>(axis);
    single &= operand.strides[i] == 0;
    row &= operand.strides[i] == expected;
    expected *= plan.dims[i];
  }
  return row ? Lie::row : single ? Lie::single : Lie::strided;
}

}  // namespace

void lay_out(const PrepareCtx& ctx, PointwisePlan& plan) {
  std::vector<const Operand*> operands;
  for (const Operand& input : ctx.inputs)
    if (input.present()) operands.push_back(&input);
  const std::size_t inputs = operands.size();
  // The first result goes last among the inputs and results: axes_of sorts by the last operand.
  for (std::size_t i = ctx.outputs.size(); i-- > 0;) operands.push_back(&ctx.outputs[i]);
  const std::vector<LayoutAxis> axes = axes_of(operands, ctx.outputs[0]);
  plan.empty = ctx.outputs[0].elements() == 0;
  plan.rank = static_cast<int>(axes.size());
  plan.window =
      plan.rank > 0 && (plan.rank == 1 || axes.back().dim >= kShortRow) ? plan.rank - 1 : 0;
  for (std::size_t i = 0; i < axes.size(); ++i) plan.dims[i] = axes[i].dim;
  for (int i = plan.window; i < plan.rank; ++i)
    plan.window_elements *= plan.dims[static_cast<std::size_t>(i)];
  for (std::size_t o = 0; o < operands.size(); ++o) {
    PointwiseOperand operand;
    operand.bytes = static_cast<std::uint8_t>(dtype_bytes(operands[o]->dtype));
    for (std::size_t i = 0; i < axes.size(); ++i) operand.strides[i] = axes[i].strides[o];
    operand.lie = lie_of(plan, operand);
    const Operand* from = operands[o];
    operand.index = static_cast<std::int16_t>(o < inputs ? from - ctx.inputs.data()
                                                         : from - ctx.outputs.data());
    (o < inputs ? plan.inputs : plan.outputs).push_back(operand);
  }
  std::ranges::reverse(plan.outputs);
}

}  // namespace scanloom::kernels
