// scatter_elements: writes each update where its index points along one axis.
#include "kernels/index_moves.h"

namespace scanloom::kernels {
namespace {

using tensor::Operand;

Prepared prepare_scatter_elements(const PrepareCtx& ctx) {
  const Operand& y = ctx.outputs[0];
  if (y.rank == 0) return Prepared::no("no axis to index");
  const std::int64_t given = ctx.attrs[0].integer();
  const auto axis = static_cast<int>(given < 0 ? given + y.rank : given);
  const auto reduction = tensor::scatter_reduction_of(ctx.attrs[1].text());
  return prepared_scatter(ctx, element_schedule({ctx.inputs[1], y, ctx.inputs[2]}, axis),
                          reduction.value_or(tensor::ScatterReduction::none));
}

}  // namespace

extern constinit const KernelDef scatter_elements_kernel{
    .name = "scatter_elements",
    .doc = "A copy of data, then elements where indices point along an axis, in order.",
    .prepare = prepare_scatter_elements,
    .run = run_scatter,
};

}  // namespace scanloom::kernels
