// What became of a loop, for people.
#include <algorithm>

#include "plan/binding.h"
#include "plan/body_source.h"
#include "plan/cost.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

std::string compiled_step_by_step(const BoundLoop& loop, const std::string& target) {
  const std::string text = "compiled step by step: " + target;
  return loop.why_not_whole.empty() ? text
                                    : text + "; not one program over lanes: " + loop.why_not_whole;
}

/// A body whose code holds the loop, if there is one.
const BoundLoop* code_around(const Binding& binding, const BoundLoop& loop) {
  for (const BoundLoop& other : binding.loops) {
    const bool is_stepped = other.body > 0;
    if (!is_stepped || other.body >= loop.body || loop.exit >= other.exit) continue;
    if (other.body_code.code.run != nullptr) return &other;
    const Expected<Body> body = describe_body(*binding.plan, binding, other);
    if (!body) continue;
    const auto code = binding.plan->bodies.find(body->source);
    if (code && *code) return &other;
  }
  return nullptr;
}

std::string strategy_of_body(const Plan& plan, const Binding& binding, const BoundLoop& loop) {
  const Expected<Body> body = describe_body(plan, binding, loop);
  if (!body) return loop.strategy + "; " + body.error().text();
  const auto code = plan.bodies.find(body->source);
  if (!code && loop.decides_late)
    return fmt::format(
        "stepped: the first steps show how long loops inside are{}; compiled after {} steps, "
        "unless "
        "one of these takes {}",
        loop.remarks, loop.steps_to_compile, kMinStepsToCompile);
  if (!code)
    return fmt::format("stepped: {}{}; compiled after {} steps", kFewSteps, loop.remarks,
                       loop.steps_to_compile);
  if (!*code) return loop.strategy + "; " + code->error().text();
  return compiled_step_by_step(
      loop, fmt::format("{}, after {} steps", (*code)->target, loop.steps_to_compile));
}

std::string strategy_of(const Binding& binding, const BoundLoop& loop) {
  const Plan& plan = *binding.plan;
  if (loop.body_code.code.run != nullptr)
    return compiled_step_by_step(loop, loop.body_code.code.target);
  if (loop.compiled.run != nullptr || plan.options.compiler == nullptr) return loop.strategy;
  if (const BoundLoop* const around = code_around(binding, loop))
    return "part of the code of " + describe(plan, around->node);
  if (loop.source) {
    const auto code = find_loop(plan, *loop.source);
    if (code) return *code ? "compiled: " + (*code)->target : "stepped: " + code->error().text();
    return loop.strategy;
  }
  return strategy_of_body(plan, binding, loop);
}

/// The code that takes the steps is one element program's.
bool is_element_program(const Binding& binding, const BoundLoop& loop) {
  if (loop.compiled.run != nullptr) return true;
  if (!loop.source || binding.plan->options.compiler == nullptr) return false;
  const auto code = find_loop(*binding.plan, *loop.source);
  return code && code->has_value();
}

/// The code that takes the steps, where it is that of a body, keeps the state in its own memory.
bool is_local(const Binding& binding, const BoundLoop& loop, const BoundCarried& port) {
  if (binding.plan->options.compiler == nullptr) return false;
  const Expected<Body> body = describe_body(*binding.plan, binding, loop);
  if (!body) return false;
  const auto code = binding.plan->bodies.find(body->source);
  return code && *code &&
         std::ranges::any_of(body->source.states, [&](const jit::LocalState& state) {
           return state.slot == port.argument.slot;
         });
}

}  // namespace

std::string describe_state(const Binding& binding, const BoundLoop& loop, std::size_t i) {
  const BoundCarried& port = loop.carried[i];
  if (port.argument.is_object()) return "a reference that is handed on";
  if (port.in_place) return "updated in place";
  if (is_element_program(binding, loop))
    return "in registers of the code as far as they suffice, between two buffers";
  if (is_local(binding, loop, port))
    return "in registers or memory of the code from its first step to its last";
  return "two buffers that take turns, read through a pointer at the end";
}

std::string describe_strategy(const Binding& binding, const BoundLoop& loop) {
  const std::string strategy = strategy_of(binding, loop);
  return loop.made_beside.empty() ? strategy : strategy + "; " + loop.made_beside;
}

}  // namespace scanloom::plan
