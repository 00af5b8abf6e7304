// One sequence of many while it runs: its feeds, the parts between resets, and the results that its
// parts are joined to.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <scanloom/many.h>

#include "api/many_program.h"

namespace scanloom {

struct ManyJob;
struct ManyVariant;

/// Steps [begin, end) of a sequence, before which what loops carry has its initial value.
struct ManyPart {
  ManyJob* job = nullptr;
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t steps() const { return end - begin; }
};

struct ManyJob {
  std::int64_t index = 0;
  std::uint64_t first_run = 0;  ///< the number of the run of its first part, if it runs on its own
  SequenceFeeds sequence;
  ManyVariant* variant = nullptr;  ///< null if there is an error of the source
  std::vector<Feed> feeds;         ///< its own and the shared ones
  Arranged arranged;               ///< in the order of the model's inputs
  std::int64_t steps = 0;          ///< 0 if the model's steps are not known
  std::vector<ManyPart> parts;
  std::string why_alone;                ///< empty: runs in lanes
  std::mutex mutex;                     ///< guards `outputs` while parts run
  std::vector<tensor::Tensor> outputs;  ///< by own output; undefined until a part has run
  std::atomic<std::int64_t> parts_left{0};
  std::atomic<std::int64_t> steps_in_lanes{0};  ///< taken so far, also in runs that failed later
  std::atomic<bool> has_failed{false};   ///< in lanes: runs again on its own, which tells the error
  std::atomic<bool> is_complete{false};  ///< has all results, or the error that it has alone
  std::optional<Error> error;
  Results results;

  [[nodiscard]] bool is_last(const ManyPart& part) const { return part.end == steps; }
};

/// Checks the feeds. Problems of the sequence become its error.
void arrange(ManyJob& job, const Session::Impl& model);
/// Finds the parts; whether the sequence fits into lanes is `why_alone`, unless there is a reason
/// already. Problems of the sequence become its error. Precondition: arrange(), without an error.
void prepare(ManyJob& job, const Session::Impl& model, const ManyProgram& program,
             const RunOptions& options);

/// The value of an output after a run.
struct ManyValue {
  const ManyProgram& program;
  std::size_t output = 0;
  const Value& value;
  bool in_lanes = true;  ///< false: of the sequence alone
};

/// Returns the result of the sequence for an output; `from`: what a run gave for it, in all lanes.
Expected<tensor::Tensor*> result_of(ManyJob& job, const ManyValue& from);
/// Writes what a run gave for an output in one lane: rows of the steps, or a value that belongs to
/// the end of the sequence. `at`: the first of the steps in the sequence.
Expected<void> store_result(ManyJob& job, const ManyValue& from, std::int64_t lane,
                            std::int64_t at);

/// Runs a model with the feeds of one sequence. No names: all outputs. `number`: of the run, by
/// which random operators draw.
using RunSequence =
    std::function<Expected<Results>(std::span<const Feed>, const RunOptions&,
                                    std::span<const std::string> wanted, std::uint64_t number)>;

/// Runs the sequence on its own, part after part.
Expected<void> run_alone(ManyJob& job, const Session::Impl& model, const ManyProgram& program,
                         const RunSequence& run, const RunOptions& options,
                         std::span<const std::string> wanted);

}  // namespace scanloom
