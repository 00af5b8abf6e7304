#include "runtime/row_blocks.h"

#include "kernels/pipelined_projection.h"
#include "runtime/executor.h"

namespace scanloom::runtime {

Expected<void> RowBlocks::make(std::uint32_t index, Watch& watch) {
  const plan::BoundLoop& loop = values_.binding.loops[index];
  const plan::BoundBlocks& blocks = loop.blocks;
  LoopState& state = loops_[index];
  const std::int64_t from_end = blocks.rows - blocks.steps - state.step;
  for (const plan::BlockInput& input : blocks.inputs)
    values_.slot(input.slot) =
        values_.address(input.from) + (input.backwards ? from_end : state.step) * input.row_bytes;
  std::uint32_t at = blocks.first;
  SCANLOOM_CHECK_OK(executor_.execute_from(at, watch));
  for (std::size_t i = 0; i < loop.scanned.size(); ++i) {
    const plan::BoundScanned& port = loop.scanned[i];
    if (blocks.ports[i])
      values_.slot(port.argument.slot) = values_.address(port.outer) + port.first_bytes;
  }
  const bool is_first = state.step == 0;
  state.block_first = state.step;
  state.block_end +=
      is_first ? kernels::steps_of_first_block(blocks.rows, blocks.steps) : blocks.steps;
  return {};
}

}  // namespace scanloom::runtime
