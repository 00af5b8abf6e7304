#include "ir/empty_stacks.h"

#include "ir/infer.h"
#include "ir/op_def.h"
#include "ir/walk.h"

namespace scanloom::ir {
namespace {

using tensor::Shape;
using tensor::Tensor;

/// Infers the types of the loop's results for these operands.
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

/// The rows of a first step, as far as the operands' sizes determine them; empty if such a step
/// would fail.
std::vector<Type> infer_first_rows(const Module& module, NodeId loop,
                                   std::span<const Tensor> inputs) {
  const Node& node = module.node(loop);
  const LoopPorts& ports = *node.loop;
  Module alone;
  alone.dims = module.dims;
  std::vector<Type> arguments;
  const auto type_of = [&](std::size_t i) {
    return inputs[i].defined() ? Type::of(inputs[i].dtype(), inputs[i].shape())
                               : module.value(node.inputs[i]).type;
  };
  const auto argument = [&](Type type) {
    arguments.push_back(type);
    return alone.add_argument(alone.top(), std::move(type));
  };
  std::vector<ValueId> operands, values;
  for (std::size_t i = 0; i < inputs.size(); ++i) operands.push_back(argument(type_of(i)));
  const NodeId copy = clone_node_into(module, loop, alone, alone.top(), operands);
  alone.region(alone.top()).nodes.clear();
  for (std::size_t i = 0; i < ports.captured; ++i) {
    const std::size_t at = ports.first_captured_input() + i;
    if (!inputs[at].defined()) {
      values.push_back(operands[at]);
      continue;
    }
    const NodeId constant =
        alone.add_node(alone.top(), constant_op, {}, {inputs[at]}, {type_of(at)});
    values.push_back(alone.node(constant).outputs[0]);
  }
  for (std::size_t i = 0; i < ports.carried; ++i)
    values.push_back(operands[ports.first_carried_input() + i]);
  for (std::size_t i = 0; i < ports.scanned.size(); ++i) {
    Type slice = type_of(ports.first_scanned_input() + i);
    const auto axis = static_cast<std::ptrdiff_t>(ports.scanned[i].axis);
    if (!slice.ranked || axis >= slice.rank()) return {};
    if (ports.scanned[i].squeeze)
      slice.dims.erase(slice.dims.begin() + axis);
    else
      slice.dims[static_cast<std::size_t>(axis)] = ports.scanned[i].part;
    values.push_back(argument(std::move(slice)));
  }
  const std::vector<ValueId> yields =
      clone_region_into(alone, alone.node(copy).regions[0], alone.top(), values);
  auto inference = infer(alone, arguments, alone.dims, {.evaluate = true});
  std::vector<Type> rows;
  for (std::size_t i = 0; inference && i < ports.stacked.size(); ++i)
    rows.push_back(inference->types[yields[ports.first_stacked_yield() + i].index]);
  return rows;
}

/// The size of an axis, from whichever of the two inferences knows it.
std::int64_t size_of(const Type& type, const Type* row, int axis, const StackedPort& port) {
  const Dim dim = type.dims[static_cast<std::size_t>(axis)];
  if (dim.is_constant()) return dim.value();
  const int of_row = port.insert && axis > port.axis ? axis - 1 : axis;
  if (row == nullptr || !row->ranked || of_row >= row->rank()) return 0;
  const Dim first = row->dims[static_cast<std::size_t>(of_row)];
  return first.is_constant() ? first.value() : 0;
}

}  // namespace

Expected<std::vector<Shape>> empty_stacks(const Module& module, NodeId loop,
                                          std::span<const Tensor> inputs) {
  const LoopPorts& ports = *module.node(loop).loop;
  SCANLOOM_TRY(const std::vector<Type> types, infer_results(module, loop, inputs));
  const std::vector<Type> rows = infer_first_rows(module, loop, inputs);
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
    const Type& declared = module.value(module.node(loop).outputs[ports.carried + i]).type;
    const Type& inferred = types[ports.carried + i];
    const Type& type = inferred.ranked ? inferred : declared;
    const auto axis = static_cast<int>(ports.stacked[i].axis);
    Shape shape;
    const Type* const row = i < rows.size() ? &rows[i] : nullptr;
    for (int k = 0; k < type.rank(); ++k) shape.push_back(size_of(type, row, k, ports.stacked[i]));
    if (!type.ranked) shape = Shape::filled(axis + 1, 0);
    shape[axis] = 0;
    shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace scanloom::ir
