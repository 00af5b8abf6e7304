#include "frontends/openvino/types.h"

#include <charconv>
#include <optional>

#include "base/ascii.h"
#include "base/utf8.h"
#include "tensor/openvino_dtype.h"

namespace scanloom::openvino {

using tensor::Dim;
using tensor::Type;

namespace {

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return value;
}

/// Returns nullopt if the text is not an interval.
std::optional<SizeRange> range_of(std::string_view text, std::size_t dots) {
  const std::string_view low = text.substr(0, dots), high = text.substr(dots + 2);
  SizeRange range;
  if (!low.empty()) range.low = number_of(low).value_or(-1);
  if (!high.empty()) range.high = number_of(high).value_or(-1);
  return range.low >= 0 && range.high >= 0 ? std::optional(range) : std::nullopt;
}

/// Returns nullopt if the text is not a size. Stores an interval in `range`.
std::optional<Dim> dim_of(std::string_view text, tensor::DimTable& dims,
                          std::optional<SizeRange>& range) {
  if (text == "?" || text == "-1") return dims.fresh();
  if (const std::size_t dots = text.find(".."); dots != std::string_view::npos) {
    range = range_of(text, dots);
    return range ? std::optional<Dim>(dims.fresh()) : std::nullopt;
  }
  const std::optional<std::int64_t> value = number_of(text);
  return value && *value >= 0 ? std::optional<Dim>(Dim(*value)) : std::nullopt;
}

}  // namespace

Expected<DType> dtype_of(std::string_view word) {
  if (const auto dtype = tensor::dtype_from_openvino(word)) return *dtype;
  return fail(Code::unsupported, "unknown element type '{}'", shortened(to_valid_utf8(word), 40));
}

bool is_dynamic_type(std::string_view word) {
  word = trimmed(word);
  return equal_ignoring_case(word, "dynamic") || equal_ignoring_case(word, "undefined") ||
         equal_ignoring_case(word, "unspecified");
}

Expected<Type> type_of(DType dtype, std::string_view shape, tensor::DimTable& dims,
                       std::vector<SizeRange>* ranges) {
  std::string text;
  for (const char c : shape)
    if (c != ' ' && c != '[' && c != ']' && c != '{' && c != '}') text += c;
  if (text == "...") return Type::unranked(dtype);
  Type type = Type::scalar(dtype);
  if (text.empty()) return type;
  std::string_view rest = text;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::string_view part = rest.substr(0, comma);
    std::optional<SizeRange> range;
    const std::optional<Dim> dim = dim_of(part, dims, range);
    if (!dim)
      return invalid_model("attribute 'shape' is '{}', in which '{}' is not a size",
                           shortened(to_valid_utf8(shape), 100),
                           shortened(to_valid_utf8(part), 40));
    if (range && range->low > range->high)
      return invalid_model("attribute 'shape' is '{}', in which '{}' begins above its end",
                           shortened(to_valid_utf8(shape), 100),
                           shortened(to_valid_utf8(part), 60));
    if (range && ranges != nullptr) {
      range->axis = type.rank();
      ranges->push_back(*range);
    }
    if (type.rank() == tensor::kMaxRank)
      return fail(Code::unsupported, "attribute 'shape' has more than {} axes", tensor::kMaxRank);
    type.dims.push_back(*dim);
    if (more) rest.remove_prefix(comma + 1);
  }
  return type;
}

}  // namespace scanloom::openvino
