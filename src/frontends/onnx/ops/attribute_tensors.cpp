#include "frontends/onnx/ops/attribute_tensors.h"

#include <bit>

#include "tensor/scalar_eval.h"

namespace scanloom::onnx {

using tensor::Shape;
using tensor::Tensor;

Expected<Tensor> text_list(NodeCtx& ctx, std::string_view name) {
  SCANLOOM_TRY(const std::vector<std::string> texts, ctx.texts(name));
  return Tensor::of_strings(Shape{static_cast<std::int64_t>(texts.size())}, texts);
}

Expected<Tensor> real_list(NodeCtx& ctx, std::string_view name) {
  SCANLOOM_TRY(const std::vector<double> wide, ctx.floats(name));
  const std::vector<float> narrow(wide.begin(), wide.end());
  return Tensor::copy_of(DType::f32, Shape{static_cast<std::int64_t>(narrow.size())},
                         narrow.data());
}

Expected<Tensor> integer_list(NodeCtx& ctx, std::string_view name) {
  SCANLOOM_TRY(const std::vector<std::int64_t> integers, ctx.integers(name));
  return Tensor::copy_of(DType::i64, Shape{static_cast<std::int64_t>(integers.size())},
                         integers.data());
}

Expected<Tensor> tensor_attribute(NodeCtx& ctx, std::string_view name) {
  SCANLOOM_TRY(const AttributeProto* const found, ctx.attribute(name, AttributeKind::tensor));
  if (found == nullptr || found->tensors.empty()) return Tensor();
  return ctx.reading().tensors.read(found->tensors.front());
}

Expected<std::vector<double>> tensor_numbers(NodeCtx& ctx, std::string_view name) {
  std::vector<double> values;
  SCANLOOM_TRY(const Tensor tensor, tensor_attribute(ctx, name));
  if (!tensor.defined()) return values;
  const DType dtype = tensor.dtype();
  if (!is_integer(dtype) && !is_floating_point(dtype))
    return invalid_model("attribute '{}' holds {}, not numbers", name, dtype_onnx_name(dtype));
  const auto* const data = static_cast<const std::byte*>(tensor.data());
  tensor::ScalarProgram program{.inputs = {dtype}};
  program.append({.op = tensor::ScalarOp::cast, .dtype = DType::f64, .args = {0, -1, -1}});
  const auto width = static_cast<std::int64_t>(dtype_bytes(dtype));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor::ScalarReg registers[2] = {};
    tensor::load_scalars(dtype, data + i * width, width, registers, 1);
    tensor::eval_scalar(program, registers, 1);
    values.push_back(std::bit_cast<double>(registers[1].low));
  }
  return values;
}

Expected<std::vector<double>> numbers_either_way(NodeCtx& ctx, const std::string& name) {
  const std::string as_tensor = name + "_as_tensor";
  SCANLOOM_TRY(std::vector<double> listed, ctx.floats(name));
  SCANLOOM_TRY(std::vector<double> packed, tensor_numbers(ctx, as_tensor));
  if (!listed.empty() && !packed.empty())
    return invalid_model("attributes '{}' and '{}' are both present", name, as_tensor);
  return packed.empty() ? listed : packed;
}

Expected<void> check_entries(std::string_view name, std::size_t count, std::size_t wanted) {
  if (count == wanted) return {};
  return invalid_model("attribute '{}' has {} {}, but {} {} needed", name, count,
                       count == 1 ? "entry" : "entries", wanted, wanted == 1 ? "is" : "are");
}

}  // namespace scanloom::onnx
