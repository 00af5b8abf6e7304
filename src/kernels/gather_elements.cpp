// gather_elements: copies the element of data that each index names along one axis.
#include "kernels/index_moves.h"

namespace scanloom::kernels {
namespace {

using tensor::Operand;

Prepared prepare_gather_elements(const PrepareCtx& ctx) {
  const Operand& data = ctx.inputs[0];
  if (data.rank == 0) return Prepared::no("no axis to index");
  const std::int64_t given = ctx.attrs[0].integer();
  const auto axis = static_cast<int>(given < 0 ? given + data.rank : given);
  return prepared_gather(ctx, element_schedule({ctx.inputs[1], data, ctx.outputs[0]}, axis));
}

}  // namespace

extern constinit const KernelDef gather_elements_kernel{
    .name = "gather_elements",
    .doc = "Elements that indices name along an axis; positions are computed for many at once.",
    .prepare = prepare_gather_elements,
    .run = run_gather,
};

}  // namespace scanloom::kernels
