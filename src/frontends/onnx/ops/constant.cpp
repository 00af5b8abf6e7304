// Constant in all its forms, and ConstantOfShape.
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using tensor::Shape;
using tensor::Tensor;

namespace {

template <class T>
Expected<Tensor> list_of(const std::vector<T>& values) {
  return Tensor::copy_of(dtype_of<T>, Shape{static_cast<std::int64_t>(values.size())},
                         values.data());
}

Expected<Tensor> texts_of(const Shape& shape, const std::vector<std::string_view>& values) {
  const std::vector<std::string> texts(values.begin(), values.end());
  return Tensor::of_strings(shape, texts);
}

constexpr std::pair<std::string_view, AttributeKind> kForms[] = {
    {"value", AttributeKind::tensor},      {"sparse_value", AttributeKind::sparse_tensor},
    {"value_float", AttributeKind::real},  {"value_floats", AttributeKind::floats},
    {"value_int", AttributeKind::integer}, {"value_ints", AttributeKind::integers},
    {"value_string", AttributeKind::text}, {"value_strings", AttributeKind::texts},
};

Expected<Tensor> value_of(NodeCtx& ctx, const AttributeProto& attribute, AttributeKind form) {
  switch (form) {
    case AttributeKind::tensor:
      if (attribute.tensors.empty()) return invalid_model("attribute 'value' is empty");
      return ctx.reading().tensors.read(attribute.tensors.front());
    case AttributeKind::sparse_tensor:
      if (attribute.sparse.empty()) return invalid_model("attribute 'sparse_value' is empty");
      return ctx.reading().tensors.read(attribute.sparse.front());
    case AttributeKind::real:
      return Tensor::scalar<float>(attribute.real);
    case AttributeKind::integer:
      return Tensor::scalar<std::int64_t>(attribute.integer);
    case AttributeKind::floats:
      return list_of(attribute.floats);
    case AttributeKind::integers:
      return list_of(attribute.integers);
    case AttributeKind::text:
      return texts_of({}, {attribute.text});
    case AttributeKind::texts:
      return texts_of({static_cast<std::int64_t>(attribute.texts.size())}, attribute.texts);
    case AttributeKind::undefined:
    case AttributeKind::graph:
    case AttributeKind::tensors:
    case AttributeKind::graphs:
    case AttributeKind::sparse_tensors:
    case AttributeKind::type:
    case AttributeKind::types:
      break;
  }
  return fail(Code::internal, "not a form of constant");
}

}  // namespace

Expected<void> convert_constant(NodeCtx& ctx) {
  std::string_view found;
  for (const auto& [name, form] : kForms) {
    if (!ctx.has_attribute(name)) continue;
    if (!found.empty())
      return invalid_model("attributes '{}' and '{}' both specify its value", found, name);
    found = name;
    SCANLOOM_TRY(const AttributeProto* const attribute, ctx.attribute(name, form));
    SCANLOOM_TRY(Tensor value, ctx.reading().tensors.once(attribute, [&, kind = form] {
      return value_of(ctx, *attribute, kind);
    }));
    ctx.set_constant(0, std::move(value));
  }
  if (found.empty()) return invalid_model("no attribute specifies its value");
  return {};
}

Expected<void> convert_constant_of_shape(NodeCtx& ctx) {
  SCANLOOM_TRY(const ir::ValueId shape, ctx.in(0));
  Tensor value = Tensor::scalar<float>(0);
  SCANLOOM_TRY(const AttributeProto* const attribute,
               ctx.attribute("value", AttributeKind::tensor));
  if (attribute != nullptr && !attribute->tensors.empty()) {
    SCANLOOM_TRY(value, ctx.reading().tensors.read(attribute->tensors.front()));
    if (value.elements() != 1)
      return invalid_model("attribute 'value' has {} elements, but 1 is needed", value.elements());
  }
  return ctx.emit(ops::constant_of_shape_op, {shape}, {{"value", std::move(value)}});
}

}  // namespace scanloom::onnx
