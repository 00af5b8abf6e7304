#include "npy_text.h"

#include <algorithm>

#include "element.h"
#include "failure.h"
#include "parse_number.h"
#include "utf8.h"

namespace scanloom::cli {
namespace {

constexpr std::size_t kLetterBytes = 4;
constexpr std::size_t kMaxLetters = std::size_t{1} << 28;
constexpr std::size_t kMaxBytes = std::size_t{1} << 31;

char32_t letter_at(std::string_view data, std::size_t i) {
  char32_t code = 0;
  for (std::size_t byte = kLetterBytes; byte-- > 0;)
    code = code << 8 | static_cast<unsigned char>(data[kLetterBytes * i + byte]);
  return code;
}

std::string text_of(std::string_view data, const std::string& name) {
  std::size_t letters = data.size() / kLetterBytes;
  while (letters > 0 && letter_at(data, letters - 1) == 0) --letters;
  std::string text;
  for (std::size_t i = 0; i < letters; ++i) {
    const char32_t code = letter_at(data, i);
    if (!is_letter(code)) fail(Code::invalid_argument, name + ": it contains invalid Unicode");
    append_letter(text, code);
  }
  return text;
}

std::string_view text_at(const View& tensor, std::int64_t i) {
  return reinterpret_cast<const StringRef*>(element_at(tensor, i))->view();
}

/// Returns the number of letters of the text, which must survive a round trip.
std::size_t count_letters(std::string_view text) {
  std::size_t letters = 0;
  for (std::string_view rest = text; !rest.empty(); ++letters) {
    const Letter letter = first_letter(rest);
    if (!letter.valid)
      fail(Code::unsupported, "a string that is not UTF-8 cannot be written to a NumPy file");
    rest.remove_prefix(letter.bytes);
  }
  if (text.ends_with('\0'))
    fail(Code::unsupported, "a string that ends in a zero byte cannot be written to a NumPy file");
  return letters;
}

}  // namespace

std::size_t letters_of(std::string_view descr) {
  if (!descr.starts_with('U')) return 0;
  const auto letters = parse_number<std::uint64_t>(descr.substr(1));
  return letters && *letters <= kMaxLetters ? static_cast<std::size_t>(*letters) : 0;
}

View parse_texts(std::string_view data, std::size_t letters, std::vector<std::int64_t> shape,
                 const std::string& name) {
  const auto count = static_cast<std::size_t>(count_elements(shape).value_or(-1));
  const std::size_t width = kLetterBytes * letters;
  if (count > data.size() / width)
    fail(Code::invalid_argument, name + ": it holds " + std::to_string(data.size()) +
                                     " bytes of data, " + type_text(DType::string, shape) +
                                     " needs more");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i)
    texts.push_back(text_of(data.substr(i * width, width), name));
  return strings(texts, std::move(shape));
}

FormattedTexts format_texts(const View& tensor) {
  const std::int64_t count = count_elements(tensor.shape).value_or(0);
  std::size_t letters = 1;
  for (std::int64_t i = 0; i < count; ++i)
    letters = std::max(letters, count_letters(text_at(tensor, i)));
  if (static_cast<std::size_t>(count) > kMaxBytes / kLetterBytes / letters)
    fail(Code::unsupported, std::to_string(count) + " strings of up to " + std::to_string(letters) +
                                " characters need more than 2 GiB in a NumPy file");
  FormattedTexts formatted{"<U" + std::to_string(letters), {}};
  formatted.data.reserve(static_cast<std::size_t>(count) * letters * kLetterBytes);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::string_view rest = text_at(tensor, i); !rest.empty();) {
      const Letter letter = first_letter(rest);
      for (std::size_t byte = 0; byte < kLetterBytes; ++byte)
        formatted.data += static_cast<char>(letter.code >> (8 * byte) & 0xff);
      rest.remove_prefix(letter.bytes);
    }
    formatted.data.resize(static_cast<std::size_t>(i + 1) * letters * kLetterBytes, '\0');
  }
  return formatted;
}

}  // namespace scanloom::cli
