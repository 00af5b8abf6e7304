// What messages call the ports of a loop: by the names that the user's model gives them, or else by
// their numbers among the loop's ports of that kind, from 0 on.
#pragma once

#include <cstddef>
#include <string>

#include "ir/module.h"

namespace scanloom::ir {

/// "state 'h'": as the body calls it, or what comes out, or "state 0".
[[nodiscard]] std::string describe_carried(const Module& module, NodeId loop, std::size_t i);

/// "'x'": what is scanned or, where that has no name, its slices; or "scanned value 0".
[[nodiscard]] std::string describe_scanned(const Module& module, NodeId loop, std::size_t i);

/// "output 'rows'": as the loop's result is called, or the row in the body, or "stacked output 0".
[[nodiscard]] std::string describe_stacked(const Module& module, NodeId loop, std::size_t i);

}  // namespace scanloom::ir
