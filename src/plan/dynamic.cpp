#include "plan/dynamic.h"

#include "ir/call_reference.h"
#include "ir/empty_stacks.h"
#include "ir/infer_node.h"
#include "ir/op_def.h"
#include "ir/run_node.h"
#include "plan/binding.h"
#include "plan/plan.h"
#include "tensor/strided_copy.h"

namespace scanloom::plan {

Expected<tensor::Tensor> as_tensor(const tensor::Operand& operand) {
  const tensor::Shape shape = operand.shape();
  if (shape.elements() == 0) return tensor::Tensor::zeros(operand.dtype, shape);
  if (operand.contiguous)
    return tensor::Tensor(operand.dtype, shape, nullptr, operand.data<const std::byte>());
  SCANLOOM_TRY(tensor::Tensor copy, tensor::Tensor::zeros(operand.dtype, shape));
  tensor::copy_strided(operand.dtype, shape.dims(), operand.data<const std::byte>(),
                       operand.strides, static_cast<std::byte*>(copy.mutable_data()),
                       tensor::contiguous_strides(shape).data());
  return copy;
}

namespace {

/// `values`: the inputs', or none of them. Errors do not name the node.
Expected<ResultSizes> infer_sizes(const ir::Node& node, std::span<const tensor::Type* const> types,
                                  std::span<const ir::Known* const> values) {
  tensor::DimTable dims;
  SCANLOOM_TRY(const ir::NodeTypes inferred,
               ir::infer_node(*node.op, types, values, node.attrs, node.outputs.size(), dims));
  SCANLOOM_CHECK_OK(ir::check_sizes_told(*node.op, types, inferred.types, dims));
  ResultSizes sizes{.shapes = {}, .values_read = inferred.values_asked};
  for (const tensor::Type& type : inferred.types) sizes.shapes.push_back(type.shape());
  return sizes;
}

}  // namespace

Expected<ResultSizes> resolve_shapes(const Plan& plan, ir::NodeId id,
                                     std::span<const tensor::Operand> inputs) {
  const ir::Node& node = plan.module.node(id);
  std::vector<tensor::Type> types(inputs.size());
  std::vector<const tensor::Type*> type_pointers(inputs.size(), nullptr);
  std::vector<const ir::Known*> known_pointers(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].present()) continue;
    types[i] = tensor::Type::of(inputs[i].dtype, inputs[i].shape());
    type_pointers[i] = &types[i];
  }
  // Sizes that are known without any value are those for all values.
  if (Expected<ResultSizes> sizes = infer_sizes(node, type_pointers, known_pointers)) {
    sizes->values_read = 0;
    return sizes;
  }
  std::vector<ir::Known> known(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].present()) continue;
    SCANLOOM_TRY(known[i].tensor, as_tensor(inputs[i]));
    known_pointers[i] = &known[i];
  }
  Expected<ResultSizes> sizes = infer_sizes(node, type_pointers, known_pointers);
  if (!sizes) return std::move(sizes).error().at(plan.module.describe(id));
  return sizes;
}

bool makes_nothing(const Plan& plan, const DynamicCall& dynamic,
                   std::span<const tensor::Operand> outputs) {
  // A call that copies what a loop or branch hands on belongs to a node that is no copy itself.
  if (dynamic.resolve == sizes_of_input) return outputs[0].empty();
  return ir::makes_nothing(*plan.module.node(dynamic.call.node).op, outputs);
}

kernels::Prepared prepare_kernel(const Plan& plan, const DynamicCall& dynamic,
                                 std::span<const tensor::Operand> inputs,
                                 std::span<const tensor::Operand> outputs) {
  const ir::Node& node = plan.module.node(dynamic.call.node);
  const bool is_copy = dynamic.resolve == sizes_of_input;
  if (!is_copy && node.op->scalar != nullptr && dynamic.program == nullptr)
    return kernels::Prepared::no("an operand is absent");
  constexpr kernels::KernelId kCopy[] = {kernels::KernelId::copy};
  const std::vector<const void*> constants(inputs.size(), nullptr);
  for (const kernels::KernelId id : is_copy ? kCopy : candidates(*node.op)) {
    const kernels::KernelDef& def = kernels::kernel(id);
    kernels::Prepared prepared =
        def.prepare({inputs, outputs, constants, node.attrs, dynamic.program.get(), nullptr});
    if (prepared.why_not != nullptr) continue;
    if (prepared.run == nullptr) prepared.run = def.run;
    return prepared;
  }
  return kernels::Prepared::no("no kernel takes these operands");
}

Expected<ResultSizes> sizes_of_input(const Plan&, ir::NodeId,
                                     std::span<const tensor::Operand> inputs) {
  return ResultSizes{.shapes = {inputs[0].shape()}};
}

Expected<std::vector<tensor::Shape>> empty_stacks(const Plan& plan, ir::NodeId loop,
                                                  std::span<const tensor::Tensor> inputs) {
  auto shapes = ir::empty_stacks(plan.module, loop, inputs);
  if (!shapes) return std::move(shapes).error().at(plan.module.describe(loop));
  return shapes;
}

Expected<void> run_object(const Plan& plan, ir::NodeId id, std::span<tensor::BoxRef> inputs,
                          std::span<tensor::BoxRef> outputs, tensor::MemoryAccount& memory) {
  const ir::Node& node = plan.module.node(id);
  Expected<void> done = ir::run_boxed(*node.op, {inputs, outputs, node.attrs, memory});
  if (!done) return std::move(done).error().at(plan.module.describe(id));
  return done;
}

}  // namespace scanloom::plan
