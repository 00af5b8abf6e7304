#include "exporters/openvino/element_types.h"

#include <array>

namespace scanloom::exporters::openvino {

namespace {

struct Word {
  DType dtype;
  std::string_view attribute, port;
};

constexpr std::array kWords = {
    Word{DType::f32, "f32", "FP32"},
    Word{DType::f16, "f16", "FP16"},
    Word{DType::f64, "f64", "FP64"},
    Word{DType::bf16, "bf16", "BF16"},
    Word{DType::boolean, "boolean", "BOOL"},
    Word{DType::i4, "i4", "I4"},
    Word{DType::i8, "i8", "I8"},
    Word{DType::i16, "i16", "I16"},
    Word{DType::i32, "i32", "I32"},
    Word{DType::i64, "i64", "I64"},
    Word{DType::u1, "u1", "BIN"},
    Word{DType::u4, "u4", "U4"},
    Word{DType::u8, "u8", "U8"},
    Word{DType::u16, "u16", "U16"},
    Word{DType::u32, "u32", "U32"},
    Word{DType::u64, "u64", "U64"},
    Word{DType::nf4, "nf4", "NF4"},
    Word{DType::f8e4m3fn, "f8e4m3", "F8E4M3"},
    Word{DType::f8e5m2, "f8e5m2", "F8E5M2"},
    Word{DType::f4e2m1, "f4e2m1", "F4E2M1"},
    Word{DType::f8e8m0, "f8e8m0", "F8E8M0"},
    Word{DType::string, "string", "STRING"},
};

const Word* word_of(DType dtype) {
  for (const Word& word : kWords)
    if (word.dtype == dtype) return &word;
  return nullptr;
}

}  // namespace

std::string_view element_type(DType dtype) {
  const Word* const word = word_of(dtype);
  return word == nullptr ? std::string_view() : word->attribute;
}

std::string port_precision(DType dtype) {
  const Word* const word = word_of(dtype);
  return std::string(word == nullptr ? "UNSPECIFIED" : word->port);
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
