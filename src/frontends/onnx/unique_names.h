// The check that every name in a graph is bound to one value. Later stages rely on it: the order of
// nodes, and which outer values a body reads.
#pragma once

#include <string>

#include "frontends/onnx/graph_frame.h"

namespace scanloom::onnx {

/// Reports names of several values, which are then poisoned. An initialiser may share the name of
/// an input and is then its default value.
void check_names(const ImportState& state, GraphFrame& frame);

/// Describes the value with that name in the innermost graph around the one that is being read.
[[nodiscard]] std::string describe_outer(const ImportState& state, NameId wanted);

}  // namespace scanloom::onnx
