#include "expr/scan_updates.h"

#include <algorithm>

#include "expr/scan_step.h"
#include "expr/shared.h"

namespace scanloom::expr {
namespace {

Expected<void> check_distinct(const Step& step) {
  for (const auto& [variable, next] : step.updates)
    for (const auto& [other, again] : step.updates)
      if (variable == other && !(next == again))
        return fail(Code::invalid_argument, "the step returns two updates of {}",
                    describe(variable.variable()));
  return {};
}

}  // namespace

Expected<void> ScanUpdates::add_to(Step& step) {
  Replacements made_of;
  const std::vector<Expr> results = without_captured(step, made_of);
  SCANLOOM_CHECK_OK(check_distinct(step));
  LoopUpdates inner;
  SCANLOOM_CHECK_OK(add_default_updates(step, results, made_of, inner));
  settle(step, inner);
  for (const auto& [variable, next] : step.updates) {
    SCANLOOM_CHECK_OK(check_update(variable.variable(), next));
    const StaticType& type = type_of(variable.variable());
    args_.push_back(placeholder(type, variable.variable().name()));
    hidden_.insert_or_assign(key_of(variable.variable()), args_.back());
  }
  return {};
}

std::vector<Expr> ScanUpdates::in_body(const std::vector<Expr>& results) {
  // First what the step hides, then what was hidden in updates that were found later.
  return substituted(substituted(results, hidden_), leaves_);
}

/// Turns `value` into a leaf, which the loop then captures.
void ScanUpdates::hide(const Expr& value) {
  if (hidden_.contains(key_of(value)) || value.node()->kind == Kind::constant) return;
  const Expr leaf = placeholder(type_of(value), value.name());
  hidden_.emplace(key_of(value), leaf);
  leaves_.emplace(key_of(leaf), value);
}

/// Returns the step's results with captured values hidden: these are what they were before the
/// loop. `made_of` then maps the nodes of the results to those that they replace.
std::vector<Expr> ScanUpdates::without_captured(const Step& step, Replacements& made_of) {
  for (const Expr& value : options_.captured)
    if (value.node()->kind != Kind::shared) hide(value);
  Replacements captured = hidden_;
  std::vector<Expr> results = substituted(results_of(step), captured);
  for (const auto& [from, to] : captured) {
    Node& node = const_cast<Node&>(*from.node);
    made_of.try_emplace(key_of(to), node.shared_from_this(), from.output);
  }
  return results;
}

Expected<void> ScanUpdates::add_default_updates(Step& step, const std::vector<Expr>& results,
                                                const Replacements& made_of,
                                                LoopUpdates& inner) const {
  for (const Expr& variable : shared_variables(results)) {
    const Expr default_next = default_update(variable);
    const Expr of_loops = default_next.defined() ? inner.after(results, variable, made_of) : Expr();
    const Expr next = of_loops.defined() ? of_loops : default_next;
    const auto named = [&](const auto& entry) { return entry.first.variable() == variable; };
    if (next.defined() && std::ranges::none_of(step.updates, named))
      step.updates.emplace_back(Shared(variable), next);
    else if (options_.strict && std::ranges::none_of(step.updates, named) && !is_passed(variable))
      return fail(Code::invalid_argument,
                  "the step reads the shared variable {}, which strict requires to be among the "
                  "non_sequences or sequences",
                  describe(variable));
  }
  return {};
}

/// Whether the variable is among the scan's captured values and sequences.
bool ScanUpdates::is_passed(const Expr& variable) const {
  return std::ranges::find(options_.captured, variable) != options_.captured.end() ||
         std::ranges::find(options_.sequences, variable, &Sequence::input) !=
             options_.sequences.end();
}

/// Gives the step the branches that return what loops inside them do to variables.
void ScanUpdates::settle(Step& step, const LoopUpdates& inner) const {
  Replacements kept;
  for (const auto& [key, leaf] : hidden_)
    if (const auto value = leaves_.find(key_of(leaf)); value != leaves_.end())
      kept.emplace(key, value->second);
  std::vector<Expr> all = step.outputs;
  all.push_back(step.stop);
  for (const auto& [variable, next] : step.updates) all.push_back(next);
  all = inner.settled(all, std::move(kept));
  std::size_t at = 0;
  for (Expr& output : step.outputs) output = all[at++];
  step.stop = all[at++];
  for (auto& [variable, next] : step.updates) next = all[at++];
}

}  // namespace scanloom::expr
