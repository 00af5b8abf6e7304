#include "api/function_module.h"

#include <algorithm>
#include <set>

#include "expr/lower.h"
#include "ir/infer.h"
#include "ir/op_def.h"
#include "ir/verify.h"

namespace scanloom {
namespace {

/// Replaces the argument by a constant everywhere. Regions are isolated, so only the top region
/// reads it.
void replace_by_constant(ir::Module& module, ir::ValueId arg, const tensor::Tensor& value) {
  const ir::NodeId made = module.add_node(module.top(), ir::constant_op, {}, {value},
                                          {tensor::Type::of(value.dtype(), value.shape())});
  const ir::ValueId constant = module.node(made).outputs[0];
  module.value(constant).name = module.value(arg).name;
  ir::Region& top = module.region(module.top());
  std::ranges::rotate(top.nodes, top.nodes.end() - 1);
  for (const ir::NodeId node : top.nodes)
    std::ranges::replace(module.node(node).inputs, arg, constant);
  std::ranges::replace(top.yields, arg, constant);
}

/// Adds an argument for a variable that is set and never read, so that the state can be read. It
/// has open sizes of its own: the next value may have others.
ir::ValueId unread_argument(ir::Module& module, const SavedFunction::Variable& variable) {
  std::set<std::string> used;
  for (const ir::ValueId arg : module.region(module.top()).args)
    used.insert(module.value(arg).name);
  const std::string name = expr::distinct(variable.name, used);
  tensor::Type type = tensor::Type::of(variable.value.dtype(), variable.value.shape());
  for (std::size_t axis = 0; axis < type.dims.size(); ++axis)
    if (axis >= variable.sizes.size() || variable.sizes[axis] < 0)
      type.dims[axis] = module.dims.symbol(name + "." + std::to_string(axis));
  return module.add_argument(module.top(), std::move(type), name);
}

}  // namespace

Expected<ir::Module> module_of(SavedFunction function) {
  ir::Module& module = function.module;
  const std::vector<ir::ValueId> read = module.region(module.top()).args;
  std::vector<bool> kept(read.size(), true);
  auto input = static_cast<std::uint32_t>(function.inputs);
  for (std::size_t i = 0; i < function.shared.size(); ++i) {
    const SavedFunction::Variable& variable = function.shared[i];
    const bool is_read = std::cmp_less(i, function.read);
    const std::size_t at = static_cast<std::size_t>(function.inputs) + i;
    if (variable.update < 0) {
      if (!is_read) continue;
      replace_by_constant(module, read[at], variable.value);
      kept[at] = false;
      continue;
    }
    const ir::ValueId arg = is_read ? read[at] : unread_argument(module, variable);
    if (!is_read) kept.push_back(true);
    const auto output = static_cast<std::uint32_t>(variable.update);
    const std::string& name = module.value(arg).name;
    module.output_names[output] = name + " (next)";
    module.states.push_back({.name = name,
                             .input = input++,
                             .output = output,
                             .initial = variable.value,
                             .is_hidden = true});
  }
  module.keep_arguments(module.top(), kept);
  SCANLOOM_CHECK_OK(ir::infer_types(module, ir::Declared::ignore));
  SCANLOOM_CHECK_OK(ir::verify(module));
  return std::move(function.module);
}

}  // namespace scanloom
