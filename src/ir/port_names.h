// Names of loop ports in messages: those of the user's model, or else the port's number among the
// loop's ports of its kind, from 0.
#pragma once

#include <cstddef>
#include <string>

#include "ir/module.h"

namespace scanloom::ir {

/// "state 'h'", by its name in the body or as a result; else "state 0".
[[nodiscard]] std::string describe_carried(const Module& module, NodeId loop, std::size_t i);

/// "'x'", by the name of the scanned value or of its slices; else "scanned value 0".
[[nodiscard]] std::string describe_scanned(const Module& module, NodeId loop, std::size_t i);

/// "output 'rows'", by the name of the loop's result or of the row in the body; else "stacked
/// output 0".
[[nodiscard]] std::string describe_stacked(const Module& module, NodeId loop, std::size_t i);

}  // namespace scanloom::ir
