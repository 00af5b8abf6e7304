// One of the sessions that many sequences run through. There is more than one if some sequences
// feed inputs that keep their default values in others.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <scanloom/many.h>

#include "api/lane_group.h"
#include "api/many_job.h"
#include "api/many_target.h"

namespace scanloom {

/// Returns how sequences run through a session. `shared`: feeds that all of them have in common.
/// Errors: out_of_memory.
[[nodiscard]] Expected<ManyTarget> target_of(std::shared_ptr<const Session::Impl> model,
                                             std::span<const Feed> shared);
/// Returns by own output whether it is wanted. No names: all are. Errors: invalid_argument (an
/// unknown output).
[[nodiscard]] Expected<std::vector<bool>> wanted_outputs(const Session::Impl& model,
                                                         std::span<const std::string> names);
/// Errors: invalid_argument (a feed that the model does not take, of another type or size, or given
/// twice).
[[nodiscard]] Expected<void> check_shared(const Session::Impl& model, std::span<const Feed> shared);
/// Adds how the sequences of one session were run to how those of others were.
void add_report(ManyReport& all, const ManyReport& one);

struct ManyVariant {
  ManyTarget target;
  bool is_settled = false;  ///< whether `target.program` is that of the sequences' sizes
  ManyShared shared;
  std::int64_t alone = 0;  ///< sequences that ran on their own although others shared runs
  std::string why_alone;   ///< of the last of these

  // While a window runs:
  std::vector<const ManyPart*> parts;  ///< which share runs
  const ManyJob* reference = nullptr;  ///< the first sequence that they are of

  ManyVariant(ManyTarget of, std::vector<bool> wanted)
      : target(std::move(of)), shared(*target.model, target.program.get()) {
    shared.wanted = std::move(wanted);
  }
  /// Chooses the program by the sizes of the first sequence. Those that it cannot be chosen by run
  /// on their own, which tells their error. Errors: those that are not of the sequence.
  Expected<void> settle(ManyJob& job);
  /// Adds the parts of a sequence to those that share runs. Returns false if it is to run alone.
  bool admit(ManyJob& job);
  void begin_window() {
    parts.clear();
    reference = nullptr;
  }
  /// Without what all sessions have in common: threads, lanes, time.
  [[nodiscard]] ManyReport report() const;
};

}  // namespace scanloom
