// scan: a loop whose steps are described by a function of expressions. What Theano's scan does,
// with its rules: see docs/scan.md.
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

/// A tensor whose rows the steps take, one after the other. Tap k is row t + k at step t; all taps
/// must exist, so a sequence gives as many steps as they leave.
struct Sequence {
  Expr input;
  std::vector<std::int64_t> taps = {0};

  Sequence(Expr tensor, Taps at = {{0}}) : input(std::move(tensor)), taps(std::move(at.taps)) {}
};

/// How an output begins. With tap -1 alone, `value` has the shape of one step; with others it has
/// one row more per step that the earliest tap looks back, the oldest first. Nothing: steps do not
/// read the output.
struct Initial {
  Expr value;
  std::vector<std::int64_t> taps;
  bool rows = false;    ///< whether `value` has rows
  bool adapts = false;  ///< whether it is a number, or several, without a type: see scan_steps

  Initial() = default;
  Initial(Expr first) : value(std::move(first)), taps{-1} {}
  Initial(Expr rows_before, Taps at)
      : value(std::move(rows_before)), taps(std::move(at.taps)), rows(true) {}
};

/// What a gradient keeps of the steps; the rest is computed again, chunk by chunk.
struct Checkpoint {
  enum class Kind : std::uint8_t { all, every, root, budget };
  Kind kind = Kind::all;
  std::int64_t value = 0;

  /// What it needs of every step.
  static Checkpoint all() { return {}; }
  /// The states before every n-th step.
  static Checkpoint every(std::int64_t n) { return {Kind::every, n}; }
  /// Those of about the square root of the number of steps.
  static Checkpoint root() { return {Kind::root, 0}; }
  /// As many as fit into so many bytes, in chunks of chunks if need be. The sizes of the states and
  /// the number of steps must be known.
  static Checkpoint budget(std::int64_t bytes) { return {Kind::budget, bytes}; }
};

struct ScanOptions {
  std::vector<Sequence> sequences = {};
  std::vector<Initial> initial = {};  ///< empty: no output is read by steps
  std::vector<Expr> captured = {};    ///< handed to the step function behind the rest
  Expr steps = {};                    ///< undefined: as many as the shortest sequence gives
  bool backwards = false;             ///< sequences from their ends
  bool strict = false;                ///< shared variables must stand in `captured`
  std::int64_t truncate_gradient = -1;
  Checkpoint checkpoint = {};  ///< other than all: not with a step that says when to stop
  std::string name = {};
  DType real = DType::f64;  ///< of states that begin with a number and meet no tensor
};

/// What a step makes: its outputs, and if need be updates of shared variables and a condition
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

/// What a step may read.
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

/// The general form; errors are held by the outputs and by the updates. An output that begins with
/// a number, such as Expr(0), or one whose Initial adapts, has the type that steps make of it: that
/// of the tensors it meets, or where it meets none i64, `real`, or complex numbers of `real`.
/// `step` is called once more where it shows another type than that.
SCANLOOM_API ScanResult scan_steps(const ScanOptions& options,
                                   const std::function<Step(const StepInputs&)>& step);

/// One output for a step function that gives an Expr; outputs and updates otherwise.
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
