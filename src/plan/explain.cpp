// What became of a loop, for people.
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

/// Whether there is code of that body or part of one.
bool has_code(const Plan& plan, const BodyCode& bound, const Expected<Body>& body) {
  if (bound.code.run != nullptr) return true;
  if (!body) return false;
  const auto code = plan.bodies.find(body->source);
  return code && *code;
}

/// A loop whose code holds this one, if there is one.
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
  return "stepped: code of such a body takes over at the second step" + loop.notes.remarks;
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
        "stepped: the first steps show how long loops inside are{}; compiled after {} steps, "
        "unless "
        "one of these takes {}",
        loop.notes.remarks, loop.per_step.steps_to_compile, kMinStepsToCompile);
  if (!code && plan.options.always_compile) return "compiled when it runs" + loop.notes.remarks;
  if (!code)
    return fmt::format("stepped: {}{}; compiled after {}{}", kFewSteps, loop.notes.remarks,
                       counted(loop.per_step.steps_to_compile, "step"), taken_so_far(loop));
  if (!*code) return loop.notes.strategy + "; " + code->error().text();
  return compiled_step_by_step(loop, fmt::format("{}, after {}", (*code)->target,
                                                 counted(loop.per_step.steps_to_compile, "step")));
}

/// Of a body with parts that become code, though not all of it does.
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
    return fmt::format("{}; {}; outlined regions of it are compiled after {}", loop.notes.strategy,
                       why, counted(loop.per_step.steps_to_compile, "step"));
  return fmt::format(
      "compiled in outlined regions: {} of code, with {} of the body's {} instructions, {}; not as "
      "a whole: "
      "{}",
      counted(parts, "piece"), instructions, loop.exit - 1 - loop.body, target, why);
}

/// Says when the run compiles the loop as a whole.
std::string when_whole(const PlanOptions& options, const BoundLoop& loop) {
  const WholeLoop& whole = *loop.whole;
  const std::int64_t least = min_steps(options);
  std::string text = fmt::format("compiled after {}", counted(whole.steps_to_whole_loop, "step"));
  if (whole.source->has_keep_going && least > 1)
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
  if (plan.options.always_compile) return "compiled when it runs: " + loop.whole->work;
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

/// The code that takes the steps is one element program's.
bool is_element_program(const Binding& binding, const BoundLoop& loop) {
  if (loop.is_compiled_whole()) return true;
  if (!loop.may_become_whole() || binding.plan->options.compiler == nullptr) return false;
  const auto code = find_loop(*binding.plan, *loop.whole->source);
  return code && code->has_value();
}

/// The states that the code keeps in its own memory, where a body's code takes the steps.
std::set<SlotId> local_states(const Binding& binding, const BoundLoop& loop) {
  std::set<SlotId> slots;
  if (binding.plan->options.compiler == nullptr) return slots;
  const Expected<Body> body = describe_body(*binding.plan, binding, loop);
  if (!body || !has_code(*binding.plan, loop.per_step.code, body)) return slots;
  for (const loopnest::LocalState& state : body->source.states) slots.insert(state.slot);
  return slots;
}

}  // namespace

std::vector<std::string> describe_states(const Binding& binding, const BoundLoop& loop) {
  std::vector<std::string> states;
  const bool is_program = is_element_program(binding, loop);
  const std::set<SlotId> local = is_program ? std::set<SlotId>() : local_states(binding, loop);
  for (const BoundCarried& port : loop.carried) {
    if (port.argument.is_object())
      states.emplace_back("a reference that is handed on");
    else if (port.argument.is_dynamic())
      states.emplace_back("in memory that is reserved when the run knows its size");
    else if (port.in_place)
      states.emplace_back("updated in place");
    else if (is_program)
      states.emplace_back("in registers of the code as far as they suffice, between two buffers");
    else if (local.contains(port.argument.slot))
      states.emplace_back("in registers or memory of the code from its first step to its last");
    else
      states.emplace_back("two buffers that take turns, read through a pointer at the end");
  }
  return states;
}

std::string describe_strategy(const Binding& binding, const BoundLoop& loop) {
  return strategy_of(binding, loop) + loop.notes.rows_made;
}

}  // namespace scanloom::plan
