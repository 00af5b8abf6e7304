// Prints the text form of a module; parse() reads it back. Described in docs/ir.md.
#pragma once

#include <string>

#include "ir/module.h"

namespace scanloom::ir {

struct PrintOptions {
  bool locations = false;          ///< after each node: loc("node 'gru' (Scan-11)")
  std::int64_t max_elements = 16;  ///< of a constant; longer ones print as <n elements>; -1: no
                                   ///< limit
  /// Numbers values by their ids, which stay the same from pass to pass, instead of by position.
  bool by_id = false;
};

/// Never crashes, even on a malformed module: broken ids print as "%?".
std::string print(const Module& module, const PrintOptions& options = {});

}  // namespace scanloom::ir
