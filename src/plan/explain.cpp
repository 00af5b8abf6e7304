// What became of a loop, for people.
#include <limits>

#include "plan/binding.h"
#include "plan/body_source.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

std::string strategy_of_body(const Plan& plan, const Binding& binding, const BoundLoop& loop) {
  const Expected<Body> body = describe_body(plan, binding, loop);
  if (!body) return loop.strategy;  // which says why
  const auto code = plan.bodies.find(body->source);
  if (!code)
    return fmt::format("{}; compiled after {} steps", loop.strategy, loop.steps_to_compile);
  if (!*code) return loop.strategy + "; " + code->error().text();
  return fmt::format("compiled step by step: {}, after {} steps", (*code)->target,
                     loop.steps_to_compile);
}

std::string strategy_of(const Binding& binding, const BoundLoop& loop) {
  const Plan& plan = *binding.plan;
  const bool decided = loop.compiled.run != nullptr || loop.body_code.run != nullptr;
  if (decided || plan.options.compiler == nullptr) return loop.strategy;
  if (loop.source) {
    const auto code = find_loop(plan, *loop.source);
    if (code) return *code ? "compiled: " + (*code)->target : "stepped: " + code->error().text();
    return loop.strategy;
  }
  // Inside of a loop that is code.
  if (loop.steps_to_compile == std::numeric_limits<std::int64_t>::max()) return loop.strategy;
  return strategy_of_body(plan, binding, loop);
}

}  // namespace

std::string describe_strategy(const Binding& binding, const BoundLoop& loop) {
  const std::string strategy = strategy_of(binding, loop);
  return loop.made_beside.empty() ? strategy : strategy + "; " + loop.made_beside;
}

}  // namespace scanloom::plan
