// scan: a loop whose steps are described by a function of expressions. Follows Theano's scan and
// its rules: see docs/scan.md.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <scanloom/expr.h>
#include <scanloom/shared.h>

namespace scanloom {

struct Taps {
  std::vector<std::int64_t> taps;
};

/// A tensor whose rows are read by the steps, one after the other. Tap k is row t + k at step t.
/// All taps must exist: a sequence of 10 rows with taps -1 and 0 gives 9 steps.
struct Sequence {
  Expr input;
  std::vector<std::int64_t> taps = {0};

  Sequence(Expr tensor, Taps at = {{0}}) : input(std::move(tensor)), taps(std::move(at.taps)) {}
};

/// The initial value of an output. With tap -1 alone, `value` has the shape of one step; with other
/// taps it has one row for each step that the earliest tap looks back, oldest first. A
/// default-constructed Initial: steps do not read the output.
struct Initial {
  Expr value;
  std::vector<std::int64_t> taps;
  bool rows = false;    ///< whether `value` has rows
  bool adapts = false;  ///< whether `value` is a number or numbers without a type: see scan_steps

  Initial() = default;
  Initial(Expr first) : value(std::move(first)), taps{-1} {}
  Initial(Expr rows_before, Taps at)
      : value(std::move(rows_before)), taps(std::move(at.taps)), rows(true) {}
};

/// How much of the steps a gradient stores; it recomputes the rest, chunk by chunk.
struct Checkpoint {
  enum class Kind : std::uint8_t { all, every, root, budget };
  Kind kind = Kind::all;
  std::int64_t value = 0;

  /// Keeps whatever the gradient needs from every step.
  static Checkpoint all() { return {}; }
  /// Keeps the states before every n-th step.
  static Checkpoint every(std::int64_t n) { return {Kind::every, n}; }
  /// Keeps about as many states as the square root of the number of steps.
  static Checkpoint root() { return {Kind::root, 0}; }
  /// Keeps as many states as fit into this many bytes, in nested chunks if need be. The sizes of
  /// the states and the number of steps must be known.
  static Checkpoint budget(std::int64_t bytes) { return {Kind::budget, bytes}; }
};

struct ScanOptions {
  std::vector<Sequence> sequences = {};
  std::vector<Initial> initial = {};  ///< empty: steps read no output
  std::vector<Expr> captured = {};    ///< passed to the step function after the rest
  Expr steps = {};                    ///< undefined: the number that the shortest sequence gives
  bool backwards = false;             ///< reads sequences from their ends
  bool strict = false;                ///< shared variables must be listed in `captured`
  std::int64_t truncate_gradient = -1;
  Checkpoint checkpoint = {};  ///< other than all: not with a step that has a stop condition
  std::string name = {};
  DType real = DType::f64;  ///< type of states that begin with a number and meet no tensor
};

/// Result of a step: its outputs, optional updates of shared variables, and an optional condition
/// that ends the loop after the step in which it holds.
struct Step {
  std::vector<Expr> outputs;
  std::vector<std::pair<Shared, Expr>> updates = {};
  Expr stop = {};

  Step(Expr output) : outputs{std::move(output)} {}
  Step(std::vector<Expr> all) : outputs(std::move(all)) {}
  Step(std::initializer_list<Expr> all) : outputs(all) {}
  Step& update(const Shared& variable, Expr next) {
    updates.emplace_back(variable, std::move(next));
    return *this;
  }
  Step& until(Expr condition) {
    stop = std::move(condition);
    return *this;
  }
};

/// The values that a step may read.
class SCANLOOM_API StepInputs {
 public:
  StepInputs(const ScanOptions& options, std::vector<Expr> all);
  /// The slice of a sequence that has one tap.
  [[nodiscard]] const Expr& operator[](std::size_t sequence) const;
  [[nodiscard]] Expr sequence(std::size_t sequence, std::int64_t tap) const;
  [[nodiscard]] Expr state(std::size_t output, std::int64_t tap = -1) const;
  [[nodiscard]] Expr captured(std::size_t i) const;
  /// In Theano's order: slices of sequences, states, captured values.
  [[nodiscard]] const std::vector<Expr>& all() const noexcept { return all_; }

 private:
  const ScanOptions& options_;
  std::vector<Expr> all_;
  std::vector<Expr> slices_;  ///< by sequence
  Expr none_;
};

struct ScanResult {
  std::vector<Expr> outputs;  ///< all steps of each, along a new first axis
  Updates updates;
};

/// The general form. The outputs and the updates hold any error. An output that begins with a
/// number, such as Expr(0), or whose Initial adapts, takes its type from the steps: the type of the
/// tensors it meets, or, if it meets none, i64, `real`, or complex numbers of `real`. `step` is
/// called again if it turns out to give another type.
SCANLOOM_API ScanResult scan_steps(const ScanOptions& options,
                                   const std::function<Step(const StepInputs&)>& step);

/// Returns one output if the step function returns an Expr, else the outputs and updates.
template <class Function>
auto scan(const ScanOptions& options, Function&& step) {
  using Made = std::invoke_result_t<Function&, const StepInputs&>;
  ScanResult result =
      scan_steps(options, [&](const StepInputs& inputs) -> Step { return step(inputs); });
  if constexpr (std::is_same_v<std::decay_t<Made>, Expr>) {
    return result.outputs.front();
  } else {
    return result;
  }
}

}  // namespace scanloom
