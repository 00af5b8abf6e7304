// gather_nd: copies the block of data that each tuple of indices names.
#include "kernels/index_moves.h"

namespace scanloom::kernels {
namespace {

Prepared prepare_gather_nd(const PrepareCtx& ctx) {
  const auto batch = static_cast<int>(ctx.attrs[0].integer());
  return prepared_gather(ctx, tuple_schedule({ctx.inputs[1], ctx.inputs[0], ctx.outputs[0], batch},
                                             /*gathers=*/true));
}

}  // namespace

extern constinit const KernelDef gather_nd_kernel{
    .name = "gather_nd",
    .doc = "Blocks that tuples of indices name; positions are computed for many tuples at once.",
    .prepare = prepare_gather_nd,
    .run = run_gather,
};

}  // namespace scanloom::kernels
