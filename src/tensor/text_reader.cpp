#include "tensor/text_reader.h"

#include <algorithm>
#include <charconv>

#include "tensor/text.h"

namespace scanloom::tensor {
namespace {

// A short text may stand for many omitted elements; this limits how much it can make us allocate.
constexpr std::int64_t kMaxLeftOut = std::int64_t{1} << 26;

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

bool ends_word(char c) {
  return is_blank(c) || c == ',' || c == ']' || c == ')' || c == '}' || c == '>';
}

}  // namespace

void TextReader::skip_blanks() {
  while (at_ < text_.size()) {
    if (is_blank(text_[at_])) {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

void TextReader::advance(std::size_t count) {
  last_ = at_;
  at_ += count;
  skip_blanks();
}

Error TextReader::error(std::string_view text) const {
  const std::string_view before = text_.substr(0, last_);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  return invalid_model("line {}, column {}: {}", line, last_ - line_start + 1, text);
}

bool TextReader::take(char c) {
  if (peek() != c || at_end()) return false;
  advance(1);
  return true;
}

bool TextReader::take_keyword(std::string_view keyword) {
  if (!text_.substr(at_).starts_with(keyword)) return false;
  const std::size_t end = at_ + keyword.size();
  if (end < text_.size() && text::is_name_char(text_[end])) return false;
  advance(keyword.size());
  return true;
}

Expected<void> TextReader::expect(char c) {
  if (take(c)) return {};
  last_ = at_;
  return error(fmt::format("expected '{}'", c));
}

Expected<void> TextReader::expect_keyword(std::string_view keyword) {
  if (take_keyword(keyword)) return {};
  last_ = at_;
  return error(fmt::format("expected '{}'", keyword));
}

Expected<void> TextReader::expect_end() {
  if (at_end()) return {};
  last_ = at_;
  return error("expected the end");
}

bool TextReader::attributes_follow() const {
  TextReader ahead = *this;
  return ahead.take('{') && ahead.name().has_value() && ahead.peek() == '=';
}

Expected<std::string_view> TextReader::name() {
  std::size_t end = at_;
  while (end < text_.size() && text::is_name_char(text_[end])) ++end;
  const std::string_view found = text_.substr(at_, end - at_);
  last_ = at_;
  if (!text::is_name(found)) return error("expected a name");
  advance(found.size());
  return found;
}

Expected<std::string_view> TextReader::word() {
  std::size_t end = at_;
  while (end < text_.size() && !ends_word(text_[end])) ++end;
  const std::string_view found = text_.substr(at_, end - at_);
  last_ = at_;
  if (found.empty()) return error("expected a value");
  advance(found.size());
  return found;
}

Expected<std::int64_t> TextReader::integer() {
  std::int64_t value = 0;
  const char* begin = text_.data() + at_;
  const auto result = std::from_chars(begin, text_.data() + text_.size(), value);
  last_ = at_;
  if (result.ec != std::errc()) return error("expected an integer");
  advance(static_cast<std::size_t>(result.ptr - begin));
  return value;
}

Expected<std::uint32_t> TextReader::unsigned_integer() {
  SCANLOOM_TRY(const std::int64_t value, integer());
  if (value < 0 || value >= 0xffffffff) return error("the number is out of range");
  return static_cast<std::uint32_t>(value);
}

Expected<std::string> TextReader::string() {
  last_ = at_;
  if (peek() != '"') return error("expected a string in double quotes");
  std::size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size()) return error("the string is not terminated");
  auto value = text::unquote(text_.substr(at_ + 1, end - at_ - 1));
  if (!value) return error("the string has a broken escape");
  advance(end + 1 - at_);
  return *std::move(value);
}

Expected<DType> TextReader::dtype() {
  SCANLOOM_TRY(const std::string_view found, name());
  const auto dtype = dtype_from_name(found);
  if (!dtype) return error(fmt::format("unknown element type '{}'", found));
  return *dtype;
}

Expected<Type> TextReader::type(DimTable& dims) {
  Type type;
  std::size_t open = 0;
  while (true) {
    const bool sequence = take_keyword("sequence"), map = !sequence && take_keyword("map");
    if (!sequence && !map && !take_keyword("optional")) break;
    if (++open > Type::kMaxWraps) return error("sequences and optionals are nested too deeply");
    SCANLOOM_CHECK_OK(expect('('));
    if (map) {
      SCANLOOM_TRY(const DType keys, dtype());
      if (keys != DType::i64 && keys != DType::string)
        return error("keys of maps are i64 or string");
      type.wraps.push_back(tensor::map_from(keys));
      SCANLOOM_CHECK_OK(expect(','));
      break;
    }
    type.wraps.push_back(sequence ? Wrap::sequence : Wrap::optional);
  }
  SCANLOOM_TRY(type.dtype, dtype());
  SCANLOOM_CHECK_OK(expect('['));
  type.ranked = !take('*');
  while (type.ranked && peek() != ']') {
    if (!type.dims.empty()) SCANLOOM_CHECK_OK(expect(','));
    SCANLOOM_TRY(const std::string_view text, dim_text());
    const auto dim = dims.parse(text);
    if (!dim) return error(fmt::format("'{}' is not a size", text));
    type.dims.push_back(*dim);
  }
  SCANLOOM_CHECK_OK(expect(']'));
  for (; open > 0; --open) SCANLOOM_CHECK_OK(expect(')'));
  return type;
}

/// The text up to the comma or bracket that ends it, outside parentheses and quotes.
Expected<std::string_view> TextReader::dim_text() {
  int depth = 0;
  bool quoted = false;
  std::size_t end = at_;
  for (; end < text_.size(); ++end) {
    const char c = text_[end];
    if (quoted && c == '\\') {
      ++end;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      if (depth == 0 && (c == ',' || c == ']' || is_blank(c))) break;
      depth += (c == '(') - (c == ')');
    }
  }
  const std::string_view found = text_.substr(at_, std::min(end, text_.size()) - at_);
  last_ = at_;
  if (found.empty()) return error("expected a size");
  advance(found.size());
  return found;
}

Expected<Shape> TextReader::shape() {
  Shape shape;
  SCANLOOM_CHECK_OK(expect('['));
  while (peek() != ']') {
    if (shape.rank() > 0) SCANLOOM_CHECK_OK(expect(','));
    if (shape.rank() == kMaxRank) return error("the tensor has too many axes");
    SCANLOOM_TRY(const std::int64_t size, integer());
    shape.push_back(size);
  }
  SCANLOOM_CHECK_OK(expect(']'));
  if (!shape.checked_elements()) return error("the tensor has a negative size, or is too large");
  return shape;
}

Expected<Tensor> TextReader::tensor() {
  SCANLOOM_TRY(const DType type, dtype());
  SCANLOOM_TRY(const Shape sizes, shape());
  if (take('<')) return left_out(type, sizes);
  SCANLOOM_CHECK_OK(expect('['));
  auto result = type == DType::string ? strings(sizes) : elements(type, sizes);
  if (result) SCANLOOM_CHECK_OK(expect(']'));
  return result;
}

Expected<Tensor> TextReader::elements(DType dtype, const Shape& shape) {
  const std::size_t width = dtype_bytes(dtype);
  std::vector<std::byte> bytes;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    if (i > 0) SCANLOOM_CHECK_OK(expect(','));
    SCANLOOM_TRY(const std::string_view text, word());
    bytes.resize(bytes.size() + width);
    if (!text::read_element(text, dtype, bytes.data() + bytes.size() - width))
      return error(fmt::format("'{}' is not a valid {}", text, dtype_name(dtype)));
  }
  return Tensor::copy_of(dtype, shape, bytes.data());
}

Expected<Tensor> TextReader::strings(const Shape& shape) {
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    if (i > 0) SCANLOOM_CHECK_OK(expect(','));
    SCANLOOM_TRY(std::string value, string());
    values.push_back(std::move(value));
  }
  return Tensor::of_strings(shape, values);
}

Expected<Tensor> TextReader::left_out(DType dtype, const Shape& shape) {
  SCANLOOM_TRY(const std::int64_t count, integer());
  if (count != shape.elements()) return error("the number of elements does not match the sizes");
  left_out_ += count;
  if (left_out_ > kMaxLeftOut) return error("the text omits too many elements");
  SCANLOOM_CHECK_OK(expect_keyword("elements"));
  SCANLOOM_CHECK_OK(expect('>'));
  return Tensor::zeros(dtype, shape);
}

}  // namespace scanloom::tensor
