// scatter_nd: writes each slice of the updates where a tuple of indices points.
#include "kernels/index_moves.h"

namespace scanloom::kernels {
namespace {

Prepared prepare_scatter_nd(const PrepareCtx& ctx) {
  const auto reduction = tensor::scatter_reduction_of(ctx.attrs[0].text());
  return prepared_scatter(
      ctx, tuple_schedule({ctx.inputs[1], ctx.outputs[0], ctx.inputs[2]}, /*gathers=*/false),
      reduction.value_or(tensor::ScatterReduction::none));
}

}  // namespace

extern constinit const KernelDef scatter_nd_kernel{
    .name = "scatter_nd",
    .doc = "A copy of data, then slices where tuples of indices point, in order.",
    .prepare = prepare_scatter_nd,
    .run = run_scatter,
};

}  // namespace scanloom::kernels
