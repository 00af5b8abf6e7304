// The one door to the passes: runs them in order until nothing changes, and can skip, time, verify
// and show each.
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
  std::int64_t nanoseconds = 0;  ///< of all rounds together
  int changed = 0;               ///< in how many rounds it changed the module
};

struct RunOptions {
  /// Names of passes, today's or former ones; an unknown one is an error.
  std::vector<std::string> disabled;
  bool verify_each = false;  ///< after each pass that changed something, naming it
  int max_rounds = 16;
  /// Called after each pass that changed something.
  std::function<void(const PassDef& pass, int round, const ir::Module& module)> dump;
};

struct RunReport {
  int rounds = 0;
  bool settled = true;              ///< false: max_rounds ended it
  std::vector<PassTiming> timings;  ///< in the order of the passes
  /// The module without what the passes that run last have changed: a stream is made from this one,
  /// as it must find the loops over the steps; its own module goes through all passes again. Absent
  /// where they have changed nothing.
  std::optional<ir::Module> for_streams = {};
};

/// Whether `names` has the pass, under its name or a former one.
bool is_named(std::string_view pass, const std::vector<std::string>& names);

/// Leaves a compact module (ids in the order of the text form) whose types are inferred anew.
/// Errors: invalid_argument, internal, and what inference finds wrong with the model.
Expected<RunReport> run(ir::Module& module, const RunOptions& options = {});

}  // namespace scanloom::passes
