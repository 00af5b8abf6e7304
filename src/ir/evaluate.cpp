#include "ir/evaluate.h"

#include <algorithm>

#include "ir/call_reference.h"

namespace scanloom::ir {
namespace {

using tensor::Shape;
using tensor::Tensor;
using tensor::Type;

bool small_numbers(DType dtype, const Shape& shape, std::int64_t max_elements) {
  return dtype != DType::string && shape.elements() <= max_elements;
}

bool worth_it(const OpDef& op, std::span<const Tensor> inputs, std::span<const Type> outputs,
              std::int64_t max_elements) {
  if (op.reference == nullptr) return false;
  if (op.effects != Effects::pure && op.effects != Effects::may_fail) return false;
  return std::ranges::all_of(inputs,
                             [&](const Tensor& tensor) {
                               return !tensor.defined() ||
                                      small_numbers(tensor.dtype(), tensor.shape(), max_elements);
                             }) &&
         std::ranges::all_of(outputs, [&](const Type& type) {
           return type.is_static() && small_numbers(type.dtype, type.shape(), max_elements);
         });
}

}  // namespace

Expected<std::optional<std::vector<Tensor>>> evaluate(const OpDef& op,
                                                      std::span<const Tensor> inputs,
                                                      std::span<const tensor::Attr> attrs,
                                                      std::span<const Type> outputs,
                                                      std::int64_t max_elements) {
  constexpr std::size_t kMaxOperands = 1024;
  if (inputs.size() > kMaxOperands || outputs.size() > kMaxOperands ||
      !worth_it(op, inputs, outputs, max_elements))
    return std::optional<std::vector<Tensor>>();
  std::vector<Tensor> results;
  for (const Type& type : outputs) {
    SCANLOOM_TRY(Tensor result, Tensor::zeros(type.dtype, type.shape()));
    results.push_back(std::move(result));
  }
  SCANLOOM_CHECK_OK(call_reference(op, inputs, attrs, results));
  return std::optional(std::move(results));
}

}  // namespace scanloom::ir
