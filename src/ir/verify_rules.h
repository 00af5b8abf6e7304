// The verifier's rules, by what they read. Each assumes that those before it in this list hold, so
// every rule may index what the earlier ones have checked.
#pragma once

#include <string>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom::ir::rules {

/// Ids in range, and ownership: each region, node and value stands in exactly one place.
Expected<void> check_structure(const Module& module);
/// Each value is made before it is read, in the region that reads it.
Expected<void> check_order(const Module& module);
/// Operands, results, attributes and types of one node against its OpDef.
Expected<void> check_node(const Module& module, NodeId node);
/// Operands, body arguments, yields and results of a loop against its ports.
Expected<void> check_loop(const Module& module, NodeId node);
Expected<void> check_branch(const Module& module, NodeId node);
/// Names of outputs, and states.
Expected<void> check_interface(const Module& module);

/// A broken rule is a mistake of ours, whatever the user's model says.
template <class... Args>
[[nodiscard]] Error broken(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Code::internal, fmt::format(format, std::forward<Args>(args)...));
}

/// Whether the type is well formed; null, or what is wrong with it.
const char* fault_of(const Type& type, const DimTable& dims);
/// Whether a value of that type can be a single element.
bool may_be_one_element(const Type& type);
/// Whether a and b are of the same kind (ir/infer.h), and the same rank where both are known.
bool same_rank(const Type& a, const Type& b);
std::string text(const Module& module, ValueId value);

}  // namespace scanloom::ir::rules
