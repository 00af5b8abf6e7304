#include "ops/ops.h"
#include "ops/sequence/objects.h"

namespace scanloom::ops {
namespace {
namespace optional_get_element {

Expected<void> infer(ir::InferCtx& ctx) {
  ctx.set(0, item_type(ctx.in(0)));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const std::span<const tensor::ObjectRef> items = call.inputs[0]->items();
  if (items.empty())
    return fail(Code::invalid_argument, "the optional is empty: it has no element to return");
  // If nothing else reads the optional, the item is moved out as the only reference to it.
  tensor::ObjectRef item = items[0];
  call.inputs[0] = tensor::ObjectRef();
  call.outputs[0] = std::move(item);
  return {};
}

}  // namespace optional_get_element
}  // namespace

constinit const ir::OpDef optional_get_element_op{
    .name = "optional_get_element",
    .doc = "What the optional holds; the run fails where it holds nothing.",
    .inputs = {{"optional", ir::Accept::optional}},
    .outputs = {"item"},
    .effects = ir::Effects::may_fail,
    .infer = optional_get_element::infer,
    .run_objects = optional_get_element::run_objects,
};

}  // namespace scanloom::ops
