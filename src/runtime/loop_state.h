// LoopState: the state of a loop while it runs: its position, which every strategy keeps, and the
// state of each strategy. A loop that is a single element program may have both a whole-loop
// function and a compiled body, since each execution decides anew whether the former pays.
// Therefore the whole-loop function is not part of the variant that says how single steps run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "plan/binding.h"
#include "plan/plan.h"
#include "runtime/limits.h"

namespace scanloom::runtime {

inline constexpr std::int64_t kUnknownStep = -1;

/// Stepped: each step is a list of instructions.
struct SteppedLoop {
  bool is_decided = false;  ///< its body never becomes code in this Run
};

/// Per-step compiled: the compiled body takes the remaining steps.
struct PerStepLoop {
  plan::BodyCode code;
};

/// Whole-loop compiled: one function takes all steps. Its operands are kept here, so that beginning
/// the loop allocates nothing.
struct WholeLoop {
  explicit WholeLoop(const plan::BoundLoop& loop);

  jit::CompiledLoop code;  ///< none until the run compiles it
  std::vector<const std::byte*> captured, carried_in, scanned;
  std::vector<std::byte*> carried_out, stacked;
  std::vector<std::int64_t> scanned_strides, stacked_strides;
};

struct LoopState {
  explicit LoopState(const plan::BoundLoop& loop);

  /// Whether code may still take over the steps.
  [[nodiscard]] bool is_undecided() const {
    const SteppedLoop* const stepped_loop = std::get_if<SteppedLoop>(&stepping);
    return stepped_loop != nullptr && !stepped_loop->is_decided;
  }
  /// Returns the code of the body, if there is any.
  [[nodiscard]] const plan::BodyCode* body_code() const {
    const PerStepLoop* const per_step = std::get_if<PerStepLoop>(&stepping);
    return per_step != nullptr ? &per_step->code : nullptr;
  }
  /// Whether code takes the remaining steps; a profiled run has timed code of its own.
  [[nodiscard]] bool has_body_code(bool is_profiled) const {
    if (!is_profiled) return code_allowed && std::holds_alternative<PerStepLoop>(stepping);
    return code_allowed && timed && timed->body.code.run != nullptr;
  }
  /// Returns the number of stepped steps, in this run and in earlier ones of the session.
  [[nodiscard]] std::int64_t all_stepped() const { return before + stepped; }

  // Read at the end of each step; kept within one or two cache lines:
  std::int64_t trip = 0;  ///< steps to run, or the step limit where there is no trip count
  std::int64_t step = 0;
  std::int64_t stepped = 0;  ///< steps of this run that were stepped
  std::int64_t room = 0;     ///< steps whose rows already have memory
  /// The end of the steps whose slices are computed, see BoundBlocks; never reached without blocks.
  std::int64_t block_end = std::numeric_limits<std::int64_t>::max();
  PollInterval poll_interval;
  bool code_allowed = true;  ///< whether the limits of this run allow a compiled body
  bool limited = false;      ///< whether reaching `trip` is an error
  std::variant<SteppedLoop, PerStepLoop> stepping;

  std::int64_t block_first = 0;          ///< the first step of the present block
  std::int64_t shown = -1;               ///< trip count reported as progress; -1: unknown
  std::int64_t before = 0;               ///< steps that earlier runs of the session stepped
  std::int64_t longest = 0;              ///< steps of the longest execution in this Run
  std::unique_ptr<WholeLoop> whole;      ///< null: never whole-loop compiled
  std::optional<plan::TimedBody> timed;  ///< the body's code in profiled runs, once decided
};

std::vector<LoopState> make_loop_states(const plan::Binding& binding);

}  // namespace scanloom::runtime
