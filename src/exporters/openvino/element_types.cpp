#include "exporters/openvino/element_types.h"

#include "tensor/openvino_dtype.h"

namespace scanloom::exporters::openvino {

std::string_view element_type(DType dtype) {
  const tensor::OpenvinoDtype* const words = tensor::openvino_dtype(dtype);
  return words == nullptr ? std::string_view() : words->attribute;
}

std::string port_precision(DType dtype) {
  const tensor::OpenvinoDtype* const words = tensor::openvino_dtype(dtype);
  return std::string(words == nullptr ? "UNSPECIFIED" : words->precision);
}

std::string shape_text(const tensor::Type& type) {
  if (!type.ranked) return "...";
  std::string text;
  for (const tensor::Dim dim : type.dims) {
    if (!text.empty()) text += ',';
    text += dim.is_constant() ? std::to_string(dim.value()) : "?";
  }
  return text;
}

}  // namespace scanloom::exporters::openvino
