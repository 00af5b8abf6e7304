// Describes whether a loop is speculated, for `explain`.
#include "plan/binding.h"
#include "plan/cost.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

/// Nobody asks why a loop of fewer steps is not speculated.
constexpr std::int64_t kManySteps = 100'000;

std::string text_of(const SpeculationRecord::Facts& facts) {
  std::string text = counted(facts.agreed, "chunk") + " agreed";
  if (facts.agreed > 0)
    text += fmt::format(", at most {} after a guess of the state", counted(facts.needed, "step"));
  if (facts.redone > 0)
    text += fmt::format(", {} of wrong ones taken again by all threads, from paired states",
                        counted(facts.redone, "part"));
  if (facts.gain > 0) text += fmt::format(", {:.2g} times as fast as in order", facts.gain);
  if (facts.failed > 0) text += fmt::format("; none in {}", counted(facts.failed, "run"));
  return text;
}

}  // namespace

std::string describe_speculation(const Binding& binding, const BoundLoop& loop,
                                 std::int64_t steps) {
  if (loop.notes.why_not_speculated)
    return steps < kManySteps ? "" : "taken in order: " + loop.notes.why_not_speculated->reason;
  if (!loop.speculation) return {};
  const SpeculationRecord::Facts facts = loop.speculated->facts();
  const bool is_tried = facts.agreed + facts.failed + facts.redone > 0;
  if (!is_tried && !pays_to_speculate(*loop.speculation, steps)) return {};
  if (!is_tried)
    return fmt::format("computed ahead by idle threads, {} in all; not tried yet",
                       binding.plan->options.threads);
  if (!loop.speculated->may_pay(steps / binding.plan->options.threads))
    return "taken in order: " + text_of(facts);
  return "computed ahead by idle threads: " + text_of(facts);
}

}  // namespace scanloom::plan
