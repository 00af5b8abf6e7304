#include "runtime/body_steps.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "kernels/pipelined_projection.h"
#include "runtime/run_state.h"

namespace scanloom::runtime {
namespace {

Limits limits_of_others(const Limits& limits) {
  return {.max_steps = limits.max_steps, .max_memory = limits.max_memory};
}

/// Returns the arena buffers that the code of blocks writes.
std::vector<std::int32_t> written_by_blocks(const plan::Binding& binding,
                                            const plan::BoundLoop& loop) {
  std::vector<std::int32_t> written;
  for (std::uint32_t at = loop.blocks.first; binding.code[at].op != plan::Op::end; ++at) {
    if (binding.code[at].op != plan::Op::call) continue;
    const plan::BoundCall& call = binding.calls[binding.code[at].index];
    for (std::uint32_t i = 0; i < call.outputs; ++i)
      written.push_back(binding.operands[call.first_operand + call.inputs + i].buffer);
  }
  return written;
}

/// Whether steps write to the arena buffer: those of their values, and both of each state.
bool is_written(const plan::Binding& binding, const plan::BoundLoop& loop, std::size_t slot) {
  const plan::SlotInit& init = binding.slots[slot];
  if (init.kind != plan::SlotInit::Kind::arena || slot == plan::kScratchSlot) return false;
  const auto is_of_state = [&](const plan::BoundCarried& port) {
    return port.buffer_a == static_cast<plan::SlotId>(slot) ||
           port.buffer_b == static_cast<plan::SlotId>(slot);
  };
  if (std::ranges::any_of(loop.carried, is_of_state)) return true;
  const auto& buffer = binding.history.buffers[static_cast<std::size_t>(init.index)];
  std::uint32_t begin = loop.body - 1;
  while (binding.code[begin].op != plan::Op::loop_begin) --begin;  // the code of blocks follows it
  return buffer.born > binding.history.moments[begin] &&
         buffer.born <= binding.history.moments[loop.exit - 1];
}

std::unique_ptr<RunState> make_worker(const StepsOrigin& origin) {
  const plan::Binding& binding = *origin.main.binding;
  const std::int64_t bytes = origin.last_byte - origin.first_byte;
  AlignedBytes memory = allocate_aligned(origin.bytes_of_worker());
  if (!memory) throw std::bad_alloc();
  std::byte* const first = memory.get();
  auto worker = std::make_unique<RunState>(origin.main.binding, std::move(memory),
                                           /*max_threads=*/1);
  std::vector<std::byte*>& slots = worker->values.slots;
  for (std::size_t i = 0; i < slots.size(); ++i)
    slots[i] = origin.is_private[i] ? first + (binding.slots[i].offset - origin.first_byte)
                                    : origin.slots[i];
  slots[plan::kScratchSlot] = first + bytes;
  worker->progress.begin_worker(origin.loop);
  return worker;
}

}  // namespace

StepsOrigin::StepsOrigin(RunState& of, std::uint32_t index, const plan::BodyCode& body,
                         Watch& watch)
    : main(of),
      loop(index),
      code(body),
      limits(limits_of_others(watch.limits())),
      slots(of.values.slots),
      is_private(slots.size()) {
  const plan::Binding& binding = *of.binding;
  const plan::BoundLoop& bound = binding.loops[index];
  has_blocks = bound.blocks.steps > 0 && bound.blocks.steps < bound.blocks.rows;
  const std::vector<std::int32_t> blocks =
      has_blocks ? written_by_blocks(binding, bound) : std::vector<std::int32_t>();
  const std::int64_t step = of.loops[index].step;
  for (const plan::BoundScanned& port : bound.scanned)
    slices.push_back(of.values.slot(port.argument.slot) - step * port.step_bytes);
  for (const plan::BoundStacked& port : bound.stacked)
    rows.push_back(of.values.slot(port.row.slot) - step * port.step_bytes);
  bool any = false;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const plan::SlotInit& init = binding.slots[i];
    const bool is_block = init.kind == plan::SlotInit::Kind::arena && i != plan::kScratchSlot &&
                          std::ranges::find(blocks, init.index) != blocks.end();
    if (!is_block && !is_written(binding, bound, i)) continue;
    is_private[i] = true;
    const auto& buffer = binding.history.buffers[static_cast<std::size_t>(init.index)];
    first_byte = any ? std::min(first_byte, init.offset) : init.offset;
    last_byte = std::max(last_byte, init.offset + buffer.bytes);
    any = true;
  }
}

std::int64_t StepsOrigin::bytes_of_worker() const {
  return last_byte - first_byte + main.binding->scratch_bytes;
}

BodySteps::BodySteps(const StepsOrigin& origin, RunState& main, Watch& watch)
    : origin_(origin), state_(main), own_watch_(origin.limits) {
  begin_run(watch);
}

BodySteps::BodySteps(const StepsOrigin& origin)
    : origin_(origin),
      own_(make_worker(origin)),
      state_(*own_),
      own_watch_(origin.limits, Clock::now()) {
  own_->progress.begin_steps(own_watch_);
  begin_run(own_watch_);
}

BodySteps::~BodySteps() = default;

void BodySteps::begin_run(Watch& watch) {
  watch_ = &watch;
  polls_ = std::make_unique<PollCounts>(state_.loops.size());
  run_ = std::make_unique<BodyRun>(BodyRun::Parts{state_.values, state_.kernels, state_.progress,
                                                  state_.control, *polls_, state_.loops},
                                   origin_.loop, origin_.code, watch);
}

void BodySteps::begin(std::int64_t step, std::span<const std::byte> state) {
  const plan::BoundLoop& loop = state_.binding->loops[origin_.loop];
  const std::byte* from = state.data();
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    const plan::BoundCarried& port = loop.carried[i];
    std::byte* const to = state_.values.slot(port.buffer_a);
    state_.values.slot(port.argument.slot) = to;
    state_.values.slot(port.next.slot) = state_.values.slot(port.buffer_b);
    const std::int64_t bytes = loop.speculation->states[i].bytes;
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
    from += bytes;
  }
  for (std::size_t i = 0; i < loop.scanned.size(); ++i)
    state_.values.slot(loop.scanned[i].argument.slot) =
        origin_.slices[i] + step * loop.scanned[i].step_bytes;
  for (std::size_t i = 0; i < loop.stacked.size(); ++i)
    state_.values.slot(loop.stacked[i].row.slot) =
        origin_.rows[i] + step * loop.stacked[i].step_bytes;
  // After the last step there is no block: it would hold rows after those of the sequence.
  failed_ = origin_.has_blocks && step < loop.blocks.rows && !make_block(step);
}

bool BodySteps::make_block(std::int64_t step) {
  const plan::BoundLoop& loop = state_.binding->loops[origin_.loop];
  LoopState& state = state_.loops[origin_.loop];
  const std::int64_t steps = loop.blocks.steps;
  const std::int64_t of_first = kernels::steps_of_first_block(loop.blocks.rows, steps);
  const std::int64_t first = step < of_first ? 0 : step - (step - of_first) % steps;
  state.step = state.block_end = first;
  error_ = state_.blocks.make(origin_.loop, *watch_);
  if (!error_) return false;
  for (std::size_t i = 0; i < loop.scanned.size(); ++i)
    if (loop.blocks.ports[i])
      state_.values.slot(loop.scanned[i].argument.slot) +=
          (step - first) * loop.scanned[i].step_bytes;
  state.step = step;
  return true;
}

bool BodySteps::take(std::int64_t first, std::int64_t last) {
  LoopState& state = state_.loops[origin_.loop];
  state.step = first;
  while (state.step < last && !failed_) {
    if (state.step == state.block_end && !make_block(state.step)) failed_ = true;
    if (failed_) break;
    const std::int64_t reached =
        run_->take_steps(origin_.code.code, std::min(last, state.block_end));
    if (reached < 0) return false;
    state.step = reached;
  }
  return !failed_;
}

void BodySteps::save(std::span<std::byte> state) const {
  const plan::BoundLoop& loop = state_.binding->loops[origin_.loop];
  std::byte* to = state.data();
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    const std::int64_t bytes = loop.speculation->states[i].bytes;
    if (bytes > 0)
      std::memcpy(to, state_.values.slot(loop.carried[i].argument.slot),
                  static_cast<std::size_t>(bytes));
    to += bytes;
  }
}

}  // namespace scanloom::runtime
