#include "runtime/failed_steps.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace scanloom::runtime {
namespace {

/// The number of notes that the interpreter makes, too.
constexpr std::size_t kMaxNotes = 8;

/// Returns the stepped loops whose bodies contain the instruction, the outermost first. The end of
/// a loop is not part of its body.
std::vector<std::uint32_t> loops_around(const plan::Binding& binding, std::uint32_t at) {
  std::vector<std::uint32_t> around;
  for (std::uint32_t i = 0; i < binding.loops.size(); ++i) {
    const plan::BoundLoop& loop = binding.loops[i];
    const bool is_stepped = loop.body > 0;
    if (is_stepped && loop.body <= at && at + 1 < loop.exit) around.push_back(i);
  }
  std::ranges::sort(around, {}, [&](std::uint32_t i) { return binding.loops[i].body; });
  return around;
}

}  // namespace

std::uint32_t find_failed(const plan::Binding& binding, std::span<LoopState> loops,
                          std::uint32_t loop, const jit::BodyFrame& frame) {
  // Each call and each loop occurs once in the list.
  plan::Op op = plan::Op::call;
  if (frame.failed_call == jit::kTooFewSlices) op = plan::Op::loop_begin;
  if (frame.failed_call == jit::kStepLimit || frame.failed_call == jit::kStopped)
    op = plan::Op::loop_end;
  const auto wanted =
      static_cast<std::uint32_t>(op == plan::Op::call ? frame.failed_call : frame.failed_loop);
  std::uint32_t at = binding.loops[loop].body;
  const auto is_it = [&](const plan::Instruction& instruction) {
    return instruction.op == op && instruction.index == wanted;
  };
  while (!is_it(binding.code[at])) ++at;
  std::size_t level = 0;
  for (const std::uint32_t around : loops_around(binding, at)) {
    if (binding.loops[around].body < binding.loops[loop].body) continue;
    loops[around].step = level < jit::kReportedLevels ? frame.failed_steps[level] : kUnknownStep;
    ++level;
  }
  return at;
}

Error note_steps(Error error, const plan::Binding& binding, std::span<const LoopState> loops,
                 std::uint32_t at) {
  const plan::Instruction& instruction = binding.code[at];
  std::optional<std::uint32_t> itself;
  if (instruction.op == plan::Op::check_sizes) itself = binding.size_checks[instruction.index].loop;
  const std::vector<std::uint32_t> around = loops_around(binding, at);
  std::size_t notes = 0;
  for (auto index = around.rbegin(); index != around.rend() && notes < kMaxNotes; ++index) {
    const std::int64_t step = loops[*index].step;
    if (*index == itself || step == kUnknownStep) continue;
    error.note(plan::describe_step(*binding.plan, binding.loops[*index].node, step));
    ++notes;
  }
  return error;
}

}  // namespace scanloom::runtime
