// The sequences that a scan reads, and how many steps it takes.
#pragma once

#include <scanloom/scan.h>

#include <string>
#include <vector>

#include "base/expected.h"
#include "expr/node.h"

namespace scanloom::expr {

/// Whether x is known to have one element before anything runs.
[[nodiscard]] bool is_one_element(const Expr& x);

struct ScanSequences {
  std::vector<Expr> windows;  ///< the rows that steps see, for each tap of each sequence
  std::vector<Expr> slices;   ///< by window: what a step gets of it
  Expr steps;                 ///< how many steps there are, as a scalar i64
  bool backwards = false;     ///< whether steps read the windows from their ends
};

/// Returns the sequences of the scan `location` and its number of steps. If the number is negative,
/// the steps go in the other direction. Errors: sequences without the rows that their taps name, a
/// number of steps that is not one integer.
Expected<ScanSequences> scan_sequences(const ScanOptions& options, const std::string& location);

}  // namespace scanloom::expr
