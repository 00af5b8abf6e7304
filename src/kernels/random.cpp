// random: counter-based random numbers in vectors, with the bits of the reference.
#include "kernels/kernel.h"
#include "kernels/simd.h"
#include "opmath/random_blocks.h"

namespace scanloom::kernels {
namespace {
namespace random {

using tensor::Call;
using tensor::Status;

struct RandomState {
  RandomFn<float> f32;
  RandomFn<double> f64;
};

Status fill(const Call& call, const PhiloxBlocks& blocks) noexcept {
  const RandomState& state = *static_cast<const RandomState*>(call.prepared);
  const tensor::Operand& y = call.out(0);
  if (y.dtype == DType::f32)
    state.f32(blocks, y.data<float>(), y.elements());
  else
    state.f64(blocks, y.data<double>(), y.elements());
  return Status::ok;
}

Status run(const Call& call) noexcept { return fill(call, tensor::random_blocks(call)); }
Status run_by_key(const Call& call) noexcept { return fill(call, tensor::sample_blocks(call)); }

/// The operator with an explicit key has one more operand.
Prepared prepare(const PrepareCtx& ctx) {
  const bool has_key = ctx.inputs.size() == 2;
  if (has_key && ctx.inputs[0].dims[0] != 2) return Prepared::no("a key of unexpected length");
  if (!ctx.outputs[0].contiguous) return Prepared::no("numbers that are not adjacent in memory");
  const SimdTables& tables = simd_tables(ctx.isa);
  const bool uniform = ctx.attrs[0].text() == "uniform";
  const RandomState state{uniform ? tables.f32_uniform : tables.f32_normal,
                          uniform ? tables.f64_uniform : tables.f64_normal};
  return {.state = std::make_shared<RandomState>(state), .run = has_key ? run_by_key : nullptr};
}

}  // namespace random
}  // namespace

extern constinit const KernelDef random_kernel{
    .name = "random",
    .doc = "Blocks of random bits, several per vector, for elements that are adjacent in memory.",
    .prepare = random::prepare,
    .run = random::run,
};

}  // namespace scanloom::kernels
