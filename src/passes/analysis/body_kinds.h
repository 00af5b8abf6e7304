// What kind of machine code a body becomes, as far as it is known before the loop is planned. Used
// by passes that join bodies: the joined loop must not be slower than the two loops.
#pragma once

#include <optional>
#include <vector>

#include "ir/module.h"

namespace scanloom::passes {

/// Returns the body's arguments and the results of its nodes.
std::vector<ir::ValueId> values_of(const ir::Module& module, ir::RegionId body);
/// Returns the number of elements of a tensor of that type.
ir::Dim elements_of(ir::Module& module, const ir::Type& type);
/// Returns the number of elements of the values that have more than one, if it is the same for all
/// of them. nullopt: it is not, so the body is no element program (ops/element_program.h).
std::optional<ir::Dim> lanes_of(ir::Module& module, ir::RegionId body);

/// Whether the node computes a function such as exp, element by element.
bool is_function(const ir::Module& module, ir::NodeId node);
/// Whether matrices that would stay in registers in one of the loops would no longer do so in the
/// joined loop. Precondition: bodies_fit_together (passes/loops/joined_loops.h).
bool crowds_registers(const ir::Module& module, const ir::Node& a, const ir::Node& b);

}  // namespace scanloom::passes
