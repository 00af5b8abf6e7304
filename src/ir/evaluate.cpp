#include "ir/evaluate.h"

#include <algorithm>

namespace scanloom::ir {
namespace {

using tensor::Operand;
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

/// The operands of a call over whole tensors. Addresses stay valid for the lifetime of this object.
class Operands {
 public:
  explicit Operands(std::span<const Tensor> tensors)
      : tensors_(tensors), data_(tensors.size()), strides_(tensors.size()) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      Operand& operand = operands_.emplace_back();
      if (!tensors[i].defined()) continue;
      // Kernels write only to outputs, whose storage is ours alone.
      data_[i] = static_cast<std::byte*>(const_cast<void*>(tensors[i].data()));
      strides_[i] = tensor::contiguous_strides(tensors[i].shape());
      operand = {.slot = &data_[i],
                 .dims = tensors_[i].shape().data(),
                 .strides = strides_[i].data(),
                 .rank = tensors[i].shape().rank(),
                 .dtype = tensors[i].dtype()};
    }
  }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;
  [[nodiscard]] const Operand* data() const { return operands_.data(); }
  [[nodiscard]] std::uint16_t count() const { return static_cast<std::uint16_t>(operands_.size()); }

 private:
  std::span<const Tensor> tensors_;
  std::vector<std::byte*> data_;
  std::vector<Shape> strides_;
  std::vector<Operand> operands_;
};

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
  const Operands in(inputs);
  const Operands out(results);
  tensor::Fault fault;
  const tensor::Call call{.inputs = in.data(),
                          .outputs = out.data(),
                          .input_count = in.count(),
                          .output_count = out.count(),
                          .attrs = attrs.data(),
                          .fault = &fault};
  if (op.reference(call) == tensor::Status::fault) return to_error(fault);
  return std::optional(std::move(results));
}

}  // namespace scanloom::ir
