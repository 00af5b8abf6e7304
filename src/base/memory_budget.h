// MemoryBudget: how many bytes a run may take: a number that was given, or by default most of what
// the system has left. Asking the system takes longer than a short run, so that is done only for a
// run that needs more than kUnmeasured.
#pragma once

#include <cstdint>

namespace scanloom {

class MemoryBudget {
 public:
  /// What any run without a given budget may take.
  static constexpr std::int64_t kUnmeasured = std::int64_t{64} << 20;

  /// 0: the default, 80 percent of what the system has left.
  explicit MemoryBudget(std::int64_t given = 0)
      : bytes_(given > 0 ? given : kUnmeasured), is_final_(given > 0) {}

  /// Returns the budget as far as it is known.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  /// Asks the system, once, unless the budget was given. Returns whether there is more now. `held`:
  /// bytes of the budget that are taken already. `recent`: an answer that is up to a second old
  /// will do.
  bool measure(std::int64_t held, bool recent = false);

 private:
  std::int64_t bytes_;
  bool is_final_;
};

}  // namespace scanloom
