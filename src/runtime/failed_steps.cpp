// In which steps of which loops a run has failed: worked out afterwards, from where it was in the
// flat list, so that a run that goes well pays nothing for it.
#include <algorithm>

#include "runtime/state.h"

namespace scanloom::runtime {
namespace {

/// As the interpreter tells.
constexpr std::size_t kMaxNotes = 8;

}  // namespace

/// The stepped loops whose bodies the instruction stands in, the outermost first; at its own end a
/// loop is not among them.
std::vector<std::uint32_t> Run::State::loops_around(std::uint32_t at) const {
  std::vector<std::uint32_t> around;
  for (std::uint32_t i = 0; i < binding->loops.size(); ++i) {
    const plan::BoundLoop& loop = binding->loops[i];
    const bool is_stepped = loop.body > 0;
    if (is_stepped && loop.body <= at && at + 1 < loop.exit) around.push_back(i);
  }
  std::ranges::sort(around, {}, [&](std::uint32_t i) { return binding->loops[i].body; });
  return around;
}

void Run::State::find_fault(std::uint32_t index, const jit::BodyFrame& frame) {
  // A call stands in one place of the list, and so does a loop.
  plan::Op op = plan::Op::call;
  if (frame.failed_call == jit::kTooFewSlices) op = plan::Op::loop_begin;
  if (frame.failed_call == jit::kStepLimit || frame.failed_call == jit::kStopped)
    op = plan::Op::loop_end;
  const auto wanted =
      static_cast<std::uint32_t>(op == plan::Op::call ? frame.failed_call : frame.failed_loop);
  failed_at = binding->loops[index].body;
  const auto is_it = [&](const plan::Instruction& instruction) {
    return instruction.op == op && instruction.index == wanted;
  };
  while (!is_it(binding->code[failed_at])) ++failed_at;
  std::size_t level = 0;
  for (const std::uint32_t around : loops_around(failed_at)) {
    if (binding->loops[around].body < binding->loops[index].body) continue;
    loops[around].step = level < jit::kLevelsTold ? frame.failed_steps[level] : kUnknownStep;
    ++level;
  }
}

Error Run::State::in_steps(Error error, std::uint32_t at) const {
  const plan::Instruction& instruction = binding->code[at];
  const std::uint32_t itself = instruction.op == plan::Op::check_sizes
                                   ? binding->size_checks[instruction.index].loop
                                   : kNoLoop;
  const std::vector<std::uint32_t> around = loops_around(at);
  std::size_t notes = 0;
  for (auto index = around.rbegin(); index != around.rend() && notes < kMaxNotes; ++index) {
    const std::int64_t step = loops[*index].step;
    if (*index == itself || step == kUnknownStep) continue;
    error.note(plan::describe_step(*binding->plan, binding->loops[*index].node, step));
    ++notes;
  }
  return error;
}

}  // namespace scanloom::runtime
