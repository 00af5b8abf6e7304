#include "jit/lane_groups.h"

#include <algorithm>

#include "jit/emit_wide_loop.h"

namespace scanloom::jit {
namespace {

/// Blocks of two vectors that are computed together in a step: enough to hide the latency of a
/// recurrence, unless they are so long that the processor cannot look ahead over all of them.
constexpr std::int64_t kMaxBlocks = 4, kMaxInstructions = 1600;
/// What steps update in memory must stay in the L1 cache.
constexpr std::int64_t kMaxBytesOfStates = 16 * 1024;

std::int64_t interleaved_blocks(const LaneProgram& program) {
  const std::int64_t instructions = 2 * std::max<std::int64_t>(1, program.lane_work());
  return std::clamp<std::int64_t>(kMaxInstructions / instructions, 1, kMaxBlocks);
}

}  // namespace

LaneGroups divide_lanes(const LoopSource& source, const LaneProgram& program,
                        unsigned vector_bytes) {
  const unsigned vector = vector_bytes / program.widest_lane();
  const std::int64_t blocks = interleaved_blocks(program);
  // The widest vectors have a longer latency, which does not pay if one is not filled.
  if (vector_bytes == 64 && source.lanes < vector && blocks > 1)
    return {{vector / 2, vector / 2}, 1, source.lanes};
  const std::int64_t lanes = blocks * 2 * vector;
  return {{vector, 2 * vector}, std::max<std::int64_t>(1, source.lanes / lanes), lanes};
}

bool takes_all_lanes_per_step(const LoopSource& source, const LaneProgram& program,
                              unsigned vector_bytes) {
  if (is_wide(source)) return true;
  // A single group takes a little more than fits.
  if (4 * source.lanes <= 5 * divide_lanes(source, program, vector_bytes).lanes) return false;
  std::int64_t kept = 0, bytes = 0;
  for (const auto* operands : {&source.captured, &source.carried})
    for (const LoopOperand& operand : *operands) {
      if (operand.lane_stride == 0) continue;
      ++kept;
      bytes += source.lanes * static_cast<std::int64_t>(dtype_bytes(operand.dtype));
    }
  if (bytes > kMaxBytesOfStates) return false;
  const auto registers = static_cast<std::int64_t>(vector_registers(source.isa));
  return has_rows(source) || program.uniform_work() > 0 ||
         interleaved_blocks(program) < kMaxBlocks || 2 * kMaxBlocks * kept > registers;
}

}  // namespace scanloom::jit
