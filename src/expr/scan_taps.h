// The earlier rows of an output that the steps of a scan see, as states of the loop: one per step
// that the earliest tap looks back, or a ring of rows if that is far.
#pragma once

#include <scanloom/scan.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "expr/node.h"

namespace scanloom::expr {

/// The rows of a sequence that steps see through one tap, and the slice that a step gets.
struct ScanWindow {
  Expr rows, slice;
};

/// Returns one window per tap of sequence i of the scan `location`, all equally long.
Expected<std::vector<ScanWindow>> windows_of(std::size_t i, const Sequence& sequence,
                                             const std::string& location);

struct ScanState {
  std::vector<std::int64_t> taps;
  std::vector<Expr> args;  ///< empty: steps do not read the output
  std::vector<Expr> initial;
  /// 0: the arguments are the rows that taps may see, oldest first. Otherwise there are three
  /// arguments: a ring of that many rows, the position of the oldest in it, and the row of the step
  /// before.
  std::int64_t ring = 0;

  [[nodiscard]] const Expr& last() const { return args.back(); }
  /// Returns the output of `back` steps ago, as a step sees it.
  [[nodiscard]] Expr row_before(std::int64_t back) const;
  /// Returns the next value of argument k if a step gives `output`.
  [[nodiscard]] Expr next(std::size_t k, const Expr& output) const;
};

/// Returns the state of output i of the scan `location`.
Expected<ScanState> scan_state(std::size_t i, const Initial& initial, const std::string& location);

}  // namespace scanloom::expr
