#include "frontends/onnx/types.h"

#include <string_view>

#include "frontends/onnx/tensor_data.h"

namespace scanloom::onnx {

using tensor::Dim;
using tensor::Type;

namespace {

/// Whether the text names a size. Exporters write "", "?" and "-1" for unknown sizes.
bool is_symbol(std::string_view text) {
  if (text.find_first_not_of("? ") == std::string_view::npos) return false;
  return text[0] != '-' || text.find_first_not_of("0123456789", 1) != std::string_view::npos;
}

Dim make_dim(const DimProto& proto, tensor::DimTable& dims) {
  if (proto.kind == DimProto::Kind::value && proto.value > 0) return proto.value;
  const bool named = proto.kind == DimProto::Kind::param && is_symbol(proto.param);
  return named ? dims.symbol(proto.param) : dims.fresh();
}

}  // namespace

Expected<Type> make_type(const TypeProto& proto, tensor::DimTable& dims) {
  if (proto.kind == TypeProto::Kind::none) return invalid_model("it has no type");
  if (proto.kind == TypeProto::Kind::other)
    return fail(Code::unsupported,
                "its type is sparse, opaque, or a map from other keys than int64 or strings");
  SCANLOOM_TRY(const DType dtype, dtype_of_number(proto.elem_type));
  if (proto.dims.size() > static_cast<std::size_t>(tensor::kMaxRank))
    return fail(Code::unsupported, "it has {} axes, but at most {} are allowed", proto.dims.size(),
                tensor::kMaxRank);
  Type type = Type::unranked(dtype);
  type.ranked = proto.has_shape;
  type.wraps = proto.wraps;
  for (std::size_t i = 0; i + 1 < type.wraps.size(); ++i)
    if (is_map(type.wraps[i]))
      return fail(Code::unsupported, "its maps have values that are sequences or optionals");
  for (const DimProto& dim : proto.dims) type.dims.push_back(make_dim(dim, dims));
  if (!type.wraps.empty() && is_map(type.wraps.back())) {
    // The values of a map are scalars, which are also declared as tensors of one element.
    for (const tensor::Dim dim : type.dims)
      if (dim.is_constant() && dim.value() != 1)
        return fail(Code::unsupported,
                    "its maps have values of {} elements, not numbers or strings", dim.value());
    type.ranked = true;
    type.dims.clear();
    type.dims.push_back(dims.fresh());
  }
  return type;
}

Expected<void> check_one_element(const std::string& what, const tensor::Type& type) {
  if (type.is_static() && type.shape().elements() != 1)
    return invalid_model("{} has {} elements, but 1 is needed", what, type.shape().elements());
  for (std::size_t axis = 0; axis < type.dims.size(); ++axis)
    if (const tensor::Dim dim = type.dims[axis]; dim.is_constant() && dim.value() != 1)
      return invalid_model("{} has {} elements along axis {}, but 1 is needed", what, dim.value(),
                           axis);
  return {};
}

std::string describe_elements(const Type& type) {
  std::string text(dtype_onnx_name(type.dtype));
  for (auto wrap = type.wraps.rbegin(); wrap != type.wraps.rend(); ++wrap)
    text = is_map(*wrap)
               ? fmt::format("map({},{})", dtype_onnx_name(tensor::key_dtype(*wrap)), text)
               : fmt::format("{}({})", wrap_name(*wrap), text);
  return text;
}

}  // namespace scanloom::onnx
