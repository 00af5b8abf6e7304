// What machine code becomes of a body, as far as it can be told before a loop is planned. For
// passes that join bodies: the one must not be slower than both.
#pragma once

#include <optional>
#include <vector>

#include "ir/module.h"

namespace scanloom::passes {

/// Arguments, and what the nodes make.
std::vector<ir::ValueId> values_of(const ir::Module& module, ir::RegionId body);
/// How many elements a tensor of that type has.
ir::Dim elements_of(ir::Module& module, const ir::Type& type);
/// The elements of all values that have more than one, where they are equally many; nullopt: the
/// body is no element program (plan/bind/whole_loop.h).
std::optional<ir::Dim> lanes_of(ir::Module& module, ir::RegionId body);

/// Whether the node computes a function such as exp, element by element.
bool is_function(const ir::Module& module, ir::NodeId node);
/// Whether matrices that would stay in registers in one of the loops no longer would in one for
/// both. Precondition: bodies_fit_together (passes/loops/joined_loops.h).
bool crowds_registers(const ir::Module& module, const ir::Node& a, const ir::Node& b);

}  // namespace scanloom::passes
