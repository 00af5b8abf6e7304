// States of a scan that begin with a number. A number has no type of its own, so the state takes
// the type that the steps give it.
#pragma once

#include <scanloom/scan.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/expected.h"
#include "expr/scan_taps.h"

namespace scanloom::expr {

/// Finds the types of such states. The steps are described once with numbers that adapt to tensors.
/// If that gives another type, they are described again, with states of that type.
class NumberStates {
 public:
  explicit NumberStates(const ScanOptions& options);

  [[nodiscard]] bool any() const;
  /// Returns how output i begins in this round. Error: its number does not fit the state's type.
  [[nodiscard]] Expected<Initial> initial(std::size_t i) const;
  /// In the first round, lets the arguments that a step gets for output i adapt.
  void let_adapt(std::size_t i, ScanState& state) const;
  /// Whether the states have the types that the steps give them; `made` is the step's result in
  /// this round. Otherwise begins another round, unless there have been enough.
  [[nodiscard]] bool settle(const Step& made);

 private:
  [[nodiscard]] DType type_made(std::size_t i, const Expr& output) const;

  const ScanOptions& options_;
  std::vector<std::optional<DType>> types_;  ///< by output; none: does not begin with a number
  int round_ = 0;
  std::uint64_t adaptations_;  ///< their count when the round began
};

}  // namespace scanloom::expr
