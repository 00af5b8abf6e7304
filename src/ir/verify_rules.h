// The verifier's rules by subject. Each assumes that those listed before it hold, and may index
// what they have checked.
#pragma once

#include <string>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom::ir::rules {

/// Ids are in range; each region, node and value has exactly one owner.
Expected<void> check_structure(const Module& module);
/// Each value is defined before it is read, in the region that reads it.
Expected<void> check_order(const Module& module);
/// Operands, results, attributes and types of one node against its OpDef.
Expected<void> check_node(const Module& module, NodeId node);
/// The types of results against those that inference gives. `dims`: a copy of the module's, to
/// which inference adds.
Expected<void> check_result_types(const Module& module, NodeId node, DimTable& dims);
/// Operands, body arguments, yields and results of a loop against its ports.
Expected<void> check_loop(const Module& module, NodeId node);
Expected<void> check_branch(const Module& module, NodeId node);
/// Names of outputs, and states.
Expected<void> check_interface(const Module& module);

/// The error for a broken rule: a mistake of ours, whatever the user's model contains.
template <class... Args>
[[nodiscard]] Error broken(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Code::internal, fmt::format(format, std::forward<Args>(args)...));
}

/// Returns the fault of a malformed type; null if the type is well formed.
const char* fault_of(const Type& type, const DimTable& dims);
/// Whether a value of this type can have exactly one element.
bool may_be_one_element(const Type& type);
/// Whether a and b are of the same kind (ir/infer.h) and, if both ranks are known, of equal rank.
bool same_rank(const Type& a, const Type& b);
std::string text(const Module& module, ValueId value);

}  // namespace scanloom::ir::rules
