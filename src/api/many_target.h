// What many sequences run through: a session, or a function with its shared variables.
#pragma once

#include <functional>
#include <memory>

#include <scanloom/many.h>

#include "api/many_job.h"
#include "api/many_program.h"

namespace scanloom {

/// How many sizes of inputs may be tried as the number of steps: each one costs the passes.
inline constexpr std::size_t kTries = 4;

struct ManyTarget {
  std::shared_ptr<const Session::Impl> model;  ///< feeds are checked against it
  std::shared_ptr<const ManyProgram> program;
  RunSequence run;
  /// Returns a program for sequences with the sizes of this one, to be used instead of `program`;
  /// nullptr: there is none. Errors: the sizes do not fit; out_of_memory. Null: never asked.
  std::function<Expected<std::shared_ptr<const ManyProgram>>(const Arranged&)> for_sizes = {};

  /// Errors: invalid_argument (options, an unknown output).
  Expected<ManyRuns> start(SequenceSource source, const ManyOptions& options) const;
};

}  // namespace scanloom
