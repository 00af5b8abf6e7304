#include "ir/verify.h"

#include <algorithm>

#include "ir/infer.h"
#include "ir/op_def.h"
#include "ir/verify_rules.h"
#include "ir/walk.h"

namespace scanloom::ir {
namespace rules {

const char* fault_of(const Type& type, const DimTable& dims) {
  if (static_cast<int>(type.dtype) >= kDTypeCount) return "an element type that does not exist";
  if (type.wraps.size() > Type::kMaxWraps) return "too many wraps";
  for (std::size_t i = 0; i + 1 < type.wraps.size(); ++i)
    if (is_map(type.wraps[i])) return "a map of other values than tensors";
  if (type.dims.size() > static_cast<std::size_t>(tensor::kMaxRank)) return "too many axes";
  if (!type.ranked && !type.dims.empty()) return "sizes although its rank is unknown";
  for (const Dim dim : type.dims) {
    if (dim.is_constant() && dim.value() < 0) return "a negative size";
    if (!dim.is_constant() && dim.expr() >= dims.size()) return "a size that does not exist";
  }
  return nullptr;
}

bool may_be_one_element(const Type& type) {
  return type.is_tensor() && std::ranges::all_of(type.dims, [](Dim dim) {
           return !dim.is_constant() || dim.value() == 1;
         });
}

bool same_rank(const Type& a, const Type& b) {
  return same_kind(a, b) && (!a.ranked || !b.ranked || a.rank() == b.rank());
}

std::string text(const Module& module, ValueId value) {
  return to_string(module.value(value).type, module.dims);
}

Expected<void> check_interface(const Module& module) {
  const Region& top = module.region(module.top());
  if (module.output_names.size() != top.yields.size())
    return broken("the module names {} outputs and yields {}", module.output_names.size(),
                  top.yields.size());
  std::vector<bool> read(top.args.size()), set(top.yields.size());
  for (const State& state : module.states) {
    if (state.input >= read.size())
      return broken("state '{}' is input {} of {}", state.name, state.input, read.size());
    if (state.output >= set.size())
      return broken("state '{}' is output {} of {}", state.name, state.output, set.size());
    if (read[state.input] || set[state.output])
      return broken("state '{}' shares its input {} or output {} with another state", state.name,
                    state.input, state.output);
    read[state.input] = set[state.output] = true;
    if (state.is_kept) {
      if (*state.is_kept >= read.size() || read[*state.is_kept])
        return broken("state '{}' is kept or not by input {} of {}", state.name, *state.is_kept,
                      read.size());
      read[*state.is_kept] = true;
    }
    if (!state.initial.defined()) {
      const Type &in = module.value(top.args[state.input]).type,
                 &out = module.value(top.yields[state.output]).type;
      if (!same_kind(in, out))
        return broken("state '{}' is {}, and its next value {}", state.name,
                      to_string(in, module.dims), to_string(out, module.dims));
      continue;
    }
    const Type initial = Type::of(state.initial.dtype(), state.initial.shape());
    for (const ValueId end : {top.args[state.input], top.yields[state.output]})
      if (!same_rank(initial, module.value(end).type))
        return broken("state '{}' starts as {}, and {} is {}", state.name,
                      to_string(initial, module.dims), module.describe(end), text(module, end));
  }
  return {};
}

}  // namespace rules

Expected<void> verify(const Module& module, ResultTypes types) {
  SCANLOOM_CHECK_OK(rules::check_structure(module));
  SCANLOOM_CHECK_OK(rules::check_order(module));
  DimTable dims = module.dims;
  for (const RegionId region : regions_outer_first(module, module.top())) {
    for (const NodeId node : module.region(region).nodes) {
      SCANLOOM_CHECK_OK(rules::check_node(module, node));
      if (types == ResultTypes::checked)
        SCANLOOM_CHECK_OK(rules::check_result_types(module, node, dims));
      if (module.node(node).op == &loop_op) SCANLOOM_CHECK_OK(rules::check_loop(module, node));
      if (module.node(node).op == &branch_op) SCANLOOM_CHECK_OK(rules::check_branch(module, node));
    }
  }
  return rules::check_interface(module);
}

}  // namespace scanloom::ir
