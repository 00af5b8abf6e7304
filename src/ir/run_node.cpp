#include "ir/run_node.h"

#include "ir/infer_node.h"

namespace scanloom::ir {
namespace {

using tensor::Operand;
using tensor::Shape;
using tensor::Tensor;
using tensor::Type;

/// Operands over whole tensors. They point into this object, which therefore stays where it is.
class Operands {
 public:
  explicit Operands(std::span<const Tensor> tensors)
      : operands_(tensors.size()), slots_(tensors.size()), strides_(tensors.size()) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i].defined()) continue;
      // Kernels write to results alone, and those are ours.
      slots_[i] = static_cast<std::byte*>(const_cast<void*>(tensors[i].data()));
      strides_[i] = contiguous_strides(tensors[i].shape());
      operands_[i] = {.slot = &slots_[i],
                      .offset = 0,
                      .dims = tensors[i].shape().data(),
                      .strides = strides_[i].data(),
                      .rank = tensors[i].shape().rank(),
                      .dtype = tensors[i].dtype(),
                      .contiguous = true};
    }
  }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  [[nodiscard]] const Operand* data() const { return operands_.data(); }
  [[nodiscard]] std::uint16_t count() const { return static_cast<std::uint16_t>(operands_.size()); }

 private:
  std::vector<Operand> operands_;
  std::vector<std::byte*> slots_;
  std::vector<Shape> strides_;
};

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
  for (const Type& type : result.types)
    if (!type.is_static())
      return fail(Code::internal, "{} does not say how large its result is: {}", op.name,
                  to_string(type, dims));
  return std::move(result.types);
}

Expected<std::vector<Tensor>> make_results(const OpDef& op, std::span<const Type> types,
                                           std::int64_t max_elements) {
  std::vector<Tensor> results;
  for (const Type& type : types) {
    const Shape shape = type.shape();
    if (shape.elements() > max_elements)
      return fail(Code::limit_reached, "{} makes {} elements, the limit is {}", op.name,
                  shape.elements(), max_elements);
    SCANLOOM_TRY(Tensor result, Tensor::zeros(type.dtype, shape));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

Expected<Tensor> with_own_strings(Tensor tensor) {
  if (tensor.dtype() != DType::string) return tensor;
  std::vector<std::string> values;
  for (const tensor::StringRef& element : tensor.as<tensor::StringRef>())
    values.emplace_back(element.data != nullptr ? element.view() : std::string_view());
  return Tensor::of_strings(tensor.shape(), values);
}

Expected<std::vector<Tensor>> run_node(const OpDef& op, std::span<const Tensor> inputs,
                                       std::span<const tensor::Attr> attrs, std::size_t outputs,
                                       std::int64_t max_elements) {
  constexpr std::size_t kMaxOperands = 0xffff;  // of a Call
  if (op.infer == nullptr || op.reference == nullptr)
    return fail(Code::internal, "{} has no reference kernel", op.name);
  if (inputs.size() > kMaxOperands || outputs > kMaxOperands)
    return fail(Code::unsupported, "{} operands and {} results: {} are the most there can be",
                inputs.size(), outputs, kMaxOperands);
  SCANLOOM_TRY(const std::vector<Type> types, result_types(op, inputs, attrs, outputs));
  SCANLOOM_TRY(std::vector<Tensor> results, make_results(op, types, max_elements));
  const Operands in(inputs), out(results);
  tensor::Fault fault;
  const tensor::Call call{.inputs = in.data(),
                          .outputs = out.data(),
                          .input_count = in.count(),
                          .output_count = out.count(),
                          .attrs = attrs.data(),
                          .fault = &fault};
  if (op.reference(call) != tensor::Status::ok) return to_error(fault);
  for (Tensor& result : results) {
    SCANLOOM_TRY(Tensor owning, with_own_strings(std::move(result)));
    result = std::move(owning);
  }
  return results;
}

}  // namespace scanloom::ir
