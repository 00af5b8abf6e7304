// What the steps of a scan see of an output's earlier rows, as states of the loop: one per step
// that the earliest tap looks back, or a ring of rows where that is far.
#pragma once

#include <scanloom/scan.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "expr/node.h"

namespace scanloom::expr {

/// The rows of a sequence that steps see by one tap, and what a step is given of them.
struct ScanWindow {
  Expr rows, slice;
};

/// Of sequence i of the scan `place`, one per tap, all equally long.
Expected<std::vector<ScanWindow>> windows_of(std::size_t i, const Sequence& sequence,
                                             const std::string& location);

struct ScanState {
  std::vector<std::int64_t> taps;
  std::vector<Expr> args;  ///< none: steps do not read the output
  std::vector<Expr> initial;
  /// 0: the arguments are the rows that taps may see, oldest first. Otherwise there are three: a
  /// ring of so many rows, where in it the oldest lies, and the row of the step before.
  std::int64_t ring = 0;

  [[nodiscard]] const Expr& last() const { return args.back(); }
  /// What a step sees of the output `back` steps ago.
  [[nodiscard]] Expr row_before(std::int64_t back) const;
  /// What becomes of argument k where a step gives `output`.
  [[nodiscard]] Expr next(std::size_t k, const Expr& output) const;
};

/// Of output i of the scan `place`.
Expected<ScanState> scan_state(std::size_t i, const Initial& initial, const std::string& location);

}  // namespace scanloom::expr
