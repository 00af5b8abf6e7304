// The lanes of one thread: parts of sequences that take their steps in shared runs. When a part
// ends, its lane takes the next one, with the initial values of the states; no lane is padded.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include "api/many_job.h"

namespace scanloom {

/// The parts that wait for a lane, longest first. Threads take them one by one.
class WaitingParts {
 public:
  explicit WaitingParts(std::vector<const ManyPart*> parts) : parts_(std::move(parts)) {}
  /// nullptr: none is left.
  const ManyPart* take() {
    const std::size_t at = next_.fetch_add(1, std::memory_order_relaxed);
    return at < parts_.size() ? parts_[at] : nullptr;
  }
  [[nodiscard]] std::size_t size() const { return parts_.size(); }

 private:
  std::vector<const ManyPart*> parts_;
  std::atomic<std::size_t> next_{0};
};

/// The number of lanes of a run for this many sequences, at most `most`: few different ones,
/// because each is bound on its own.
[[nodiscard]] std::int64_t rounded_width(std::int64_t lanes, std::int64_t most);
/// The largest of these numbers that is at most `lanes`.
[[nodiscard]] std::int64_t rounded_down_width(std::int64_t lanes, std::int64_t most);
/// Runs a form with lanes.
[[nodiscard]] Expected<std::vector<Value>> run_form(const Session::Impl& form,
                                                    const Arranged& arranged,
                                                    const RunOptions& options);
/// The arguments of a run.
[[nodiscard]] Arranged arranged_of(std::span<const tensor::Tensor> arguments);
/// A feed as a tensor of the caller's memory, with the sizes of one lane.
[[nodiscard]] tensor::Tensor feed_of(const ManyJob& job, const Session::Impl& model,
                                     const ManyProgram& program, std::size_t input,
                                     std::optional<int> lane);
/// Copies one lane of a tensor to one of another. `axis`: that of the lanes in both.
void copy_lane(const tensor::Tensor& from, std::int64_t from_lane, tensor::Tensor& to,
               std::int64_t to_lane, int axis);

/// Shared by all threads, which count what they do.
struct ManyShared {
  const Session::Impl& model;
  const ManyProgram* program;  ///< changes between windows only
  std::vector<bool> wanted;    ///< by own output
  std::atomic<std::int64_t> sequences{0}, steps{0}, runs{0}, lane_steps{0}, filled_lane_steps{0};

  ManyShared(const Session::Impl& of, const ManyProgram* with) : model(of), program(with) {}
  /// Counts a part; the sequence is complete after its last one.
  void finish(ManyJob& job) {
    if (job.parts_left.fetch_sub(1) != 1 || job.has_failed) return;
    ++sequences;
    job.is_complete = true;
  }
};

class LaneGroup {
 public:
  /// `lanes`: at most this many.
  LaneGroup(ManyShared& shared, WaitingParts& waiting, std::int64_t lanes)
      : shared_(shared), program_(*shared.program), waiting_(waiting), max_lanes_(lanes) {}

  /// Runs until no part is left. `options_of_run` is called before each run, and returns an error
  /// to end. A run that fails leaves its sequences to run alone. Errors: those of
  /// `options_of_run`; cancelled.
  Expected<void> run(const std::function<Expected<RunOptions>()>& options_of_run);

 private:
  struct Lane {
    const ManyPart* part = nullptr;
    std::int64_t at = 0;             ///< the next step of the sequence
    std::optional<std::size_t> row;  ///< in the states; none: begins
  };

  void refill();
  [[nodiscard]] std::int64_t piece() const;
  /// Makes the values of the lanes that do not depend on the steps, states included.
  Expected<void> gather(const RunOptions& options);
  Expected<void> gather_states(const RunOptions& options);
  Expected<void> gather_rows();
  Expected<void> pack(const ManyInput& input, std::size_t index, std::int64_t steps);
  Expected<void> run_piece(std::int64_t steps, const RunOptions& options);
  Expected<void> store(const std::vector<Value>& values, std::int64_t steps);
  Expected<void> store_steps(std::size_t output, const Value& value, std::int64_t steps);
  Expected<void> store_last(std::size_t output, const Value& value, std::int64_t steps);
  Expected<void> advance(const std::vector<Value>& values, std::int64_t steps);
  void fail_all();
  /// The lane whose rows lane `lane` of the run has: its own, or the first if there are too few.
  [[nodiscard]] std::size_t source(std::int64_t lane) const {
    return static_cast<std::size_t>(lane < std::ssize(lanes_) ? lane : 0);
  }

  ManyShared& shared_;
  const ManyProgram& program_;
  WaitingParts& waiting_;
  const std::int64_t max_lanes_;
  std::int64_t width_ = 0;  ///< lanes of the run
  std::vector<Lane> lanes_;
  bool has_changed_ = false;  ///< lanes since the last gather
  /// The results of the initial program for all sequences; empty: not known, or they differ.
  std::vector<Value> common_first_;
  std::vector<tensor::Tensor> arguments_;  ///< of the stream form; sequences: room for a piece
};

}  // namespace scanloom
