// dequantize_blocks: numbers of a few bits to f32, block by block.
#include <algorithm>
#include <memory>

#include "kernels/block_columns.h"
#include "kernels/kernel.h"
#include "opmath/block_quantization.h"

namespace scanloom::kernels {
namespace {
namespace dequantize_blocks {

using tensor::Call;
using tensor::Operand;
using tensor::Status;
using namespace tensor::block_quantization;

struct BlockRunSchedule {
  BlockFormat format;
  std::int64_t rows = 0;
  void (*run)(const BlockRun&) = nullptr;
};

Status run_blocks(const Call& call) noexcept {
  const auto& plan = *static_cast<const BlockRunSchedule*>(call.prepared);
  const BlockFormat& format = plan.format;
  const std::int64_t blocks = format.blocks(), bytes = format.bytes();
  const auto* const numbers = call.in(kBytes).data<const std::uint8_t>();
  const auto* const scales = call.in(kScales).data<const float>();
  const Operand* const zeros = call.has(kZeros) ? &call.in(kZeros) : nullptr;
  auto* const y = call.out(0).data<float>();
  for (std::int64_t row = 0; row < plan.rows; ++row)
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t first = b * format.block, at = row * blocks + b;
      plan.run({.bytes = numbers + row * bytes + first * format.bits / 8,
                .count = std::min(format.block, format.size - first),
                .scale = scales[at],
                .zero = zeros == nullptr ? format.middle() : zero_at(*zeros, at),
                .to = y + row * format.size + first});
    }
  return Status::ok;
}

Prepared prepare_blocks(const PrepareCtx& ctx) {
  for (const Operand& operand : ctx.inputs)
    if (operand.present() && !operand.contiguous) return Prepared::no("operands with gaps");
  const Operand& y = ctx.outputs[0];
  if (!y.contiguous) return Prepared::no("a result with gaps");
  if (y.empty()) return Prepared::no("no elements to compute");
  auto plan = std::make_shared<BlockRunSchedule>();
  plan->format = BlockFormat::of(ctx.attrs);
  plan->rows = y.elements() / plan->format.size;
  plan->run = block_fns(ctx.isa).run[block_fn(plan->format.bits)];
  return {.state = std::move(plan)};
}

}  // namespace dequantize_blocks
}  // namespace

extern constinit const KernelDef dequantize_blocks_kernel{
    .name = "dequantize_blocks",
    .doc = "Numbers of 2, 4 or 8 bits to f32, a block at a time.",
    .prepare = dequantize_blocks::prepare_blocks,
    .run = dequantize_blocks::run_blocks,
};

}  // namespace scanloom::kernels
