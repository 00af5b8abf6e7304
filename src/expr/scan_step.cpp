#include "expr/scan_step.h"

#include <algorithm>
#include <unordered_set>

#include "expr/number_states.h"
#include "expr/substitute.h"

namespace scanloom::expr {
namespace {

Expected<std::vector<ScanState>> states_of(const ScanOptions& options, const NumberStates& numbers,
                                           const std::string& location) {
  std::vector<ScanState> states;
  for (std::size_t i = 0; i < options.initial.size(); ++i) {
    SCANLOOM_TRY(const Initial initial, numbers.initial(i));
    SCANLOOM_TRY(ScanState state, scan_state(i, initial, location));
    numbers.let_adapt(i, state);
    states.push_back(std::move(state));
  }
  return states;
}

Expected<void> check_step(const Step& step) {
  std::vector<Expr> checked = step.outputs;
  checked.push_back(step.stop);
  for (const auto& [variable, next] : step.updates) checked.push_back(next);
  if (const Expr* bad = first_failed(checked)) return *bad->error();
  for (std::size_t i = 0; i < step.outputs.size(); ++i)
    if (!step.outputs[i].defined())
      return fail(Code::invalid_argument, "the step function returns nothing as output {}", i);
  return {};
}

/// Calls the step function once, with its arguments in Theano's order.
Expected<DescribedStep> call_step(const ScanOptions& options, const StepFunction& function,
                                  const std::vector<Expr>& slices, std::vector<ScanState> states) {
  std::vector<Expr> all = slices;
  for (const ScanState& state : states)
    for (const std::int64_t tap : state.taps) all.push_back(state.row_before(-tap));
  all.insert(all.end(), options.captured.begin(), options.captured.end());
  Step step = function(StepInputs(options, std::move(all)));
  SCANLOOM_CHECK_OK(check_step(step));
  if (options.initial.empty()) states.resize(step.outputs.size());
  if (states.size() != step.outputs.size())
    return fail(Code::invalid_argument,
                "the step function returns {} outputs, but there are initial values for {}; "
                "outputs without an initial value need the entry None",
                step.outputs.size(), states.size());
  return DescribedStep{std::move(step), std::move(states)};
}

/// Stops the step's values of the states from adapting to other tensors.
void keep_types(const DescribedStep& described) {
  std::unordered_set<const Node*> inside;
  const auto is_inside = [&](const Expr& x) {
    return x.defined() && inside.contains(x.node().get());
  };
  for (const ScanState& state : described.states)
    for (const Expr& arg : state.args) inside.insert(arg.node().get());
  for (const Node* node : reachable_in_any_form(results_of(described.step)))
    if (inside.contains(node) || std::ranges::any_of(node->inputs, is_inside)) {
      inside.insert(node);
      const_cast<Node*>(node)->weak = false;
    }
}

}  // namespace

Expected<DescribedStep> describe_step(const ScanOptions& options, const StepFunction& function,
                                      const std::vector<Expr>& slices,
                                      const std::string& location) {
  NumberStates numbers(options);
  for (;;) {
    SCANLOOM_TRY(std::vector<ScanState> states, states_of(options, numbers, location));
    SCANLOOM_TRY(DescribedStep described, call_step(options, function, slices, std::move(states)));
    if (!numbers.settle(described.step)) continue;
    if (numbers.any()) keep_types(described);
    return described;
  }
}

std::vector<Expr> results_of(const Step& step) {
  std::vector<Expr> all = step.outputs;
  if (step.stop.defined()) all.push_back(step.stop);
  for (const auto& [variable, next] : step.updates) all.push_back(next);
  return all;
}

}  // namespace scanloom::expr
