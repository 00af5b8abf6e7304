#include "frontends/openvino/types.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/utf8.h"

namespace scanloom::openvino {

using tensor::Dim;
using tensor::Type;

namespace {

struct Word {
  std::string_view attribute, port;
  DType dtype;
};

constexpr std::array kWords = {
    Word{"f32", "FP32", DType::f32},
    Word{"f16", "FP16", DType::f16},
    Word{"f64", "FP64", DType::f64},
    Word{"bf16", "BF16", DType::bf16},
    Word{"boolean", "BOOL", DType::boolean},
    Word{"i4", "I4", DType::i4},
    Word{"i8", "I8", DType::i8},
    Word{"i16", "I16", DType::i16},
    Word{"i32", "I32", DType::i32},
    Word{"i64", "I64", DType::i64},
    Word{"u1", "BIN", DType::u1},
    Word{"u4", "U4", DType::u4},
    Word{"u8", "U8", DType::u8},
    Word{"u16", "U16", DType::u16},
    Word{"u32", "U32", DType::u32},
    Word{"u64", "U64", DType::u64},
    Word{"nf4", "NF4", DType::nf4},
    Word{"f8e4m3", "F8E4M3", DType::f8e4m3fn},
    Word{"f8e5m2", "F8E5M2", DType::f8e5m2},
    Word{"f4e2m1", "F4E2M1", DType::f4e2m1},
    Word{"f8e8m0", "F8E8M0", DType::f8e8m0},
    Word{"string", "STRING", DType::string},
};

bool equal_words(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return value;
}

/// nullopt: the text is no size.
std::optional<Dim> dim_of(std::string_view text, tensor::DimTable& dims) {
  if (text == "?" || text == "-1") return dims.fresh();
  if (const std::size_t dots = text.find(".."); dots != std::string_view::npos) {
    const std::string_view low = text.substr(0, dots), high = text.substr(dots + 2);
    const bool fits = (low.empty() || number_of(low).value_or(-1) >= 0) &&
                      (high.empty() || number_of(high).value_or(-1) >= 0);
    return fits ? std::optional<Dim>(dims.fresh()) : std::nullopt;
  }
  const std::optional<std::int64_t> value = number_of(text);
  return value && *value >= 0 ? std::optional<Dim>(Dim(*value)) : std::nullopt;
}

}  // namespace

Expected<DType> dtype_of(std::string_view word) {
  for (const Word& known : kWords)
    if (equal_words(word, known.attribute) || equal_words(word, known.port)) return known.dtype;
  return fail(Code::unsupported, "element type '{}' is not known",
              shortened(to_valid_utf8(word), 40));
}

Expected<Type> type_of(DType dtype, std::string_view shape, tensor::DimTable& dims) {
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
    const std::optional<Dim> dim = dim_of(part, dims);
    if (!dim)
      return invalid_model("attribute 'shape' is '{}', of which '{}' is no size",
                           shortened(to_valid_utf8(shape), 100),
                           shortened(to_valid_utf8(part), 40));
    if (type.rank() == tensor::kMaxRank)
      return fail(Code::unsupported, "attribute 'shape' has more than {} axes", tensor::kMaxRank);
    type.dims.push_back(*dim);
    if (more) rest.remove_prefix(comma + 1);
  }
  return type;
}

}  // namespace scanloom::openvino
