#include "ir/empty_stacks.h"

#include "ir/infer.h"
#include "ir/op_def.h"
#include "ir/walk.h"

namespace scanloom::ir {
namespace {

using tensor::Shape;
using tensor::Tensor;

/// What inference says of the loop's results when its operands are these.
Expected<std::vector<Type>> infer_results(const Module& module, NodeId loop,
                                          std::span<const Tensor> inputs) {
  Module alone;
  alone.dims = module.dims;
  std::vector<ValueId> values;
  std::vector<Type> arguments;
  for (const Tensor& input : inputs) {
    if (!input.defined()) {
      const ValueId operand = module.node(loop).inputs[values.size()];
      arguments.push_back(module.value(operand).type);
      values.push_back(alone.add_argument(alone.top(), arguments.back()));
      continue;
    }
    const NodeId constant = alone.add_node(alone.top(), constant_op, {}, {input},
                                           {Type::of(input.dtype(), input.shape())});
    values.push_back(alone.node(constant).outputs[0]);
  }
  const NodeId copy = clone_node_into(module, loop, alone, alone.top(), values);
  SCANLOOM_TRY(const Inference inference, infer(alone, arguments, alone.dims, {.evaluate = true}));
  std::vector<Type> types;
  for (const ValueId output : alone.node(copy).outputs)
    types.push_back(inference.types[output.index]);
  return types;
}

}  // namespace

Expected<std::vector<Shape>> empty_stacks(const Module& module, NodeId loop,
                                          std::span<const Tensor> inputs) {
  const LoopPorts& ports = *module.node(loop).loop;
  SCANLOOM_TRY(const std::vector<Type> types, infer_results(module, loop, inputs));
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
    const Type& type = types[ports.carried + i];
    const auto axis = static_cast<int>(ports.stacked[i].axis);
    Shape shape;
    for (const Dim dim : type.dims) shape.push_back(dim.is_constant() ? dim.value() : 0);
    if (!type.ranked) shape = Shape::filled(axis + 1, 0);
    shape[axis] = 0;
    shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace scanloom::ir
