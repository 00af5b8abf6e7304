#include "kernels/byte_map.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/thread_pool.h"
#include "kernels/byte_product.h"

namespace scanloom::kernels {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::Status;

constexpr std::int64_t kByteValues = 256;
// Elements from which the table pays, if steps are few.
constexpr std::int64_t kMinElements = 2048;
constexpr std::size_t kMinMapSteps = 2, kMaxInputs = 8;

struct AllBytes {
  std::uint8_t at[kByteValues] = {};
  constexpr AllBytes() {
    for (int i = 0; i < kByteValues; ++i) at[i] = static_cast<std::uint8_t>(i);
  }
};
constexpr AllBytes kAllBytes;

struct ByteMap {
  PointwisePlan table;  ///< of the results of all bytes
  std::size_t input = 0;
  std::int64_t count = 0;
  decltype(ByteTables::map) map = nullptr;
};

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

Status run(const Call& call) noexcept {
  const ByteMap& plan = *static_cast<const ByteMap*>(call.prepared);
  alignas(64) std::uint8_t table[kByteValues];
  // Nothing is written to the bytes, which are an input.
  auto* all_bytes = reinterpret_cast<std::byte*>(const_cast<std::uint8_t*>(kAllBytes.at));
  auto* results = reinterpret_cast<std::byte*>(table);
  std::array<Operand, kMaxInputs> inputs;
  std::copy_n(call.inputs, call.input_count, inputs.begin());
  inputs[plan.input].slot = &all_bytes;
  inputs[plan.input].offset = 0;
  Operand output = call.out(0);
  output.slot = &results;
  output.offset = 0;
  Call all = call;
  all.inputs = inputs.data();
  all.outputs = &output;
  if (!run_flat(plan.table, all)) return Status::stopped;
  const auto* const from = call.in(static_cast<int>(plan.input)).data<const std::uint8_t>();
  auto* const to = call.out(0).data<std::uint8_t>();
  const std::int64_t shares = (plan.count + kShare - 1) / kShare;
  parallel_for(shares, shares < 4 ? 1 : call.max_threads, [&](std::int64_t share) {
    const std::int64_t first = share * kShare;
    plan.map(from + first, std::min(kShare, plan.count - first), table, to + first);
  });
  return Status::ok;
}

}  // namespace

bool is_byte_map(const PrepareCtx& ctx, const PointwisePlan& plan) {
  if (!is_flat(plan) || plan.window_elements < kMinElements || plan.steps.size() < kMinMapSteps ||
      ctx.inputs.size() > kMaxInputs || plan.outputs.size() != 1 || !is_byte(ctx.outputs[0].dtype))
    return false;
  const auto is_row = [](const PointwiseOperand& input) { return input.lie == Lie::row; };
  const auto row = std::ranges::find_if(plan.inputs, is_row);
  return row != plan.inputs.end() && std::ranges::count_if(plan.inputs, is_row) == 1 &&
         is_byte(ctx.inputs[static_cast<std::size_t>(row->index)].dtype);
}

Prepared prepare_byte_map(const PrepareCtx& ctx, const PointwisePlan& plan) {
  auto map = std::make_shared<ByteMap>();
  map->table = plan;
  map->table.window_elements = kByteValues;
  map->count = plan.window_elements;
  map->map = byte_tables(ctx.isa).map;
  for (const PointwiseOperand& input : plan.inputs)
    if (input.lie == Lie::row) map->input = static_cast<std::size_t>(input.index);
  const std::int64_t scratch = map->table.slot_bytes();
  return {.state = std::move(map), .scratch_bytes = scratch, .run = run};
}

}  // namespace scanloom::kernels
