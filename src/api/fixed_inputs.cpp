#include "api/fixed_inputs.h"

#include <algorithm>
#include <map>

#include "ir/infer.h"
#include "ir/op_def.h"
#include "tensor/view.h"

namespace scanloom {
namespace {

/// The position of the input with this name or with a tensor of this name.
Expected<std::size_t> position_of(const Loaded& loaded, const std::string& name) {
  const ir::Module& module = loaded.module;
  const std::vector<ir::ValueId>& args = module.region(module.top()).args;
  const auto is_hidden = [&](std::size_t i) {
    return std::ranges::any_of(module.states, [&](const ir::State& state) {
      return state.is_hidden && (state.input == i || state.is_kept == i);
    });
  };
  for (std::size_t i = 0; i < args.size(); ++i)
    if (module.value(args[i]).name == name && !is_hidden(i)) return i;
  for (std::size_t i = 0; i < loaded.input_aliases.size(); ++i)
    if (std::ranges::find(loaded.input_aliases[i], name) != loaded.input_aliases[i].end()) return i;
  return fail(Code::not_found, "the model has no input '{}'", name);
}

Expected<ir::ValueId> input_of(const Loaded& loaded, const std::string& name) {
  SCANLOOM_TRY(const std::size_t position, position_of(loaded, name));
  return loaded.module.region(loaded.module.top()).args[position];
}

/// The sizes of symbols, solved from the given sizes of inputs.
class Solution {
 public:
  explicit Solution(const Loaded& loaded) : loaded_(loaded), module_(loaded.module) {}

  Expected<void> add(const std::string& name, const std::vector<std::int64_t>& sizes) {
    SCANLOOM_TRY(const ir::ValueId arg, input_of(loaded_, name));
    const tensor::Type& type = module_.value(arg).type;
    if (!type.is_tensor() || !type.ranked || type.rank() != std::ssize(sizes))
      return fail(Code::invalid_argument, "input '{}' is {}, but {} sizes are given for it", name,
                  to_string(type, module_.dims), sizes.size());
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      if (sizes[axis] < 0) continue;
      const tensor::Dim dim = type.dims[axis];
      const std::int64_t known =
          dim.is_constant() ? dim.value() : sizes_.emplace(dim, sizes[axis]).first->second;
      if (known != sizes[axis])
        return fail(Code::invalid_argument, "input '{}' has {} elements on axis {}, not {}", name,
                    known, axis, sizes[axis]);
    }
    return {};
  }

  void put_into(ir::Module& module) const {
    const std::vector<ir::ValueId> args = module.region(module.top()).args;
    for (const ir::ValueId arg : args)
      for (tensor::Dim& dim : module.value(arg).type.dims)
        if (const auto known = sizes_.find(dim); known != sizes_.end()) dim = known->second;
  }

 private:
  const Loaded& loaded_;
  const ir::Module& module_;
  std::map<tensor::Dim, std::int64_t> sizes_;
};

/// Replaces an input by a constant, so that nothing reads the input. Regions are isolated, so only
/// the top region reads it.
Expected<void> fix(Loaded& loaded, const std::string& name, const View& value) {
  ir::Module& module = loaded.module;
  SCANLOOM_TRY(const ir::ValueId arg, input_of(loaded, name));
  SCANLOOM_TRY(tensor::Tensor copy, tensor::copy_of(value, "input '" + name + "'"));
  if (!module.value(arg).type.is_tensor() || module.value(arg).type.dtype != copy.dtype())
    return fail(Code::invalid_argument, "input '{}' is {}, the value for it {}", name,
                to_string(module.value(arg).type, module.dims), dtype_name(copy.dtype()));
  tensor::Type type = tensor::Type::of(copy.dtype(), copy.shape());
  const ir::NodeId made =
      module.add_node(module.top(), ir::constant_op, {}, {std::move(copy)}, {std::move(type)});
  const ir::ValueId constant = module.node(made).outputs[0];
  ir::Region& top = module.region(module.top());
  std::ranges::rotate(top.nodes, top.nodes.end() - 1);
  for (const ir::NodeId node : top.nodes)
    std::ranges::replace(module.node(node).inputs, arg, constant);
  std::ranges::replace(top.yields, arg, constant);
  return {};
}

/// Removes inputs that nothing reads; later ones move up.
void keep_inputs(Loaded& loaded, const std::vector<bool>& kept) {
  ir::Module& module = loaded.module;
  std::vector<std::uint32_t> moved;  // by the old position
  std::vector<std::vector<std::string>> aliases;
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    moved.push_back(next);
    if (!kept[i]) continue;
    ++next;
    if (i < loaded.input_aliases.size()) aliases.push_back(std::move(loaded.input_aliases[i]));
  }
  module.keep_arguments(module.top(), kept);
  loaded.input_aliases = std::move(aliases);
  for (ir::State& state : module.states) {
    state.input = moved[state.input];
    if (state.is_kept) state.is_kept = moved[*state.is_kept];
  }
}

}  // namespace

Expected<void> fix_inputs(Loaded& loaded, const FixedInputs& fixed) {
  if (!fixed.any()) return {};
  ir::Module& module = loaded.module;
  Solution solution(loaded);
  std::vector<bool> kept(module.region(module.top()).args.size(), true);
  for (const auto& [name, sizes] : fixed.sizes) SCANLOOM_CHECK_OK(solution.add(name, sizes));
  for (const auto& [name, value] : fixed.values) {
    SCANLOOM_CHECK_OK(solution.add(name, value.shape));
    SCANLOOM_CHECK_OK(fix(loaded, name, value));
    SCANLOOM_TRY(const std::size_t position, position_of(loaded, name));
    kept[position] = false;
  }
  solution.put_into(module);
  keep_inputs(loaded, kept);
  return ir::infer_types(module, ir::Declared::ignore);
}

}  // namespace scanloom
