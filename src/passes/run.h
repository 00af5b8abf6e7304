// The only way to run the passes: runs them in order until nothing changes. Each pass can be
// skipped, timed, verified and shown.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace scanloom::passes {

struct PassTiming {
  std::string_view pass;
  std::int64_t nanoseconds = 0;  ///< sum over all rounds
  int changed = 0;               ///< the number of rounds in which it changed the module
};

struct RunOptions {
  std::vector<std::string> disabled;  ///< names of passes; an unknown one is an error
  bool fast = false;  ///< also the passes that change the last bits of all models (Numerics::fast)
  bool verify_each = false;  ///< verify after each pass that changed something; errors name the
                             ///< pass
  int max_rounds = 16;
  /// Called after each pass that changed something.
  std::function<void(const PassDef& pass, int round, const ir::Module& module)> dump;
};

struct RunReport {
  int rounds = 0;
  bool settled = true;              ///< false: stopped by max_rounds
  std::vector<PassTiming> timings;  ///< in the order of the passes
  /// The module as it was before the passes that run last changed it. A stream is made from this
  /// one, since it must find the loops over the steps, and its own module goes through all passes
  /// again. Absent if those passes changed nothing.
  std::optional<ir::Module> for_streams = {};
};

/// Returns the pass among those that changed the module which sums over the steps of a loop as a
/// whole, so that a part of the steps has other bits (docs/numbers.md); empty if there is none.
std::string_view pass_that_sums(const RunReport& report);

/// Whether `names` has the pass, under its name or a former one.
bool is_named(std::string_view pass, const std::vector<std::string>& names);
/// Whether the options skip the pass.
bool is_left_out(const PassDef& pass, const RunOptions& options);

/// Leaves a compact module (ids in the order of the text form) whose types are inferred anew.
/// Errors: invalid_argument, internal, and what inference finds wrong with the model.
Expected<RunReport> run(ir::Module& module, const RunOptions& options = {});

}  // namespace scanloom::passes
