// Draws by counter (base/philox.h): element i of an execution depends on the seed, the stream, the
// number of the run, that of the execution and i, on nothing else.
#include "ops/ops.h"
#include "ops/random_laws.h"

namespace scanloom::ops {
namespace {

using tensor::Type;

constexpr int kKind = 0, kTo = 1, kSeed = 2, kStream = 3;

Expected<void> infer(ir::InferCtx& ctx) {
  return infer_random(ctx, 0, ctx.attr(kKind).text(), ctx.attr(kTo).dtype());
}

/// The bits of one execution, block by block.
class Bits {
 public:
  explicit Bits(const tensor::Call& call)
      : seed_(static_cast<std::uint64_t>(call.attrs[kSeed].integer())),
        stream_(static_cast<std::uint64_t>(call.attrs[kStream].integer())) {
    if (call.draws != nullptr) draws_ = {call.draws->run, call.draws->execution++};
  }
  /// Blocks are below 2^40, of which 2^8 are left over for the high bits of the execution.
  [[nodiscard]] PhiloxCounter block(std::uint64_t index) const {
    const std::uint32_t rest = (high(index) & 0xffu) | high(draws_.execution) << 8;
    return philox({low(index), rest, low(draws_.execution), low(draws_.run)},
                  {low(seed_) ^ high(stream_), low(stream_) ^ high(seed_)});
  }

 private:
  std::uint64_t seed_, stream_;
  tensor::Draws draws_;
};

tensor::Status reference(const tensor::Call& call) noexcept {
  fill_randomly(call.attrs[kKind].text(), Bits(call), call.out(0));
  return tensor::Status::ok;
}

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
  ctx.set(0, rank < 0 ? Type::unranked(to) : ctx.fresh(to, static_cast<int>(rank)));
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
    .infer = infer,
    .reference = reference,
};

}  // namespace scanloom::ops
