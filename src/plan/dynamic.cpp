#include "plan/dynamic.h"

#include "ops/ops.h"
#include "plan/plan.h"

namespace scanloom::plan {
namespace {

/// The operand as a Tensor: over the same memory where it is row-major, otherwise a copy.
Expected<tensor::Tensor> as_tensor(const tensor::Operand& operand) {
  const tensor::Shape shape = operand.shape();
  if (operand.contiguous)
    return tensor::Tensor(operand.dtype, shape, nullptr, operand.data<const std::byte>());
  SCANLOOM_TRY(tensor::Tensor copy, tensor::Tensor::zeros(operand.dtype, shape));
  const tensor::Shape strides = tensor::contiguous_strides(shape);
  auto* data = static_cast<std::byte*>(copy.mutable_data());
  tensor::Operand out = operand;
  out.slot = &data;
  out.offset = 0;
  out.strides = strides.data();
  out.contiguous = true;
  tensor::Fault fault;
  tensor::Call call;
  call.inputs = &operand;
  call.outputs = &out;
  call.input_count = call.output_count = 1;
  call.fault = &fault;
  if (ops::identity_op.reference(call) != tensor::Status::ok)
    return fail(Code::internal, "a strided operand could not be copied");
  return copy;
}

}  // namespace

Expected<std::vector<tensor::Shape>> resolve_shapes(const Plan& plan, ir::NodeId id,
                                                    std::span<const tensor::Operand> inputs) {
  const ir::Node& node = plan.module.node(id);
  std::vector<tensor::Type> types(inputs.size());
  std::vector<ir::Known> known(inputs.size());
  std::vector<const tensor::Type*> type_pointers(inputs.size(), nullptr);
  std::vector<const ir::Known*> known_pointers(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].present()) continue;
    types[i] = tensor::Type::of(inputs[i].dtype, inputs[i].shape());
    SCANLOOM_TRY(known[i].tensor, as_tensor(inputs[i]));
    type_pointers[i] = &types[i];
    known_pointers[i] = &known[i];
  }
  tensor::DimTable dims;
  ir::InferCtx ctx(type_pointers, known_pointers, node.attrs, node.outputs.size(), dims);
  if (Expected<void> inferred = node.op->infer(ctx); !inferred)
    return std::move(inferred).error().at(plan.module.describe(id));
  std::vector<tensor::Shape> shapes;
  for (const tensor::Type& type : ctx.outputs()) {
    if (!type.is_static())
      return fail(Code::unsupported, "{}: the size of a result of '{}' stays unknown",
                  plan.module.describe(id), node.op->name);
    shapes.push_back(type.shape());
    if (!shapes.back().checked_elements())
      return fail(Code::invalid_argument, "{}: a result of sizes {} is too large",
                  plan.module.describe(id), shapes.back().to_string());
  }
  return shapes;
}

}  // namespace scanloom::plan
