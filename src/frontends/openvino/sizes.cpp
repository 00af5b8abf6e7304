#include "frontends/openvino/sizes.h"

#include "ir/constants.h"
#include "ir/op_def.h"
#include "ops/ops.h"

namespace scanloom::openvino {
namespace {

using ir::Module;
using ir::Node;
using ir::ValueId;

/// Whether the result consists of the elements of the first operand, possibly repeated.
bool copies_elements(const ir::OpDef* op) {
  return op == &ops::cast_op || op == &ops::identity_op || op == &ops::reshape_op ||
         op == &ops::squeeze_op || op == &ops::unsqueeze_op || op == &ops::expand_op;
}

const ir::Attr* attribute(const Node& node, std::string_view name) {
  for (std::size_t i = 0; i < node.op->attrs.size(); ++i)
    if (node.op->attrs[i].name == name) return &node.attrs[i];
  return nullptr;
}

/// Returns the only integer of a constant.
std::optional<std::int64_t> integer(const Module& module, ValueId value) {
  const tensor::Tensor* const known = ir::constant_of(module, value);
  const auto integers = known != nullptr ? tensor::to_integers(*known) : std::nullopt;
  if (!integers || integers->size() != 1) return std::nullopt;
  return integers->front();
}

}  // namespace

std::optional<SizeOf> size_of(const Module& module, ValueId value) {
  // Terminates because every iteration moves to an operand, which was created earlier.
  std::optional<std::int64_t> picked;
  for (ir::NodeId maker = module.value(value).producer; maker.valid();
       maker = module.value(value).producer) {
    const Node& node = module.node(maker);
    // Narrower integers may not represent the size.
    if (const DType dtype = module.value(value).type.dtype;
        dtype != DType::i64 && dtype != DType::i32)
      return std::nullopt;
    const ValueId of = node.inputs.empty() ? ValueId{} : node.inputs[0];
    if (!of.valid()) return std::nullopt;
    const ir::Type& type = module.value(of).type;
    if (node.op == &ops::dim_op && !picked) {
      const std::int64_t axis = attribute(node, "axis")->integer();
      if (!type.ranked) return std::nullopt;
      return SizeOf{of, axis < 0 ? axis + type.rank() : axis};
    }
    if (node.op == &ops::shape_op) {
      const ir::Attr* const start = attribute(node, "start");
      const ir::Attr* const end = attribute(node, "end");
      const bool is_whole = !end->present() && (!start->present() || start->integer() == 0);
      if (!picked || !is_whole || !type.ranked) return std::nullopt;
      const std::int64_t axis = *picked < 0 ? *picked + type.rank() : *picked;
      if (axis < 0 || axis >= type.rank()) return std::nullopt;
      return SizeOf{of, axis};
    }
    if (node.op == &ops::gather_op && !picked && type.ranked && type.rank() == 1) {
      picked = integer(module, node.inputs[1]);
      if (!picked) return std::nullopt;
    } else if (!copies_elements(node.op) || (picked && node.op != &ops::cast_op)) {
      return std::nullopt;
    }
    value = of;
  }
  return std::nullopt;
}

}  // namespace scanloom::openvino
