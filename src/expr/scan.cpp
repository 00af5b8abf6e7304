// Theano's scan as one loop. Taps of a sequence are windows of it, each a scanned port. The earlier
// outputs that steps see are carried: one port per step that the earliest tap looks back, or a ring
// of rows if that is far. Updates are carried too, and the condition that ends the loop is yielded.
#include <scanloom/scan.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "expr/apply.h"
#include "expr/checkpoint.h"
#include "expr/loop.h"
#include "expr/loop_updates.h"
#include "expr/number_states.h"
#include "expr/scan_taps.h"
#include "expr/shared.h"
#include "expr/substitute.h"
#include "ir/loop_ports.h"
#include "ops/ops.h"

namespace scanloom {
namespace {

using expr::Node;
using expr::Replacements;
using expr::ScanState;
using expr::StaticType;

/// The maximum number of steps; beyond it the number would wrap around.
constexpr std::int64_t kMaxSteps = ir::kEndlessTripCount - 1;

/// Whether x is known to have one element before anything runs.
bool is_one_element(const Expr& x) {
  return std::ranges::all_of(x.sizes(), [](std::int64_t size) { return size == 1; });
}

/// One scan being built. Errors are returned by the first part that finds one.
class Scan {
 public:
  Scan(const ScanOptions& options, const std::function<Step(const StepInputs&)>& step)
      : options_(options), step_(step) {}

  Expected<ScanResult> build() {
    SCANLOOM_CHECK_OK(check());
    SCANLOOM_CHECK_OK(add_sequences());
    SCANLOOM_CHECK_OK(count_steps());
    SCANLOOM_TRY(Step made, take_settled_step());
    SCANLOOM_CHECK_OK(add_updates(made));
    SCANLOOM_CHECK_OK(check_outputs(made));
    return finish(made);
  }

  [[nodiscard]] std::string location() const {
    return options_.name.empty() ? "scan" : "scan '" + options_.name + "'";
  }

 private:
  Expected<void> check() const {
    std::vector<Expr> all = options_.captured;
    for (const Sequence& sequence : options_.sequences) all.push_back(sequence.input);
    for (const Initial& initial : options_.initial) all.push_back(initial.value);
    all.push_back(options_.steps);
    if (const Expr* bad = expr::first_failed(all)) return *bad->error();
    for (std::size_t i = 0; i < options_.captured.size(); ++i)
      if (!options_.captured[i].defined())
        return fail(Code::invalid_argument, "captured value {} is missing", i);
    if (options_.sequences.empty() && !options_.steps.defined())
      return fail(Code::invalid_argument,
                  "the number of steps is unknown: give sequences or the number of steps");
    if (options_.truncate_gradient < -1)
      return fail(Code::invalid_argument,
                  "truncate_gradient is {}, but must be -1 or a number of steps",
                  options_.truncate_gradient);
    return {};
  }

  Expected<void> add_sequences() {
    for (std::size_t i = 0; i < options_.sequences.size(); ++i) {
      SCANLOOM_TRY(std::vector<expr::ScanWindow> windows,
                   expr::windows_of(i, options_.sequences[i], location()));
      for (expr::ScanWindow& window : windows) {
        windows_.push_back(std::move(window.rows));
        slices_.push_back(std::move(window.slice));
      }
    }
    return {};
  }

  Expected<void> count_steps() {
    if (!options_.steps.defined()) {
      for (const Expr& window : windows_)
        steps_ = steps_.defined() ? minimum(steps_, size(window, 0)) : size(window, 0);
      return {};
    }
    const Expr& given = options_.steps;
    if (!is_integer(given.dtype()))
      return fail(Code::invalid_argument,
                  "the number of steps is {}; it must be one integer: cast it to i64",
                  to_string(expr::type_of(given)));
    if (!is_one_element(given))
      return fail(Code::invalid_argument,
                  "the number of steps is {}; it must be one integer, not several: a size is "
                  "x.shape[0], not x.shape",
                  to_string(expr::type_of(given)));
    const auto known = expr::constant_integers(given);
    if (known && given.dtype() == DType::u64 && (*known)[0] < 0)
      return fail(Code::invalid_argument, "the number of steps is {}, more than 2^63 - 1",
                  static_cast<std::uint64_t>((*known)[0]));
    Expr count = given.rank() > 0 ? reshape(given, expr::integers({})) : given;
    // More steps than can be counted would wrap around in the cast.
    if (count.dtype() == DType::u64 && !known)
      count = minimum(count, number(static_cast<double>(kMaxSteps), DType::u64));
    steps_ = cast(count, DType::i64);
    const auto constant = expr::constant_integers(steps_);
    if (constant && (*constant)[0] >= 0) return {};
    if (constant) {
      backwards_ = !backwards_;
      constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
      steps_ = expr::integer(-std::max((*constant)[0], -kMax));
      return {};
    }
    // At run time the number may also be negative, which reverses the direction.
    const Expr negative = steps_ < 0;
    for (Expr& window : windows_)
      window = if_else(negative, subtensor(window, {Index::slice({}, {}, -1)}), window);
    steps_ = abs(steps_);
    return {};
  }

  Expected<void> add_states(const expr::NumberStates& numbers) {
    states_.clear();
    for (std::size_t i = 0; i < options_.initial.size(); ++i) {
      SCANLOOM_TRY(const Initial initial, numbers.initial(i));
      SCANLOOM_TRY(ScanState state, expr::scan_state(i, initial, location()));
      numbers.let_adapt(i, state);
      states_.push_back(std::move(state));
    }
    return {};
  }

  /// Takes the step once states that begin with numbers have the types that it gives them.
  Expected<Step> take_settled_step() {
    expr::NumberStates numbers(options_);
    for (;;) {
      SCANLOOM_CHECK_OK(add_states(numbers));
      SCANLOOM_TRY(Step made, take_step());
      if (!numbers.settle(made)) continue;
      if (numbers.any()) keep_types(made);
      return made;
    }
  }

  /// Stops the step's values of the states from adapting to other tensors.
  void keep_types(const Step& made) const {
    std::unordered_set<const Node*> inside;
    const auto is_inside = [&](const Expr& x) {
      return x.defined() && inside.contains(x.node().get());
    };
    for (const ScanState& state : states_)
      for (const Expr& arg : state.args) inside.insert(arg.node().get());
    for (const Node* node : expr::reachable_in_any_form(roots(made)))
      if (inside.contains(node) || std::ranges::any_of(node->inputs, is_inside)) {
        inside.insert(node);
        const_cast<Node*>(node)->weak = false;
      }
  }

  /// Calls the step with its arguments in Theano's order.
  Expected<Step> take_step() {
    std::vector<Expr> all = slices_;
    for (const ScanState& state : states_)
      for (const std::int64_t tap : state.taps) all.push_back(state.row_before(-tap));
    all.insert(all.end(), options_.captured.begin(), options_.captured.end());
    Step made = step_(StepInputs(options_, std::move(all)));
    std::vector<Expr> checked = made.outputs;
    checked.push_back(made.stop);
    for (const auto& [variable, next] : made.updates) checked.push_back(next);
    if (const Expr* bad = expr::first_failed(checked)) return *bad->error();
    for (std::size_t i = 0; i < made.outputs.size(); ++i)
      if (!made.outputs[i].defined())
        return fail(Code::invalid_argument, "the step function returns nothing as output {}", i);
    if (options_.initial.empty()) states_.resize(made.outputs.size());
    if (states_.size() != made.outputs.size())
      return fail(Code::invalid_argument,
                  "the step function returns {} outputs, but there are initial values for {}; "
                  "outputs without an initial value need the entry None",
                  made.outputs.size(), states_.size());
    return made;
  }

  /// Returns everything that the step computes, as far as captured values do not hide it.
  [[nodiscard]] std::vector<Expr> roots(const Step& made) const {
    std::vector<Expr> all = made.outputs;
    if (made.stop.defined()) all.push_back(made.stop);
    for (const auto& [variable, next] : made.updates) all.push_back(next);
    return all;
  }

  /// Adds the shared variables that steps change: those that the step names, and those with a
  /// default update, such as the keys of random streams.
  Expected<void> add_updates(Step& made) {
    std::vector<Expr> yields = roots(made);
    // Captured values are what they were before the loop.
    for (const Expr& value : options_.captured)
      if (value.node()->kind != expr::Kind::shared) hide(value);
    Replacements captured = hidden_;
    yields = expr::substituted(yields, captured);
    Replacements made_of;
    for (const auto& [from, to] : captured) {
      Node& node = const_cast<Node&>(*from.node);
      made_of.try_emplace(expr::key_of(to), node.shared_from_this(), from.output);
    }
    for (const auto& [variable, next] : made.updates)
      for (const auto& [other, again] : made.updates)
        if (variable == other && !(next == again))
          return fail(Code::invalid_argument, "the step returns two updates of {}",
                      expr::describe(variable.variable()));
    expr::LoopUpdates inner;
    for (const Expr& variable : expr::shared_variables(yields)) {
      const Expr default_next = expr::default_update(variable);
      const Expr of_loops =
          default_next.defined() ? inner.after(yields, variable, made_of) : Expr();
      const Expr next = of_loops.defined() ? of_loops : default_next;
      const auto named = [&](const auto& entry) { return entry.first.variable() == variable; };
      if (next.defined() && std::ranges::none_of(made.updates, named))
        made.updates.emplace_back(Shared(variable), next);
      else if (options_.strict && std::ranges::none_of(made.updates, named) && !is_handed(variable))
        return fail(Code::invalid_argument,
                    "the step reads the shared variable {}, which strict requires to be among the "
                    "non_sequences or sequences",
                    expr::describe(variable));
    }
    settle(made, inner);
    for (const auto& [variable, next] : made.updates) {
      SCANLOOM_CHECK_OK(expr::check_update(variable.variable(), next));
      const StaticType& type = expr::type_of(variable.variable());
      update_args_.push_back(expr::placeholder(type, variable.variable().name()));
      hidden_.insert_or_assign(expr::key_of(variable.variable()), update_args_.back());
    }
    return {};
  }

  /// Whether the variable is among the loop's captured values and sequences.
  [[nodiscard]] bool is_handed(const Expr& variable) const {
    return std::ranges::find(options_.captured, variable) != options_.captured.end() ||
           std::ranges::find(options_.sequences, variable, &Sequence::input) !=
               options_.sequences.end();
  }

  void settle(Step& made, const expr::LoopUpdates& inner) const {
    Replacements kept;
    for (const auto& [key, leaf] : hidden_)
      if (const auto value = leaves_.find(expr::key_of(leaf)); value != leaves_.end())
        kept.emplace(key, value->second);
    std::vector<Expr> all = made.outputs;
    all.push_back(made.stop);
    for (const auto& [variable, next] : made.updates) all.push_back(next);
    all = inner.settled(all, std::move(kept));
    std::size_t at = 0;
    for (Expr& output : made.outputs) output = all[at++];
    made.stop = all[at++];
    for (auto& [variable, next] : made.updates) next = all[at++];
  }

  /// Turns `value` into a leaf, which the loop then captures.
  void hide(const Expr& value) {
    if (hidden_.contains(expr::key_of(value)) || value.node()->kind == expr::Kind::constant) return;
    const Expr leaf = expr::placeholder(expr::type_of(value), value.name());
    hidden_.emplace(expr::key_of(value), leaf);
    leaves_.emplace(expr::key_of(leaf), value);
  }

  Expected<void> check_outputs(const Step& made) const {
    for (std::size_t i = 0; i < made.outputs.size(); ++i) {
      if (states_[i].args.empty()) continue;
      const StaticType &begun = expr::type_of(states_[i].last()),
                       &next = expr::type_of(made.outputs[i]);
      if (begun.dtype != next.dtype)
        return fail(Code::invalid_argument,
                    "output {} begins as {}, but a step makes it {}; cast the initial value to {}, "
                    "or the step's result to {}",
                    i, dtype_name(begun.dtype), dtype_name(next.dtype), dtype_name(next.dtype),
                    dtype_name(begun.dtype));
      if (begun.rank() != next.rank())
        return fail(Code::invalid_argument,
                    "output {} begins with {} {}, but a step makes it with {} ({} and {})", i,
                    begun.rank(), begun.rank() == 1 ? "axis" : "axes", next.rank(),
                    to_string(begun), to_string(next))
            .note(begun.rank() < next.rank()
                      ? "to begin with zeros, use zeros_like(x) of an x with its shape"
                      : "begin with a value of the same rank, such as x[0] instead of x; or keep "
                        "the axes in the step, as a sum with keepdims does");
    }
    if (options_.checkpoint.kind != Checkpoint::Kind::all && options_.truncate_gradient >= 0)
      return fail(Code::unsupported, "checkpoints of a loop whose gradient is truncated");
    if (!made.stop.defined()) return {};
    if (options_.checkpoint.kind != Checkpoint::Kind::all)
      return fail(Code::unsupported, "checkpoints of a loop that a condition ends")
          .note(
              "use checkpoint 'all'; or drop the condition, take a number of steps, and freeze the "
              "state once it holds: where(stop, state, next)");
    if (!is_one_element(made.stop))
      return fail(Code::invalid_argument,
                  "the condition of until is {}, not one element: reduce it with all or any",
                  to_string(expr::type_of(made.stop)));
    return {};
  }

  Expected<ScanResult> finish(const Step& made) {
    expr::LoopSpec spec;
    spec.location = location();
    spec.built_of = options_.captured;
    for (const Sequence& sequence : options_.sequences) spec.built_of.push_back(sequence.input);
    for (const Initial& initial : options_.initial) spec.built_of.push_back(initial.value);
    spec.built_of.push_back(options_.steps);
    std::erase_if(spec.built_of, [](const Expr& x) { return !x.defined(); });
    ir::LoopPorts& ports = spec.facts.ports;
    ports.has_trip_count = true;
    ports.fixed_sizes = true;
    ports.has_keep_going = made.stop.defined();
    spec.facts.truncate_gradient = options_.truncate_gradient;
    spec.operands = {steps_};
    std::vector<Expr> next, rows;
    for (std::size_t i = 0; i < states_.size(); ++i)
      add_ports(spec, made.outputs[i], i, next, rows);
    for (std::size_t i = 0; i < made.updates.size(); ++i) {
      spec.operands.push_back(made.updates[i].first.variable());
      spec.args.push_back(update_args_[i]);
      next.push_back(made.updates[i].second);
    }
    ports.carried = static_cast<std::uint32_t>(next.size());
    spec.facts.updates = static_cast<std::uint32_t>(made.updates.size());
    add_scanned(spec);
    if (made.stop.defined()) {
      const Expr stop = cast(made.stop, DType::boolean);
      spec.yields.push_back(~(stop.rank() == 0 ? stop : reshape(stop, expr::integers({}))));
    }
    spec.yields.insert(spec.yields.end(), next.begin(), next.end());
    spec.yields.insert(spec.yields.end(), rows.begin(), rows.end());
    // First what the step hides, then what was hidden in updates that were found later.
    spec.yields = expr::substituted(spec.yields, hidden_);
    spec.yields = expr::substituted(spec.yields, leaves_);
    const std::span states(spec.args.data(), next.size());
    SCANLOOM_TRY(const std::vector<Expr> chunks,
                 expr::chunks_of(options_.checkpoint, steps_, states));
    return results(expr::make_chunked_loop(std::move(spec), chunks), made, next.size());
  }

  void add_scanned(expr::LoopSpec& spec) const {
    // Chunks are taken from forward sequences.
    const bool in_chunks = options_.checkpoint.kind != Checkpoint::Kind::all;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      const bool back = backwards_ && !in_chunks, turned = backwards_ && in_chunks;
      spec.facts.ports.scanned.push_back(back ? ir::ScannedPort{.start = -1, .stride = -1}
                                              : ir::ScannedPort{});
      spec.operands.push_back(turned ? subtensor(windows_[i], {Index::slice({}, {}, -1)})
                                     : windows_[i]);
      spec.args.push_back(slices_[i]);
    }
  }

  /// Adds the carried ports of an output, oldest first, and the stacked one.
  void add_ports(expr::LoopSpec& spec, const Expr& output, std::size_t i, std::vector<Expr>& next,
                 std::vector<Expr>& rows) const {
    const ScanState& state = states_[i];
    for (std::size_t k = 0; k < state.args.size(); ++k) {
      spec.operands.push_back(state.initial[k]);
      spec.args.push_back(state.args[k]);
      next.push_back(state.next(k, output));
    }
    spec.facts.state_of_row.push_back(state.args.empty() ? -1 : static_cast<int>(next.size()) - 1);
    spec.facts.ports.stacked.emplace_back();
    rows.push_back(output);
  }

  static ScanResult results(const std::vector<Expr>& loop, const Step& made, std::size_t carried) {
    ScanResult result;
    for (std::size_t i = 0; i < made.outputs.size(); ++i)
      result.outputs.push_back(loop[carried + i]);
    const std::size_t first = carried - made.updates.size();
    for (std::size_t i = 0; i < made.updates.size(); ++i)
      result.updates.set(made.updates[i].first, loop[first + i]);
    return result;
  }

  const ScanOptions& options_;
  const std::function<Step(const StepInputs&)>& step_;
  bool backwards_ = options_.backwards;
  std::vector<Expr> windows_, slices_;
  Expr steps_;
  std::vector<ScanState> states_;
  std::vector<Expr> update_args_;
  Replacements hidden_, leaves_;
};

}  // namespace

ScanResult scan_steps(const ScanOptions& options,
                      const std::function<Step(const StepInputs&)>& step) {
  Scan scan(options, step);
  auto result = scan.build();
  if (result) return *std::move(result);
  const Expr bad = expr::failed(std::move(result).error().at(scan.location()));
  return {std::vector(std::max<std::size_t>(options.initial.size(), 1), bad), Updates::failed(bad)};
}

}  // namespace scanloom
