// StepTaker: takes steps of one loop from any state, with memory of its own for what steps compute;
// the rows that the loop stacks go to their places in the results. Speculation gives one to every
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/binding.h"
#include "runtime/loop_state.h"
#include "runtime/values.h"

namespace scanloom::runtime {

class StepTaker {
 public:
  StepTaker() = default;
  virtual ~StepTaker() = default;
  StepTaker(const StepTaker&) = delete;
  StepTaker& operator=(const StepTaker&) = delete;

  /// Sets the states that step `step` begins with.
  virtual void begin(std::int64_t step, std::span<const std::byte> state) = 0;
  /// Takes steps [first, last), where `first` is the step that was begun or is next; returns
  /// whether they succeeded.
  virtual bool take(std::int64_t first, std::int64_t last) = 0;
  /// Copies the states that the next step begins with.
  virtual void save(std::span<std::byte> state) const = 0;
};

/// Takes the steps of a loop that is compiled as a whole.
class WholeLoopSteps final : public StepTaker {
 public:
  /// `whole` has the addresses of the operands. The two buffers of each state are those in
  /// `buffers` one after the other, or, if there are none, memory of its own.
  WholeLoopSteps(const WholeLoop& whole, const plan::Speculation& speculation,
                 std::span<std::byte* const> buffers = {});

  /// Copies the states that the first step begins with, by state.
  void begin(std::span<const std::byte* const> states);
  void begin(std::int64_t step, std::span<const std::byte> state) override;
  bool take(std::int64_t first, std::int64_t last) override;
  void save(std::span<std::byte> state) const override;
  /// Returns the address of a state.
  [[nodiscard]] std::byte* state(std::size_t i) const {
    return buffers_[2 * i + (flipped_ ? 1 : 0)];
  }

 private:
  const WholeLoop& whole_;
  const plan::Speculation& speculation_;
  std::vector<std::byte> own_;
  std::vector<std::byte*> buffers_;
  bool flipped_ = false;
  std::vector<const std::byte*> in_;
  std::vector<std::byte*> out_;
};

}  // namespace scanloom::runtime
