#include "frontends/openvino/weights.h"

#include <cstring>

#include "frontends/openvino/attributes.h"
#include "frontends/openvino/types.h"
#include "tensor/openvino_bits.h"
#include "tensor/raw_data.h"

namespace scanloom::openvino {

using tensor::Shape;
using tensor::Tensor;

namespace {

Expected<DType> dtype_of_constant(const Layer& layer, const Attributes& attributes) {
  if (attributes.has("element_type")) return attributes.dtype("element_type");
  if (layer.outputs.size() == 1) return dtype_of(layer.outputs[0].precision);
  return invalid_model("attribute 'element_type' is missing");
}

Expected<Shape> shape_of_constant(const Layer& layer, const Attributes& attributes) {
  if (attributes.has("shape")) {
    SCANLOOM_TRY(const auto sizes, attributes.integers("shape"));
    return tensor::shape_of(sizes);
  }
  if (layer.outputs.size() == 1) return tensor::shape_of(layer.outputs[0].dims);
  return invalid_model("attribute 'shape' is missing");
}

/// A count, count + 1 offsets, and the characters between them. Numbers have 32 bits.
Expected<Tensor> strings_of(const Shape& shape, std::string_view bytes) {
  const auto number = [&](std::size_t i) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
    return std::size_t{value};
  };
  if (bytes.size() < sizeof(std::uint32_t))
    return invalid_model("its strings have {} bytes, too few for a count", bytes.size());
  const std::size_t count = number(0);
  if (count != static_cast<std::size_t>(shape.elements()))
    return invalid_model("it holds {} strings, but its shape {} needs {}", count, shape.to_string(),
                         shape.elements());
  if (bytes.size() / sizeof(std::uint32_t) < count + 2)
    return invalid_model("its strings have {} bytes, too few for {} offsets", bytes.size(),
                         count + 1);
  const std::string_view text = bytes.substr((count + 2) * sizeof(std::uint32_t));
  std::vector<std::string> values;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = number(i + 1), end = number(i + 2);
    if (begin > end || end > text.size())
      return invalid_model("its string {} is at [{}, {}), outside the {} characters", i, begin, end,
                           text.size());
    values.emplace_back(text.substr(begin, end - begin));
  }
  return Tensor::of_strings(shape, values);
}

}  // namespace

Expected<std::string_view> Weights::range(std::uint64_t offset, std::uint64_t size) const {
  if (size == 0) return std::string_view();
  if (!is_there_)
    return fail(Code::not_found,
                "it needs {} bytes of weights, but there is no weights file: put the .bin next to "
                "the .xml, under the same name, or give its bytes as the option 'weights'",
                size);
  if (offset > bytes_.size() || size > bytes_.size() - offset)
    return invalid_model("its {} bytes begin at byte {} of '{}', which has {} bytes", size, offset,
                         name_, bytes_.size());
  return bytes_.substr(offset, size);
}

Expected<Weights::Range> Weights::find(const Layer& layer) const {
  const Attributes attributes(layer);
  Range found;
  SCANLOOM_TRY(found.dtype, dtype_of_constant(layer, attributes));
  SCANLOOM_TRY(found.shape, shape_of_constant(layer, attributes));
  SCANLOOM_TRY(const std::uint64_t offset, attributes.byte_count("offset"));
  SCANLOOM_TRY(found.size, attributes.byte_count("size"));
  const bool is_text = found.dtype == DType::string;
  const std::uint64_t needs =
      is_text ? found.size : tensor::openvino_bytes(found.dtype, found.shape.elements());
  if (found.size < needs)
    return invalid_model("its weights have {} bytes, but {} of sizes {} need {}", found.size,
                         dtype_name(found.dtype), found.shape.to_string(), needs);
  SCANLOOM_TRY(found.bytes, range(offset, found.size));
  found.bytes = found.bytes.substr(0, needs);
  return found;
}

Expected<void> Weights::check(const Layer& layer) const {
  SCANLOOM_CHECK_OK(find(layer));
  return {};
}

std::vector<std::string> Weights::warnings(const Layer& layer, const Range& found) {
  const Attributes attributes(layer);
  std::vector<std::string> warnings;
  for (const char* const name : {"element_type", "shape"})
    if (!attributes.has(name))
      warnings.push_back(
          fmt::format("attribute '{}' is missing, so that of its port is used", name));
  if (found.bytes.size() < found.size)
    warnings.push_back(fmt::format(
        "its weights have {} bytes, but {} of sizes {} need {}: the rest is ignored", found.size,
        dtype_name(found.dtype), found.shape.to_string(), found.bytes.size()));
  return warnings;
}

Expected<Tensor> Weights::constant(const Layer& layer, std::vector<std::string>& warned) const {
  SCANLOOM_TRY(const Range found, find(layer));
  const std::string_view bytes = found.bytes;
  warned = warnings(layer, found);
  if (found.dtype == DType::string) return strings_of(found.shape, bytes);
  if (tensor::has_own_bits(found.dtype))
    return tensor::unpack_openvino(found.dtype, found.shape, bytes);
  const std::size_t after =
      bytes.empty()
          ? 0
          : static_cast<std::size_t>(bytes_.data() + bytes_.size() - (bytes.data() + bytes.size()));
  return tensor::tensor_of_raw(found.dtype, found.shape, {owner_, bytes, after});
}

}  // namespace scanloom::openvino
