// Parses the text form of dims.
#include <charconv>

#include "tensor/dim.h"
#include "tensor/text.h"

namespace scanloom::tensor {
namespace {

constexpr int kMaxDepth = 64;

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Recursive descent; recurses only on brackets, at most kMaxDepth deep.
class Reader {
 public:
  Reader(DimTable& dims, std::string_view text) : dims_(dims), text_(text) {}

  std::optional<Dim> sum() {
    bool negative = take('-');
    std::optional<Dim> result = 0;
    do {
      const auto next = product();
      if (!next) return std::nullopt;
      result = negative ? dims_.sub(*result, *next) : dims_.add(*result, *next);
      negative = peek() == '-';
    } while (take('+') || take('-'));
    return result;
  }
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }

 private:
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  std::optional<Dim> product() {
    auto result = atom();
    while (result && take('*')) {
      const auto next = atom();
      if (!next) return std::nullopt;
      result = dims_.mul(*result, *next);
    }
    return result;
  }

  std::optional<std::int64_t> number() {
    std::int64_t value = 0;
    const char* first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
    if (error != std::errc{} || end == first) return std::nullopt;
    at_ += static_cast<std::size_t>(end - first);
    return value;
  }

  std::optional<Dim> atom() {
    if (is_digit(peek())) {
      const auto value = number();
      return value ? std::optional(Dim(*value)) : std::nullopt;
    }
    if (take('?')) {
      if (!is_digit(peek())) return std::nullopt;
      const auto value = number();
      if (!value || *value >= 0xffffffff) return std::nullopt;
      return dims_.fresh_numbered(static_cast<std::uint32_t>(*value));
    }
    if (take('"')) return quoted();
    if (!starts_name(peek())) return std::nullopt;
    const std::size_t first = at_;
    while (starts_name(peek()) || is_digit(peek()) || peek() == '.') ++at_;
    const std::string_view name = text_.substr(first, at_ - first);
    return take('(') ? call(name) : dims_.symbol(name);
  }

  std::optional<Dim> quoted() {
    const std::size_t first = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return std::nullopt;
    const auto name = text::unquote(text_.substr(first, at_ - first));
    if (!name || !take('"')) return std::nullopt;
    return dims_.symbol(*name);
  }

  std::optional<Dim> call(std::string_view name) {
    if (++depth_ > kMaxDepth) return std::nullopt;
    const auto a = sum();
    if (!a || !take(',')) return std::nullopt;
    const auto b = sum();
    if (!b || !take(')')) return std::nullopt;
    --depth_;
    if (name == "floor_div") return dims_.floor_div(*a, *b);
    if (name == "min") return dims_.min(*a, *b);
    if (name == "max") return dims_.max(*a, *b);
    return std::nullopt;
  }

  DimTable& dims_;
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<Dim> DimTable::parse(std::string_view text) {
  Reader reader(*this, text);
  const auto dim = reader.sum();
  return dim && reader.at_end() ? dim : std::nullopt;
}

}  // namespace scanloom::tensor
