// Many sequences of unequal lengths through one session: in the lanes of shared runs, or in batches
// of similar lengths, each with the bits that it has alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <scanloom/session.h>

namespace scanloom {

/// The feeds of one run of a session. The batch, if the model has one, has size 1.
struct SequenceFeeds {
  std::vector<Feed> feeds;
  /// A boolean per step, of any shape: before a step with true, all that loops and layers carry
  /// returns to its initial value. No data: never.
  View reset = {};
  /// Keeps names and memory of the feeds alive; released when the results are complete.
  std::shared_ptr<const void> owner = {};
  /// Runs the sequence instead of the session that run_many() was called of; not with functions. A
  /// sequence may so replace default values: the session is that of the same model with other
  /// SessionOptions::fed_defaults. Sequences share runs with those of the same session.
  std::optional<Session> session = {};
  /// A problem that the source found with this sequence: becomes its result, and nothing runs.
  std::optional<Error> problem = {};
};

/// How far the sequences are. Only the caller knows how many there are in all.
struct ManyProgress {
  std::int64_t sequences = 0;  ///< complete
  std::int64_t steps = 0;      ///< taken, of all sequences together
  double seconds = 0;          ///< since the first sequence was asked for
};

struct ManyOptions {
  int batch = 64;  ///< lanes of each thread, at most 4096; 0: the default
  /// Sequences that are read ahead and sorted by length; 0: 8 for each lane, up to 256 MiB of
  /// feeds. Memory grows with it.
  std::int64_t window = 0;
  std::vector<std::string> outputs = {};  ///< as in Session::run; empty: all
  std::vector<Feed> shared = {};          ///< feeds that all sequences have in common
  /// The deadline counts from the first sequence; other limits hold for each run inside. `cancel`
  /// must outlive the runs. `progress`, `on_poll` and `profile` are ignored.
  RunOptions run = {};
  /// Called about ten times a second, from the thread that asks for results, also within long runs.
  std::function<void(const ManyProgress&)> progress = {};
};

/// How the sequences were run.
struct ManyReport {
  /// Whether the way is known; it may not be before the first sequence whose sizes can decide it.
  bool is_decided = false;
  bool lanes = false;   ///< in the lanes of shared runs, without padding
  bool padded = false;  ///< in batches, padded to the longest; neither: one by one
  std::string reason;   ///< why not in lanes; empty if in lanes
  std::string node;     ///< the node that stands in the way; empty if it is no single one
  std::int64_t sequences = 0;
  std::int64_t steps = -1;  ///< of all sequences together; -1: which axis has them is not known
  std::int64_t alone = 0;   ///< sequences that ran on their own although others shared runs
  std::string why_alone;    ///< of the last of these
  std::int64_t runs = 0;    ///< of several sequences together
  std::int64_t lane_steps = 0, filled_lane_steps = 0;  ///< that these runs took, and had use for
  int threads = 0, batch = 0;
  double seconds = 0;

  /// The share of the lanes' steps that belonged to a sequence, in [0, 1].
  [[nodiscard]] double filled() const noexcept {
    return lane_steps == 0 ? 1 : static_cast<double>(filled_lane_steps) / double(lane_steps);
  }
};

/// The results of one sequence, or the error that it has alone as well.
struct SequenceResult {
  std::int64_t index = 0;
  std::optional<Error> error;
  Results results;
};

/// Returns the next sequence, or nullopt at the end. An error ends everything.
using SequenceSource = std::function<Expected<std::optional<SequenceFeeds>>()>;

struct ManyTarget;  ///< known to the library only

/// Runs sequences as their results are asked for. Not thread safe; many may use one session.
class SCANLOOM_API ManyRuns {
 public:
  /// Returns the results of the next sequence, in the order of the source; nullopt at the end. May
  /// read as many sequences ahead as the window holds. Calls the source in this thread only.
  /// Errors, which all later calls repeat: those of the source, cancelled, limit_reached (the
  /// deadline), out_of_memory. Except for cancelled, they come after the results that are complete:
  /// after an error of the source, those of all sequences that it returned before. An error of one
  /// sequence is part of its result.
  Expected<std::optional<SequenceResult>> next();
  /// Returns how the sequences were run so far.
  [[nodiscard]] ManyReport report() const;

 private:
  friend class Session;
  friend struct ManyTarget;
  struct Impl;
  explicit ManyRuns(std::shared_ptr<Impl> impl);
  static Expected<ManyRuns> start(const std::shared_ptr<const Session::Impl>& model,
                                  SequenceSource source, const ManyOptions& options);
  std::shared_ptr<Impl> impl_;
};

}  // namespace scanloom
