// Theano's scan as one loop: taps of a sequence are windows of it, each a scanned port; what steps
// see of earlier outputs is carried, one port per step that the earliest tap looks back, or a ring
// of rows where that is far; updates are carried, too, and the condition that ends the loop is
// yielded.
#include <scanloom/scan.h>

#include <algorithm>
#include <limits>
#include <set>

#include "expr/apply.h"
#include "expr/checkpoint.h"
#include "expr/loop.h"
#include "expr/loop_updates.h"
#include "expr/shared.h"
#include "expr/substitute.h"
#include "ir/loop_ports.h"
#include "ops/ops.h"

namespace scanloom {
namespace {

using expr::Node;
using expr::Replacements;
using expr::StaticType;

/// Up to so many steps that taps look back, each is a port of the loop, which keeps them in
/// registers: measured.
constexpr std::int64_t kMostPorts = 16;
/// Beyond, the rows that an output begins with are a tensor that somebody must have.
constexpr std::int64_t kFarthest = std::int64_t{1} << 40;
/// What a number of steps is at most where more of them would turn around.
constexpr std::int64_t kMostSteps = ir::kEndlessTripCount - 1;

std::int64_t earliest(const std::vector<std::int64_t>& taps) {
  return std::min<std::int64_t>(0, *std::ranges::min_element(taps));
}
std::int64_t latest(const std::vector<std::int64_t>& taps) {
  return std::max<std::int64_t>(0, *std::ranges::max_element(taps));
}

/// Whether that is known before anything runs.
bool is_one_element(const Expr& x) {
  return std::ranges::all_of(x.sizes(), [](std::int64_t size) { return size == 1; });
}

StaticType row_type(const Expr& rows) {
  StaticType type = expr::type_of(rows);
  type.sizes.erase(type.sizes.begin());
  return type;
}

/// One scan while it is built. Errors are returned by the first part that finds one.
/// "x" for the step's own row, where that is the only tap; "x[t-1]" where there are others.
std::string slice_name(std::string name, const std::vector<std::int64_t>& taps, std::int64_t tap) {
  if (taps.size() == 1 && tap == 0) return name;
  return name + "[t" + (tap > 0 ? "+" : "") + (tap == 0 ? "" : std::to_string(tap)) + "]";
}

class Scan {
 public:
  Scan(const ScanOptions& options, const std::function<Step(const StepInputs&)>& step)
      : options_(options), step_(step) {}

  Expected<ScanResult> build() {
    SCANLOOM_CHECK_OK(check());
    SCANLOOM_CHECK_OK(add_sequences());
    SCANLOOM_CHECK_OK(count_steps());
    SCANLOOM_CHECK_OK(add_states());
    SCANLOOM_TRY(Step made, take_step());
    SCANLOOM_CHECK_OK(add_updates(made));
    SCANLOOM_CHECK_OK(check_outputs(made));
    return finish(made);
  }

  [[nodiscard]] std::string place() const {
    return options_.name.empty() ? "scan" : "scan '" + options_.name + "'";
  }

 private:
  struct State {
    std::vector<std::int64_t> taps;
    std::vector<Expr> args;  ///< none: steps do not read the output
    std::vector<Expr> initial;
    /// 0: the arguments are the rows that taps may see, oldest first. Otherwise there are three: a
    /// ring of so many rows, where in it the oldest lies, and the row of the step before.
    std::int64_t ring = 0;

    [[nodiscard]] const Expr& last() const { return args.back(); }
  };

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
                  "nothing says how many steps to take: give sequences or the number of steps");
    if (options_.truncate_gradient < -1)
      return fail(Code::invalid_argument,
                  "truncate_gradient is {}, neither -1 nor a number of steps",
                  options_.truncate_gradient);
    return {};
  }

  /// What a step is given; errors say so where it is read elsewhere.
  [[nodiscard]] Expr of_step(StaticType type, std::string name) const {
    Expr made = expr::placeholder(std::move(type), std::move(name));
    made.node()->place = place();
    return made;
  }

  /// Windows of a sequence, one per tap; those of one sequence are equally long.
  Expected<void> add_sequences() {
    for (std::size_t i = 0; i < options_.sequences.size(); ++i) {
      const auto& [input, taps] = options_.sequences[i];
      const std::string name = input.name().empty() ? std::to_string(i) : "'" + input.name() + "'";
      if (!input.defined()) return fail(Code::invalid_argument, "sequence {} is missing", name);
      if (input.rank() == 0)
        return fail(Code::invalid_argument,
                    "sequence {} is a single number; a sequence has at least one axis", name);
      if (taps.empty()) return fail(Code::invalid_argument, "sequence {} has no taps", name);
      for (const std::int64_t tap : taps)
        if (tap < -kFarthest || tap > kFarthest)
          return fail(Code::unsupported, "sequence {} has tap {}; taps look {} steps away at most",
                      name, tap, kFarthest);
      const std::string own =
          input.name().empty() ? "sequence " + std::to_string(i) : std::string(input.name());
      const std::int64_t low = earliest(taps), high = latest(taps);
      for (const std::int64_t tap : taps) {
        Expr window = input;
        if (low != high) {
          const Expr stop = size(input, 0) - (high - tap);
          window = subtensor(input, {Index::slice(Expr(tap - low), maximum(stop, 0))});
        }
        if (window.error() != nullptr) return *window.error();
        slices_.push_back(of_step(row_type(window), slice_name(own, taps, tap)));
        windows_.push_back(std::move(window));
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
    // More than can be counted would turn around what is cast.
    if (count.dtype() == DType::u64 && !known)
      count = minimum(count, number(static_cast<double>(kMostSteps), DType::u64));
    steps_ = cast(count, DType::i64);
    const auto constant = expr::constant_integers(steps_);
    if (constant && (*constant)[0] >= 0) return {};
    if (constant) {
      backwards_ = !backwards_;
      constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
      steps_ = expr::integer(-std::max((*constant)[0], -kMost));
      return {};
    }
    // A run may say a negative number, too, which turns the direction around.
    const Expr negative = steps_ < 0;
    for (Expr& window : windows_)
      window = if_else(negative, subtensor(window, {Index::slice({}, {}, -1)}), window);
    steps_ = abs(steps_);
    return {};
  }

  Expected<void> add_state(std::size_t i, const Initial& initial) {
    State state{initial.taps, {}, {}};
    if (!initial.value.defined()) {
      states_.push_back({});
      return {};
    }
    std::set<std::int64_t> distinct;
    for (const std::int64_t tap : initial.taps) {
      if (tap < -kFarthest)
        return fail(Code::unsupported, "output {} has tap {}; taps look back {} steps at most", i,
                    tap, kFarthest);
      if (tap >= 0)
        return fail(Code::invalid_argument,
                    "output {} has tap {}; taps of outputs look back: they are negative", i, tap);
      if (!distinct.insert(tap).second)
        return fail(Code::invalid_argument, "output {} has tap {} twice", i, tap);
    }
    const std::int64_t depth = -earliest(initial.taps);
    if (depth == 0) return fail(Code::invalid_argument, "output {} has no taps", i);
    if (!initial.rows) {
      state.initial.push_back(initial.value);
    } else {
      SCANLOOM_TRY(const Expr rows, enough_rows(i, initial.value, depth));
      if (depth > kMostPorts) state.ring = depth;
      SCANLOOM_CHECK_OK(split_rows(rows, depth, state));
    }
    for (const Expr& first : state.initial)
      state.args.push_back(of_step(expr::type_of(first), initial.value.name()));
    states_.push_back(std::move(state));
    return {};
  }

  /// The initial rows, of which a run checks that there are enough.
  [[nodiscard]] Expected<Expr> enough_rows(std::size_t i, const Expr& rows,
                                           std::int64_t depth) const {
    if (rows.rank() == 0)
      return fail(Code::invalid_argument,
                  "the initial value of output {} is a single number; taps back to {} need an axis "
                  "of {} rows",
                  i, -depth, depth);
    const std::int64_t known = rows.sizes()[0];
    if (known >= 0 && known < depth)
      return fail(Code::invalid_argument,
                  "the initial value of output {} has {} rows, taps back to {} need {}", i, known,
                  -depth, depth);
    if (known < 0) {
      const std::string whose = rows.name().empty() ? "" : ", " + expr::describe(rows) + ",";
      const Expr count = expr::told_as(
          expr::apply(ops::check_equal_op,
                      {minimum(size(rows, 0), expr::integer(depth)), expr::integer(depth)},
                      {{"text", "the initial value of output " + std::to_string(i) + whose +
                                    " has {} rows, its taps need {}"}}),
          place());
      return subtensor(rows, {Index::slice({}, count)});
    }
    return rows;
  }

  static Expected<void> split_rows(const Expr& rows, std::int64_t depth, State& state) {
    if (state.ring == 0) {
      for (std::int64_t row = 0; row < depth; ++row) state.initial.push_back(rows[Expr(row)]);
    } else {
      Expr ring = subtensor(rows, {Index::slice({}, Expr(depth))});
      if (ring.error() == nullptr) ring.node()->outputs[0].sizes[0] = depth;
      state.initial = {std::move(ring), expr::integer(0), rows[Expr(depth - 1)]};
    }
    if (const Expr* bad = expr::first_failed(state.initial)) return *bad->error();
    return {};
  }

  /// What a step sees of the output `back` steps ago. The row of as many steps as the ring holds
  /// lies where this step's goes.
  static Expr row_before(const State& state, std::int64_t back) {
    if (state.ring == 0) return state.args[state.args.size() - static_cast<std::size_t>(back)];
    if (back == 1) return state.last();
    const Expr &ring = state.args[0], &oldest = state.args[1];
    const Expr ahead = oldest + (state.ring - back);
    const Expr at = back == state.ring ? oldest : where(oldest < back, ahead, oldest - back);
    return expr::apply(ops::gather_op, {ring, at}, {{"axis", 0}});
  }

  Expected<void> add_states() {
    for (std::size_t i = 0; i < options_.initial.size(); ++i)
      SCANLOOM_CHECK_OK(add_state(i, options_.initial[i]));
    return {};
  }

  /// Arguments in Theano's order.
  Expected<Step> take_step() {
    std::vector<Expr> all = slices_;
    for (const State& state : states_)
      for (const std::int64_t tap : state.taps) all.push_back(row_before(state, -tap));
    all.insert(all.end(), options_.captured.begin(), options_.captured.end());
    Step made = step_(StepInputs(options_, std::move(all)));
    std::vector<Expr> checked = made.outputs;
    checked.push_back(made.stop);
    for (const auto& [variable, next] : made.updates) checked.push_back(next);
    if (const Expr* bad = expr::first_failed(checked)) return *bad->error();
    for (std::size_t i = 0; i < made.outputs.size(); ++i)
      if (!made.outputs[i].defined())
        return fail(Code::invalid_argument, "the step function gives nothing as output {}", i);
    if (options_.initial.empty()) states_.resize(made.outputs.size());
    if (states_.size() != made.outputs.size())
      return fail(
          Code::invalid_argument,
          "the step function gives {} outputs, but there are initial values for {}; outputs "
          "that nothing reads need an entry, too: None",
          made.outputs.size(), states_.size());
    return made;
  }

  /// Everything that the step computes, as far as captured values do not hide it.
  [[nodiscard]] std::vector<Expr> roots(const Step& made) const {
    std::vector<Expr> all = made.outputs;
    if (made.stop.defined()) all.push_back(made.stop);
    for (const auto& [variable, next] : made.updates) all.push_back(next);
    return all;
  }

  /// Shared variables that steps change: those that the step says, and those with a default, such
  /// as the keys of random streams.
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
          return fail(Code::invalid_argument, "the step gives two updates of {}",
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
                    "the step reads the shared variable {}, which is not among the non_sequences "
                    "or sequences; strict asks for that",
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

  /// Whether it stands among what the loop is given.
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

  /// Makes `value` a leaf, which the loop then captures.
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
                    "output {} begins with {} axes, but a step makes it with {} ({} and {})", i,
                    begun.rank(), next.rank(), to_string(begun), to_string(next));
    }
    if (options_.checkpoint.kind != Checkpoint::Kind::all && options_.truncate_gradient >= 0)
      return fail(Code::unsupported, "checkpoints of a loop whose gradient is truncated");
    if (!made.stop.defined()) return {};
    if (options_.checkpoint.kind != Checkpoint::Kind::all)
      return fail(Code::unsupported, "checkpoints of a loop that a condition ends")
          .note(
              "checkpoint 'all' keeps every step; or leave out the condition, take a number of "
              "steps, and keep the state from where it holds on: where(stop, state, next)");
    if (!is_one_element(made.stop))
      return fail(Code::invalid_argument,
                  "the condition of until is {}, not one element: all or any of them make one of "
                  "several",
                  to_string(expr::type_of(made.stop)));
    return {};
  }

  Expected<ScanResult> finish(const Step& made) {
    expr::LoopSpec spec;
    spec.place = place();
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
    // First what the step hides, then what it hid in updates that were found later.
    spec.yields = expr::substituted(spec.yields, hidden_);
    spec.yields = expr::substituted(spec.yields, leaves_);
    const std::span states(spec.args.data(), next.size());
    SCANLOOM_TRY(const std::vector<Expr> chunks,
                 expr::chunks_of(options_.checkpoint, steps_, states));
    return results(expr::make_chunked_loop(std::move(spec), chunks), made, next.size());
  }

  void add_scanned(expr::LoopSpec& spec) const {
    // Chunks are taken of sequences that lie forwards.
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

  /// The carried ports of an output, oldest first, and the stacked one.
  void add_ports(expr::LoopSpec& spec, const Expr& output, std::size_t i, std::vector<Expr>& next,
                 std::vector<Expr>& rows) const {
    const State& state = states_[i];
    for (std::size_t k = 0; k < state.args.size(); ++k) {
      spec.operands.push_back(state.initial[k]);
      spec.args.push_back(state.args[k]);
      next.push_back(k + 1 == state.args.size() ? output
                     : state.ring == 0          ? state.args[k + 1]
                     : k == 0                   ? ring_with(state, output)
                                                : next_place(state));
    }
    spec.facts.state_of_row.push_back(state.args.empty() ? -1 : static_cast<int>(next.size()) - 1);
    spec.facts.ports.stacked.emplace_back();
    rows.push_back(output);
  }

  static Expr ring_with(const State& state, const Expr& output) {
    return expr::apply(ops::scatter_nd_op, {state.args[0], shape_of({state.args[1]}), output},
                       {{"reduction", "none"}});
  }

  static Expr next_place(const State& state) {
    const Expr &oldest = state.args[1], next = oldest + 1;
    return where(next < state.ring, next, expr::integer(0));
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
  std::vector<State> states_;
  std::vector<Expr> update_args_;
  Replacements hidden_, leaves_;
};

}  // namespace

StepInputs::StepInputs(const ScanOptions& options, std::vector<Expr> all)
    : options_(options), all_(std::move(all)) {
  std::size_t at = 0;
  for (const Sequence& sequence : options_.sequences) {
    const std::size_t taps = sequence.taps.size();
    slices_.push_back(taps == 1 ? all_[at]
                                : expr::failed(fail(Code::invalid_argument,
                                                    "sequence {} has {} taps: say which, with "
                                                    "sequence({}, tap)",
                                                    slices_.size(), taps, slices_.size())));
    at += taps;
  }
  none_ = expr::failed(fail(Code::invalid_argument, "there are {} sequences, numbered from 0",
                            options_.sequences.size()));
}

const Expr& StepInputs::operator[](std::size_t sequence) const {
  return sequence < slices_.size() ? slices_[sequence] : none_;
}

Expr StepInputs::sequence(std::size_t sequence, std::int64_t tap) const {
  std::size_t at = 0;
  for (std::size_t i = 0; i < sequence && i < options_.sequences.size(); ++i)
    at += options_.sequences[i].taps.size();
  if (sequence < options_.sequences.size())
    for (std::size_t i = 0; i < options_.sequences[sequence].taps.size(); ++i)
      if (options_.sequences[sequence].taps[i] == tap) return all_[at + i];
  return expr::failed(
      fail(Code::invalid_argument, "there is no tap {} of sequence {}", tap, sequence));
}

Expr StepInputs::state(std::size_t output, std::int64_t tap) const {
  std::size_t at = 0;
  for (const Sequence& sequence : options_.sequences) at += sequence.taps.size();
  for (std::size_t i = 0; i < output && i < options_.initial.size(); ++i)
    at += options_.initial[i].taps.size();
  if (output < options_.initial.size())
    for (std::size_t i = 0; i < options_.initial[output].taps.size(); ++i)
      if (options_.initial[output].taps[i] == tap) return all_[at + i];
  return expr::failed(fail(Code::invalid_argument, "there is no tap {} of output {}", tap, output));
}

Expr StepInputs::captured(std::size_t i) const {
  if (i < options_.captured.size()) return all_[all_.size() - options_.captured.size() + i];
  return expr::failed(fail(Code::invalid_argument, "there is no captured value {}", i));
}

ScanResult scan_steps(const ScanOptions& options,
                      const std::function<Step(const StepInputs&)>& step) {
  Scan scan(options, step);
  auto result = scan.build();
  if (result) return *std::move(result);
  const Expr bad = expr::failed(std::move(result).error().at(scan.place()));
  return {std::vector(std::max<std::size_t>(options.initial.size(), 1), bad), Updates::failed(bad)};
}

}  // namespace scanloom
