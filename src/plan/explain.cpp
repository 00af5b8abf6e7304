// Describes how a loop is executed and where it keeps its states, for `explain`.
#include <algorithm>
#include <set>
#include <vector>

#include "plan/binding.h"
#include "plan/codegen/body_source.h"
#include "plan/cost.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

std::string compiled_step_by_step(const BoundLoop& loop, const std::string& target) {
  const std::string text = "compiled per step: " + target;
  return !loop.notes.why_not_whole_loop
             ? text
             : text +
                   "; not one program for each element: " + loop.notes.why_not_whole_loop->reason;
}

/// Whether the body or outlined region has been compiled.
bool has_code(const Plan& plan, const BodyCode& bound, const Expected<Body>& body) {
  if (bound.code.run != nullptr) return true;
  if (!body) return false;
  const auto code = plan.bodies.find(body->source);
  return code && *code;
}

/// Returns a loop whose code contains this loop, or nullptr.
const BoundLoop* code_around(const Binding& binding, const BoundLoop& loop) {
  const Plan& plan = *binding.plan;
  const auto holds = [&](std::uint32_t first, std::uint32_t last) {
    return first > 0 && first < loop.body && loop.exit <= last;
  };
  for (const BoundLoop& other : binding.loops)
    if (holds(other.body, other.exit - 1) &&
        has_code(plan, other.per_step.code, describe_body(plan, binding, other)))
      return &other;
  for (const OutlinedRegion& outlined : binding.outlined_regions)
    if (holds(outlined.first, outlined.last) &&
        has_code(plan, outlined.code, describe_outlined_region(plan, binding, outlined)))
      return &binding.loops[outlined.loop];
  return nullptr;
}

bool takes_one_step(const BoundLoop& loop) { return has_known_trips(loop) && loop.trip_count == 1; }

std::string stepped_once(const BoundLoop& loop) {
  return "stepped: the body's code takes over at the second step" + loop.notes.remarks;
}

/// The steps that earlier runs of the session have stepped; empty before the first.
std::string taken_so_far(const BoundLoop& loop) {
  const std::int64_t taken = loop.stepped->load();
  return taken > 0 ? fmt::format("; {} taken so far", counted(taken, "step")) : std::string();
}

std::string strategy_of_body(const Plan& plan, const Binding& binding, const BoundLoop& loop) {
  const Expected<Body> body = describe_body(plan, binding, loop);
  if (!body) return loop.notes.strategy + "; " + body.error().text();
  if (takes_one_step(loop)) return stepped_once(loop);
  const auto code = plan.bodies.find(body->source);
  if (!code && loop.per_step.decides_late)
    return fmt::format(
        "stepped: the first steps show how long inner loops are{}; compiled after {} steps, unless "
        "one of these takes {}",
        loop.notes.remarks, loop.per_step.steps_to_compile, kMinStepsToCompile);
  if (!code && plan.options.always_compile) return "compiled at run time" + loop.notes.remarks;
  if (!code)
    return fmt::format("stepped: {}{}; compiled after {}{}", kFewSteps, loop.notes.remarks,
                       counted(loop.per_step.steps_to_compile, "step"), taken_so_far(loop));
  if (!*code) return loop.notes.strategy + "; " + code->error().text();
  return compiled_step_by_step(loop, fmt::format("{}, after {}", (*code)->target,
                                                 counted(loop.per_step.steps_to_compile, "step")));
}

/// Describes a body that cannot be compiled as a whole but has regions that can.
std::string strategy_of_outlined_regions(const Plan& plan, const Binding& binding,
                                         const BoundLoop& loop) {
  const std::string why = describe(plan, loop.node) + " " + loop.per_step.refusal->reason;
  std::int64_t parts = 0, instructions = 0;
  std::string target;
  for (const std::uint32_t index : loop.per_step.outlined_regions) {
    const OutlinedRegion& outlined = binding.outlined_regions[index];
    const Expected<Body> body = describe_outlined_region(plan, binding, outlined);
    if (!body) continue;
    const auto code = plan.bodies.find(body->source);
    if (!code || !*code) continue;
    target = (*code)->target;
    ++parts;
    instructions += outlined.last - outlined.first;
  }
  if (parts == 0)
    return fmt::format("{}; {}; its outlined regions are compiled after {}", loop.notes.strategy,
                       why, counted(loop.per_step.steps_to_compile, "step"));
  return fmt::format(
      "compiled in outlined regions: {} of code with {} of the body's {} instructions, {}; not as "
      "a whole: {}",
      counted(parts, "piece"), instructions, loop.exit - 1 - loop.body, target, why);
}

/// Says when the run compiles the loop as a whole.
std::string when_whole(const PlanOptions& options, const BoundLoop& loop) {
  const WholeLoop& whole = *loop.whole;
  const std::int64_t least = min_steps(options);
  std::string text = fmt::format("compiled after {}", counted(whole.steps_to_whole_loop, "step"));
  const bool may_be_long = loop.trip_count < 0 || loop.trip_count >= whole.steps_at_once;
  if (whole.source->has_keep_going && least > 1 && may_be_long)
    text += fmt::format(", or after an execution of {}", counted(least, "step"));
  else if (loop.trip_count < 0 && whole.steps_at_once < whole.steps_to_whole_loop)
    text += fmt::format(", or by an execution of {}", counted(whole.steps_at_once, "step"));
  return text + taken_so_far(loop);
}

/// Describes a loop that the run may compile as a whole, by what is compiled now.
std::string strategy_of_undecided(const Binding& binding, const BoundLoop& loop) {
  const Plan& plan = *binding.plan;
  const auto code = find_loop(plan, *loop.whole->source);
  if (code && !*code) return "stepped: " + code->error().text();
  if (code) return "compiled as a whole loop: " + loop.whole->work + ", " + (*code)->target;
  if (plan.options.always_compile) return "compiled at run time: " + loop.whole->work;
  if (const Expected<Body> body = describe_body(plan, binding, loop))
    if (const auto per_step = plan.bodies.find(body->source); per_step && *per_step)
      return fmt::format("compiled per step: {}, after {}; as a whole loop {}", (*per_step)->target,
                         counted(loop.per_step.steps_to_compile, "step"),
                         when_whole(plan.options, loop));
  return fmt::format("stepped: {}{}; {}", kFewSteps, loop.notes.remarks,
                     when_whole(plan.options, loop));
}

std::string strategy_of(const Binding& binding, const BoundLoop& loop) {
  const Plan& plan = *binding.plan;
  if (loop.per_step.code.code.run != nullptr && takes_one_step(loop)) return stepped_once(loop);
  if (loop.per_step.code.code.run != nullptr)
    return compiled_step_by_step(loop, loop.per_step.code.code.target);
  if (loop.is_compiled_whole() || plan.options.compiler == nullptr) return loop.notes.strategy;
  if (const BoundLoop* const around = code_around(binding, loop))
    return "part of the code of " + describe(plan, around->node);
  if (loop.may_become_whole()) return strategy_of_undecided(binding, loop);
  return loop.per_step.outlined_regions.empty() ? strategy_of_body(plan, binding, loop)
                                                : strategy_of_outlined_regions(plan, binding, loop);
}

/// Whether the steps are run by whole-loop code, which is one element program.
bool is_element_program(const Binding& binding, const BoundLoop& loop) {
  if (loop.is_compiled_whole()) return true;
  if (!loop.may_become_whole() || binding.plan->options.compiler == nullptr) return false;
  const auto code = find_loop(*binding.plan, *loop.whole->source);
  return code && code->has_value();
}

/// Returns the states that the code of a per-step compiled body keeps in its own memory.
std::set<SlotId> local_states(const Binding& binding, const BoundLoop& loop) {
  std::set<SlotId> slots;
  if (binding.plan->options.compiler == nullptr) return slots;
  const Expected<Body> body = describe_body(*binding.plan, binding, loop);
  if (!body || !has_code(*binding.plan, loop.per_step.code, body)) return slots;
  for (const loopnest::LocalState& state : body->source.states) slots.insert(state.slot);
  return slots;
}

}  // namespace

bool has_code_of_steps(const Binding& binding, const BoundLoop& loop) {
  if (is_element_program(binding, loop)) return true;
  if (binding.plan->options.compiler == nullptr) return false;
  return code_around(binding, loop) != nullptr ||
         has_code(*binding.plan, loop.per_step.code, describe_body(*binding.plan, binding, loop));
}

std::vector<std::string> describe_states(const Binding& binding, const BoundLoop& loop) {
  std::vector<std::string> states;
  const bool is_program = is_element_program(binding, loop);
  const std::set<SlotId> local = is_program ? std::set<SlotId>() : local_states(binding, loop);
  for (const BoundCarried& port : loop.carried) {
    if (port.argument.is_object())
      states.emplace_back("passed by reference");
    else if (port.argument.is_dynamic())
      states.emplace_back("in memory reserved at run time, once its size is known");
    else if (port.in_place)
      states.emplace_back("updated in place");
    else if (is_program)
      states.emplace_back("in registers as far as they suffice, otherwise double-buffered");
    else if (local.contains(port.argument.slot))
      states.emplace_back(
          "in registers or local memory of the code, from the first step to the last");
    else
      states.emplace_back("double-buffered, read through a pointer at the end");
  }
  return states;
}

std::vector<std::string> describe_plain_calls(const Binding& binding, const BoundLoop& loop) {
  std::vector<std::string> found;
  if (has_code_of_steps(binding, loop)) return found;
  for (std::uint32_t at = loop.body, next = at; at + 1 < loop.exit; at = next) {
    const Instruction& instruction = binding.code[at];
    // Loops inside have lines of their own; both regions of branches belong to the step.
    next = instruction.op == Op::loop_begin ? end_of_block(binding, at) : at + 1;
    if (instruction.op != Op::call) continue;
    const BoundCall& call = binding.calls[instruction.index];
    if (call.refusals.empty()) continue;
    std::string text = describe(*binding.plan, call.node);
    for (const Refusal& refusal : call.refusals) text += "; " + refusal.reason;
    found.push_back(std::move(text));
  }
  return found;
}

std::string describe_strategy(const Binding& binding, const BoundLoop& loop) {
  return strategy_of(binding, loop) + loop.notes.rows_made;
}

}  // namespace scanloom::plan
