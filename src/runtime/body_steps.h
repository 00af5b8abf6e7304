// BodySteps: takes steps of a loop whose body is compiled, from any state. The main thread takes
// them with the memory of its Run, other threads with memory for what a step writes, and read the
// rest where the Run has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/binding.h"
#include "plan/plan.h"
#include "runtime/body_run.h"
#include "runtime/limits.h"
#include "runtime/step_taker.h"

namespace scanloom::runtime {

struct RunState;

/// The part of a Run that other threads read, as it is before a step: steps change its slots.
struct StepsOrigin {
  StepsOrigin(RunState& main, std::uint32_t index, const plan::BodyCode& body, Watch& watch);

  /// Returns the bytes of a thread's own memory.
  [[nodiscard]] std::int64_t bytes_of_worker() const;

  const RunState& main;
  const std::uint32_t loop;
  const plan::BodyCode& code;
  const Limits limits;  ///< without what only the main thread may ask
  std::vector<std::byte*> slots;
  std::vector<std::byte*> slices, rows;  ///< those of step 0, by scanned and stacked value
  /// The part of the arena that a step writes: [first_byte, last_byte).
  std::int64_t first_byte = 0, last_byte = 0;
  std::vector<bool> is_private;  ///< by slot: in that part
  bool has_blocks = false;       ///< slices are computed in blocks of steps
};

class BodySteps final : public StepTaker {
 public:
  /// Takes steps in the memory of the Run itself.
  BodySteps(const StepsOrigin& origin, RunState& main, Watch& watch);
  /// Takes them in memory of its own.
  explicit BodySteps(const StepsOrigin& origin);
  ~BodySteps() override;

  void begin(std::int64_t step, std::span<const std::byte> state) override;
  bool take(std::int64_t first, std::int64_t last) override;
  void save(std::span<std::byte> state) const override;
  /// Returns why steps have failed.
  Expected<void> error() { return failed_ ? std::move(error_) : run_->error(); }

 private:
  void begin_run(Watch& watch);
  /// Computes the block of rows that the present step begins or is in.
  bool make_block(std::int64_t step);

  const StepsOrigin& origin_;
  std::unique_ptr<RunState> own_;
  RunState& state_;
  Watch own_watch_;
  std::unique_ptr<PollCounts> polls_;
  std::unique_ptr<BodyRun> run_;
  Watch* watch_ = nullptr;
  bool failed_ = false;  // to compute a block
  Expected<void> error_;
};

}  // namespace scanloom::runtime
