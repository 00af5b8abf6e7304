#include "grad/loop_step.h"

#include <algorithm>
#include <set>

#include "grad/reads.h"
#include "grad/reverse.h"

namespace scanloom::autodiff {

using expr::Node;

StepReverse::StepReverse(const Pull& pull)
    : pull_(pull), body_(pull.node->body), ports_(pull.node->loop->ports) {}

std::optional<Error> StepReverse::run() {
  find_active();
  find_states();
  const std::vector<Expr> outputs = roots();
  for (const Expr& x : outputs) cotangents_.push_back(expr::placeholder(expr::type_of(x)));
  auto pulled = pulled_back(outputs, cotangents_, active_);
  if (!pulled) return std::move(pulled).error();
  for (std::size_t i = 0; i < active_.size(); ++i)
    pulled_.emplace(expr::key_of(active_[i]), (*pulled)[i]);
  return std::nullopt;
}

Expr StepReverse::pulled(const Expr& arg) const {
  const auto found = pulled_.find(expr::key_of(arg));
  return found == pulled_.end() ? Expr() : found->second;
}

bool StepReverse::is_active(const Expr& arg) const {
  return std::ranges::find(active_, arg) != active_.end();
}

/// Finds the arguments that change with `wrt`.
void StepReverse::find_active() {
  const std::size_t first = ports_.first_captured_input();
  for (std::size_t i = 0; i < body_.args.size(); ++i)
    if (pull_.wanted[first + i]) active_.push_back(body_.args[i]);
  const Reads reads = results_read(*pull_.node);
  for (std::uint32_t i = 0; i < ports_.carried; ++i) {
    bool reads_wanted = false;
    for (std::size_t arg = 0; arg < body_.args.size(); ++arg)
      reads_wanted |= reads.contains(i, arg) && pull_.wanted[first + arg];
    if (reads_wanted && !is_active(arg_of_state(i))) active_.push_back(arg_of_state(i));
  }
}

/// Finds the states that have a cotangent: by a fixpoint, since a state may be read by any other
/// one a step later.
void StepReverse::find_states() {
  has_cotangent_.assign(ports_.carried, false);
  for (std::size_t i = 0; i < ports_.carried; ++i)
    has_cotangent_[i] = is_active(arg_of_state(i)) && pull_.cotangents[i].defined();
  for (bool grown = true; grown;) {
    grown = false;
    const Activity activity(roots(), active_);
    std::set<expr::ExprKey> read;
    for (const Expr& x : roots()) read.insert(expr::key_of(x));
    for (const Node* node : activity.nodes())
      for (const Expr& x : node->inputs)
        if (x.defined()) read.insert(expr::key_of(x));
    for (std::size_t i = 0; i < ports_.carried; ++i)
      if (!has_cotangent_[i] && is_active(arg_of_state(i)) &&
          read.contains(expr::key_of(arg_of_state(i)))) {
        has_cotangent_[i] = true;
        grown = true;
      }
  }
}

/// Returns the yields of the step that have cotangents: next states and rows.
std::vector<Expr> StepReverse::roots() const {
  std::vector<Expr> all;
  for (std::size_t i = 0; i < ports_.carried; ++i)
    if (has_cotangent_[i]) all.push_back(body_.yields[ports_.first_carried_yield() + i]);
  for (std::size_t i = 0; i < ports_.stacked.size(); ++i)
    if (pull_.cotangents[ports_.carried + i].defined())
      all.push_back(body_.yields[ports_.first_stacked_yield() + i]);
  return all;
}

}  // namespace scanloom::autodiff
