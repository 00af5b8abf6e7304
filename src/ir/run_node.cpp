#include "ir/run_node.h"

#include <algorithm>

#include "base/checked.h"
#include "ir/call_reference.h"
#include "ir/infer_node.h"

namespace scanloom::ir {
namespace {

using tensor::Shape;
using tensor::Tensor;
using tensor::Type;

Expected<std::vector<Type>> result_types(const OpDef& op, std::span<const Tensor> inputs,
                                         std::span<const tensor::Attr> attrs, std::size_t outputs) {
  std::vector<Type> types(inputs.size());
  std::vector<Known> known(inputs.size());
  std::vector<const Type*> type_of(inputs.size());
  std::vector<const Known*> known_of(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    types[i] = Type::of(inputs[i].dtype(), inputs[i].shape());
    known[i].tensor = inputs[i];
    type_of[i] = &types[i];
    known_of[i] = &known[i];
  }
  tensor::DimTable dims;
  SCANLOOM_TRY(NodeTypes result, infer_node(op, type_of, known_of, attrs, outputs, dims));
  SCANLOOM_CHECK_OK(check_reported_sizes(op, type_of, result.types, dims));
  return std::move(result.types);
}

Expected<std::vector<Tensor>> make_results(const OpDef& op, std::span<const Type> types,
                                           std::int64_t max_elements,
                                           const AllocationCheck& may_make) {
  std::vector<Tensor> results;
  std::int64_t bytes = 0;
  for (const Type& type : types) {
    const Shape shape = type.shape();
    if (shape.elements() > max_elements)
      return fail(Code::limit_reached, "{} has a result of {} elements, but the limit is {}",
                  op.name, shape.elements(), max_elements);
    const auto element_bytes = static_cast<std::int64_t>(dtype_bytes(type.dtype));
    bytes = saturating_sum(bytes, shape.elements() * element_bytes);
    if (may_make) SCANLOOM_CHECK_OK(may_make(bytes));
    SCANLOOM_TRY(Tensor result, Tensor::zeros(type.dtype, shape));
    results.push_back(std::move(result));
  }
  return results;
}

bool is_text(const Tensor& tensor) { return tensor.dtype() == DType::string; }

/// Copies the texts of string results, whose elements point into the operands.
Expected<void> own_strings(std::span<Tensor> results, const AllocationCheck& may_make) {
  if (std::ranges::none_of(results, is_text)) return {};
  std::int64_t bytes = 0;
  for (const Tensor& result : results) bytes = saturating_sum(bytes, bytes_with_text(result));
  if (may_make) SCANLOOM_CHECK_OK(may_make(bytes));
  for (Tensor& result : results) {
    SCANLOOM_TRY(result, tensor::with_own_strings(std::move(result)));
  }
  return {};
}

}  // namespace

Expected<std::vector<Tensor>> run_node(const OpDef& op, std::span<const Tensor> inputs,
                                       std::span<const tensor::Attr> attrs, std::size_t outputs,
                                       std::int64_t max_elements, const AllocationCheck& may_make,
                                       tensor::SampleCounter* samples, tensor::StopToken* stop) {
  if (op.infer == nullptr || op.reference == nullptr)
    return fail(Code::internal, "{} has no reference kernel", op.name);
  SCANLOOM_TRY(const std::vector<Type> types, result_types(op, inputs, attrs, outputs));
  SCANLOOM_TRY(std::vector<Tensor> results, make_results(op, types, max_elements, may_make));
  SCANLOOM_CHECK_OK(call_reference(op, inputs, attrs, results, samples, stop));
  SCANLOOM_CHECK_OK(own_strings(results, may_make));
  return results;
}

Expected<void> run_on_objects(const OpDef& op, const tensor::ObjectCall& call) {
  return run_on_objects(op, call, nullptr);
}

Expected<void> run_on_objects(const OpDef& op, const tensor::ObjectCall& call,
                              tensor::StopToken* stop) {
  if (op.run_objects != nullptr) return op.run_objects(call);
  std::vector<Tensor> inputs;
  for (const tensor::ObjectRef& input : call.inputs) {
    if (input && !input->is_tensor())
      return fail(Code::internal, "{} is given a {}", op.name, tensor::describe(input));
    inputs.push_back(input ? input->tensor() : Tensor());
  }
  SCANLOOM_TRY(
      std::vector<Tensor> results,
      run_node(
          op, inputs, call.attrs, call.outputs.size(), std::int64_t{1} << 40,
          [&](std::int64_t bytes) { return call.memory.check(bytes); }, call.samples, stop));
  for (std::size_t i = 0; i < results.size(); ++i)
    SCANLOOM_CHECK_OK(call.give(i, std::move(results[i])));
  return {};
}

}  // namespace scanloom::ir
