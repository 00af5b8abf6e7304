// Random numbers by key: element i depends only on the key and i, so that a loop step that is run
// again for a gradient draws the same numbers.
#include "opmath/random_blocks.h"
#include "ops/ops.h"
#include "ops/random/random_laws.h"

namespace scanloom::ops {
namespace {
namespace draw {

constexpr int kKind = 0, kTo = 1;

Expected<void> infer(ir::InferCtx& ctx) {
  const tensor::Type& key = ctx.in(0);
  if (key.dtype != DType::u64 || (key.ranked && key.rank() != 1) ||
      (key.ranked && key.dims[0].is_constant() && key.dims[0].value() != 2))
    return invalid_model("the key is {}, not u64[2]", to_string(key, ctx.dims()));
  return infer_random(ctx, 1, ctx.attr(kKind).text(), ctx.attr(kTo).dtype());
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const tensor::Operand& key = call.in(0);
  if (key.dims[0] != 2) return call.fail("the key has {} words, not 2", key.dims[0]);
  fill_randomly(call.attrs[kKind].text(), tensor::sample_blocks(call), call.out(0));
  return tensor::Status::ok;
}

}  // namespace draw
}  // namespace

constinit const ir::OpDef draw_op{
    .name = "draw",
    .doc =
        "Independent random numbers in a tensor of that shape: uniform in [0, 1), or normal with "
        "mean 0 and deviation 1, as `kind` says. `key` holds the number of the draw and that of "
        "the stream; the same key gives the same numbers.",
    .inputs = {{"key", ir::Accept::integer},
               {.name = "shape", .accept = ir::Accept::index, .decides_sizes = true}},
    .outputs = {"y"},
    .attrs = {{"kind", tensor::AttrKind::text}, {"to", tensor::AttrKind::dtype}},
    .infer = draw::infer,
    .reference = draw::reference,
};

}  // namespace scanloom::ops
