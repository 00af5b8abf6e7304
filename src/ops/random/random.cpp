// Counter-based random numbers (base/philox.h): element i of an execution depends only on the seed,
// the stream, the number of the run, that of the execution, and i.
#include "opmath/random_blocks.h"
#include "ops/ops.h"
#include "ops/random/random_laws.h"

namespace scanloom::ops {
namespace {
namespace random {

constexpr int kKind = 0, kTo = 1;

Expected<void> infer(ir::InferCtx& ctx) {
  return infer_random(ctx, 0, ctx.attr(kKind).text(), ctx.attr(kTo).dtype());
}

tensor::Status reference(const tensor::Call& call) noexcept {
  fill_randomly(call.attrs[kKind].text(), tensor::random_blocks(call), call.out(0));
  return tensor::Status::ok;
}

}  // namespace random
}  // namespace

Expected<void> infer_random(ir::InferCtx& ctx, int shape, const std::string& kind, DType to) {
  if (kind != "uniform" && kind != "normal")
    return invalid_model("attribute 'kind' is '{}', neither uniform nor normal", kind);
  if (to != DType::f32 && to != DType::f64)
    return invalid_model("attribute 'to' is {}, neither f32 nor f64", dtype_name(to));
  SCANLOOM_CHECK_OK(check_list(ctx, shape, "the shape"));
  const auto sizes = ctx.integers(shape);
  const std::int64_t rank = element_count(ctx, shape);
  if (rank > tensor::kMaxRank)
    return invalid_model("the shape has {} axes, more than {}", rank, tensor::kMaxRank);
  if (sizes) return set_sizes(ctx, 0, to, *sizes);
  ctx.set(0, rank < 0 ? tensor::Type::unranked(to) : ctx.fresh(to, static_cast<int>(rank)));
  return {};
}

constinit const ir::OpDef random_op{
    .name = "random",
    .doc =
        "Independent random numbers in a tensor of that shape: uniform in [0, 1), or normal with "
        "mean 0 and deviation 1, as `kind` says. Each execution draws anew.",
    .inputs = {{"shape", ir::Accept::index}},
    .outputs = {"y"},
    .attrs = {{"kind", tensor::AttrKind::text},
              {"to", tensor::AttrKind::dtype},
              {"seed", tensor::AttrKind::integer},
              {"stream", tensor::AttrKind::integer}},
    .effects = ir::Effects::random,
    .infer = random::infer,
    .reference = random::reference,
};

}  // namespace scanloom::ops
