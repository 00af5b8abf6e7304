// Theano's scan as one loop. Taps of a sequence are windows of it, each a scanned port. The earlier
// outputs that steps see are carried: one port per step that the earliest tap looks back, or a ring
// of rows if that is far. Updates are carried too, and the condition that ends the loop is yielded.
#include <scanloom/scan.h>

#include <algorithm>

#include "expr/apply.h"
#include "expr/checkpoint.h"
#include "expr/loop.h"
#include "expr/scan_sequences.h"
#include "expr/scan_step.h"
#include "expr/scan_updates.h"
#include "ir/loop_ports.h"

namespace scanloom {
namespace {

using expr::ScanSequences;
using expr::ScanState;
using expr::ScanUpdates;
using expr::StaticType;

std::string location_of(const ScanOptions& options) {
  return options.name.empty() ? "scan" : "scan '" + options.name + "'";
}

Expected<void> check_options(const ScanOptions& options) {
  std::vector<Expr> all = options.captured;
  for (const Sequence& sequence : options.sequences) all.push_back(sequence.input);
  for (const Initial& initial : options.initial) all.push_back(initial.value);
  all.push_back(options.steps);
  if (const Expr* bad = expr::first_failed(all)) return *bad->error();
  for (std::size_t i = 0; i < options.captured.size(); ++i)
    if (!options.captured[i].defined())
      return fail(Code::invalid_argument, "captured value {} is missing", i);
  if (options.sequences.empty() && !options.steps.defined())
    return fail(Code::invalid_argument,
                "the number of steps is unknown: give sequences or the number of steps");
  if (options.truncate_gradient < -1)
    return fail(Code::invalid_argument,
                "truncate_gradient is {}, but must be -1 or a number of steps",
                options.truncate_gradient);
  return {};
}

/// Checks that each output begins with the type that the step gives it.
Expected<void> check_outputs(const std::vector<Expr>& outputs,
                             const std::vector<ScanState>& states) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (states[i].args.empty()) continue;
    const StaticType &begun = expr::type_of(states[i].last()), &next = expr::type_of(outputs[i]);
    if (begun.dtype != next.dtype)
      return fail(Code::invalid_argument,
                  "output {} begins as {}, but a step makes it {}; cast the initial value to {}, "
                  "or the step's result to {}",
                  i, dtype_name(begun.dtype), dtype_name(next.dtype), dtype_name(next.dtype),
                  dtype_name(begun.dtype));
    if (begun.rank() != next.rank())
      return fail(Code::invalid_argument,
                  "output {} begins with {} {}, but a step makes it with {} ({} and {})", i,
                  begun.rank(), begun.rank() == 1 ? "axis" : "axes", next.rank(), to_string(begun),
                  to_string(next))
          .note(begun.rank() < next.rank()
                    ? "to begin with zeros, use zeros_like(x) of an x with its shape"
                    : "begin with a value of the same rank, such as x[0] instead of x; or keep "
                      "the axes in the step, as a sum with keepdims does");
  }
  return {};
}

/// Checks the condition that ends the loop, and that checkpoints can be had.
Expected<void> check_end(const ScanOptions& options, const Expr& stop) {
  if (options.checkpoint.kind != Checkpoint::Kind::all && options.truncate_gradient >= 0)
    return fail(Code::unsupported, "a loop whose gradient is truncated takes no checkpoints");
  if (!stop.defined()) return {};
  if (options.checkpoint.kind != Checkpoint::Kind::all)
    return fail(Code::unsupported, "a loop that a condition ends takes no checkpoints")
        .note(
            "use checkpoint 'all'; or drop the condition, take a number of steps, and keep the "
            "state once it holds: where(stop, state, next)");
  if (!expr::is_one_element(stop))
    return fail(Code::invalid_argument,
                "the condition of until is {}, not one element: reduce it with all or any",
                to_string(expr::type_of(stop)));
  return {};
}

/// Assembles the loop of a scan whose step is known.
class ScanLoop {
 public:
  ScanLoop(const ScanOptions& options, const ScanSequences& sequences,
           const std::vector<ScanState>& states, const Step& step)
      : options_(options), sequences_(sequences), states_(states), step_(step) {}

  /// Errors: chunks that cannot be had.
  Expected<ScanResult> make(ScanUpdates& updates) {
    describe_loop();
    for (std::size_t i = 0; i < states_.size(); ++i) add_output(i);
    add_updates(updates.args());
    spec_.facts.ports.carried = static_cast<std::uint32_t>(next_.size());
    add_sequences();
    add_stop();
    spec_.yields.insert(spec_.yields.end(), next_.begin(), next_.end());
    spec_.yields.insert(spec_.yields.end(), rows_.begin(), rows_.end());
    spec_.yields = updates.in_body(spec_.yields);
    const std::span states(spec_.args.data(), next_.size());
    SCANLOOM_TRY(const std::vector<Expr> chunks,
                 expr::chunks_of(options_.checkpoint, sequences_.steps, states));
    return results(expr::make_chunked_loop(std::move(spec_), chunks));
  }

 private:
  void describe_loop() {
    spec_.location = location_of(options_);
    spec_.built_of = options_.captured;
    for (const Sequence& sequence : options_.sequences) spec_.built_of.push_back(sequence.input);
    for (const Initial& initial : options_.initial) spec_.built_of.push_back(initial.value);
    spec_.built_of.push_back(options_.steps);
    std::erase_if(spec_.built_of, [](const Expr& x) { return !x.defined(); });
    ir::LoopPorts& ports = spec_.facts.ports;
    ports.has_trip_count = true;
    ports.fixed_sizes = true;
    ports.has_keep_going = step_.stop.defined();
    spec_.facts.truncate_gradient = options_.truncate_gradient;
    spec_.operands = {sequences_.steps};
  }

  /// Adds the carried ports of an output, oldest first, and the stacked one.
  void add_output(std::size_t i) {
    const ScanState& state = states_[i];
    for (std::size_t k = 0; k < state.args.size(); ++k) {
      spec_.operands.push_back(state.initial[k]);
      spec_.args.push_back(state.args[k]);
      next_.push_back(state.next(k, step_.outputs[i]));
    }
    spec_.facts.state_of_row.push_back(state.args.empty() ? -1
                                                          : static_cast<int>(next_.size()) - 1);
    spec_.facts.ports.stacked.emplace_back();
    rows_.push_back(step_.outputs[i]);
  }

  void add_updates(const std::vector<Expr>& args) {
    for (std::size_t i = 0; i < step_.updates.size(); ++i) {
      spec_.operands.push_back(step_.updates[i].first.variable());
      spec_.args.push_back(args[i]);
      next_.push_back(step_.updates[i].second);
    }
    spec_.facts.updates = static_cast<std::uint32_t>(step_.updates.size());
  }

  void add_sequences() {
    // Chunks are taken from forward sequences.
    const bool in_chunks = options_.checkpoint.kind != Checkpoint::Kind::all;
    const bool back = sequences_.backwards && !in_chunks;
    const bool turned = sequences_.backwards && in_chunks;
    for (std::size_t i = 0; i < sequences_.windows.size(); ++i) {
      const Expr& window = sequences_.windows[i];
      spec_.facts.ports.scanned.push_back(back ? ir::ScannedPort{.start = -1, .stride = -1}
                                               : ir::ScannedPort{});
      spec_.operands.push_back(turned ? subtensor(window, {Index::slice({}, {}, -1)}) : window);
      spec_.args.push_back(sequences_.slices[i]);
    }
  }

  void add_stop() {
    if (!step_.stop.defined()) return;
    const Expr stop = cast(step_.stop, DType::boolean);
    spec_.yields.push_back(~(stop.rank() == 0 ? stop : reshape(stop, expr::integers({}))));
  }

  [[nodiscard]] ScanResult results(const std::vector<Expr>& loop) const {
    ScanResult result;
    for (std::size_t i = 0; i < step_.outputs.size(); ++i)
      result.outputs.push_back(loop[next_.size() + i]);
    const std::size_t first = next_.size() - step_.updates.size();
    for (std::size_t i = 0; i < step_.updates.size(); ++i)
      result.updates.set(step_.updates[i].first, loop[first + i]);
    return result;
  }

  const ScanOptions& options_;
  const ScanSequences& sequences_;
  const std::vector<ScanState>& states_;  ///< by output
  const Step& step_;
  expr::LoopSpec spec_;
  std::vector<Expr> next_, rows_;
};

Expected<ScanResult> build(const ScanOptions& options, const expr::StepFunction& function) {
  SCANLOOM_CHECK_OK(check_options(options));
  const std::string location = location_of(options);
  SCANLOOM_TRY(const ScanSequences sequences, expr::scan_sequences(options, location));
  SCANLOOM_TRY(expr::DescribedStep described,
               expr::describe_step(options, function, sequences.slices, location));
  ScanUpdates updates(options);
  SCANLOOM_CHECK_OK(updates.add_to(described.step));
  SCANLOOM_CHECK_OK(check_outputs(described.step.outputs, described.states));
  SCANLOOM_CHECK_OK(check_end(options, described.step.stop));
  return ScanLoop(options, sequences, described.states, described.step).make(updates);
}

}  // namespace

ScanResult scan_steps(const ScanOptions& options,
                      const std::function<Step(const StepInputs&)>& step) {
  auto result = build(options, step);
  if (result) return *std::move(result);
  const Expr bad = expr::failed(std::move(result).error().at(location_of(options)));
  return {std::vector(std::max<std::size_t>(options.initial.size(), 1), bad), Updates::failed(bad)};
}

}  // namespace scanloom
