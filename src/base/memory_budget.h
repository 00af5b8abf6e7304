// MemoryBudget: how many bytes a run may take: a given number, or by default most of what the
// system has left. Measuring that takes longer than a short run, so it is only done for a run that
// needs more than kUnmeasured.
#pragma once

#include <cstdint>

namespace scanloom {

class MemoryBudget {
 public:
  /// Budget of any run without a given number.
  static constexpr std::int64_t kUnmeasured = std::int64_t{64} << 20;

  /// `given` 0: the default, 80 percent of what the system has left.
  explicit MemoryBudget(std::int64_t given = 0)
      : bytes_(given > 0 ? given : kUnmeasured), is_final_(given > 0) {}

  /// The budget as far as it is known.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  /// Asks the system, once, unless the budget was given. Returns whether the budget has grown.
  /// `held`: bytes of the budget that are already taken. `recent`: accepts an answer up to a second
  /// old.
  bool measure(std::int64_t held, bool recent = false);

 private:
  std::int64_t bytes_;
  bool is_final_;
};

}  // namespace scanloom
