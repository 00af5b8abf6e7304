#include "report/loop_advice.h"

#include <algorithm>
#include <utility>

#include "plan/plan.h"

namespace scanloom::report {
namespace {

using plan::Binding;
using plan::BoundLoop;
using plan::Op;

constexpr const char* kOtherSizes =
    "Give values that grow their final size from the beginning: write rows with ScatterND, or mask "
    "those that are not written yet. Nodes of known sizes need no look-up per step and can become "
    "machine code.";
constexpr const char* kNoObjects =
    "Use tensors instead of sequences, optionals and strings inside of the loop, or do this work "
    "before or after it.";
constexpr const char* kMoveOut =
    "If the node needs no state of the loop, compute it before the loop for all steps at once; if "
    "nothing in the loop reads it, after the loop.";
constexpr const char* kSplit =
    "Split the body: code is made for at most this much at once. Move what does not depend on a "
    "state out of the loop.";

/// The instructions of the loop's own steps, without those of inner loops.
template <class Visit>
void for_own_instructions(const Binding& binding, const BoundLoop& loop, const Visit& visit) {
  if (loop.exit == 0) return;
  for (std::uint32_t at = loop.body, next = at; at + 1 < loop.exit; at = next) {
    const plan::Instruction& instruction = binding.code[at];
    next = instruction.op == Op::loop_begin ? plan::end_of_block(binding, at) : at + 1;
    visit(instruction);
  }
}

bool has_objects(const Binding& binding, const BoundLoop& loop) {
  bool found = false;
  for_own_instructions(binding, loop, [&](const plan::Instruction& instruction) {
    found |= instruction.op == Op::object_call;
  });
  return found;
}

bool has_dynamic_calls(const Binding& binding, const BoundLoop& loop) {
  bool found = false;
  for_own_instructions(binding, loop, [&](const plan::Instruction& instruction) {
    found |= instruction.op == Op::dynamic_call;
  });
  return found;
}

Obstacle of_body(const Binding& binding, const BoundLoop& loop) {
  const Refusal& refusal = *loop.per_step.refusal;
  Obstacle found{"the body cannot be machine code as a whole: it " + refusal.reason, kMoveOut,
                 refusal.node};
  if (has_objects(binding, loop)) found.advice = kNoObjects;
  if (has_dynamic_calls(binding, loop)) found.advice = kOtherSizes;
  if (!refusal.node.valid()) found.advice = kSplit;
  return found;
}

Obstacle of_few_steps(const BoundLoop& loop) {
  if (!loop.whole && loop.trip_count == 1)
    return {"it takes one step per run, and the body's code takes over at the second step",
            "Feed more steps to each run, if there are more: code then takes the steps after the "
            "first.",
            {}};
  // In the order of the strategy's text: the whole loop, then its steps.
  const std::int64_t steps =
      loop.whole ? loop.whole->steps_to_whole_loop : loop.per_step.steps_to_compile;
  std::string text = "too few steps so far to repay compilation";
  if (steps > 0) text += fmt::format(": it is compiled after {}", plan::counted(steps, "step"));
  return {std::move(text),
          "Nothing needs to be done: a session that runs often reaches that number. To compile in "
          "the first run, use execution=\"compiled\" in Python, Execution::compiled in C++ or "
          "--jit on the command line.",
          {}};
}

/// Calls of the steps that no kernel takes.
void add_plain_calls(const Binding& binding, const BoundLoop& loop, std::vector<Obstacle>& found) {
  if (plan::has_code_of_steps(binding, loop)) return;
  for_own_instructions(binding, loop, [&](const plan::Instruction& instruction) {
    if (instruction.op != Op::call) return;
    const plan::BoundCall& call = binding.calls[instruction.index];
    if (call.refusals.empty()) return;
    std::string text = plan::describe(*binding.plan, call.node) + " has no kernel";
    for (const Refusal& refusal : call.refusals) text += "; " + refusal.reason;
    found.push_back({std::move(text),
                     "The plain loop that defines the operator runs this node. Other element types "
                     "or sizes, as the reasons say, would be taken by a kernel.",
                     call.node});
  });
}

}  // namespace

std::vector<Obstacle> obstacles(const Binding& binding, const BoundLoop& loop) {
  std::vector<Obstacle> found;
  const plan::PlanOptions& options = binding.plan->options;
  if (loop.is_compiled_whole()) return found;
  if (options.compiler == nullptr) {
    found.push_back({options.why_no_compiler,
                     "Leave out --no-jit or execution=\"stepped\"; a library without its loop "
                     "compiler, libscanloom_jit.so, steps all loops.",
                     {}});
  } else if (!plan::has_code_of_steps(binding, loop)) {
    found.push_back(loop.per_step.refusal ? of_body(binding, loop) : of_few_steps(loop));
  }
  add_plain_calls(binding, loop, found);
  if (loop.notes.why_not_whole_loop && options.compiler != nullptr)
    found.push_back({"its steps are not one program for each element, with states in registers: " +
                         loop.notes.why_not_whole_loop->reason,
                     "", loop.notes.why_not_whole_loop->node});
  return found;
}

}  // namespace scanloom::report
