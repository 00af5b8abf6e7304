// TextReader: reads the text form word by word, with the position of each for messages.
#pragma once

#include <string>
#include <string_view>

#include "base/expected.h"
#include "tensor/dim.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

namespace scanloom::tensor {

class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) { skip_blanks(); }

  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }

  /// Consumes the next character or keyword if it matches; a keyword must be a whole word.
  bool take(char c);
  bool take_keyword(std::string_view keyword);
  Expected<void> expect(char c);
  Expected<void> expect_keyword(std::string_view keyword);
  Expected<void> expect_end();
  /// Whether "{ name =" comes next: attributes, not a region.
  [[nodiscard]] bool attributes_follow() const;

  Expected<std::string_view> name();
  /// Reads up to the next blank, comma or closing bracket; never empty.
  Expected<std::string_view> word();
  Expected<std::int64_t> integer();
  Expected<std::uint32_t> unsigned_integer();
  Expected<std::string> string();
  Expected<Type> type(DimTable& dims);
  Expected<DType> dtype();
  /// Reads "f32[2] [1, 2]". Omitted elements become zeros.
  Expected<Tensor> tensor();

  /// invalid_model, with line and column of the last word read.
  [[nodiscard]] Error error(std::string_view text) const;

 private:
  void skip_blanks();
  void advance(std::size_t count);
  Expected<std::string_view> dim_text();
  Expected<Shape> shape();
  Expected<Tensor> elements(DType dtype, const Shape& shape);
  Expected<Tensor> strings(const Shape& shape);
  Expected<Tensor> left_out(DType dtype, const Shape& shape);

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t last_ = 0;       ///< position of the last word
  std::int64_t left_out_ = 0;  ///< elements created without text, so far
};

}  // namespace scanloom::tensor
