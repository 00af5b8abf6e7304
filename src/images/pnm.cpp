// Portable bitmaps, graymaps and pixmaps, as text (P1 to P3) or bytes (P4 to P6). Their library
// ends the process where a file is wrong, and the format is a few numbers.
#include <optional>
#include <string_view>

#include "images/formats.h"

namespace scanloom::images {
namespace {

constexpr int kMaxValue = 65535;

/// Reads numbers in decimal, between blanks and comments.
class PnmText {
 public:
  explicit PnmText(File file) : bytes_(reinterpret_cast<const char*>(file.data()), file.size()) {}

  [[nodiscard]] std::optional<int> number(int most) {
    skip_blanks();
    if (at_ == bytes_.size() || !is_digit(bytes_[at_])) return std::nullopt;
    int value = 0;
    for (; at_ < bytes_.size() && is_digit(bytes_[at_]); ++at_) {
      value = 10 * value + (bytes_[at_] - '0');
      if (value > most) return std::nullopt;
    }
    return value;
  }
  /// One digit, which need not have blanks around it.
  [[nodiscard]] std::optional<int> bit() {
    skip_blanks();
    if (at_ == bytes_.size() || (bytes_[at_] != '0' && bytes_[at_] != '1')) return std::nullopt;
    return bytes_[at_++] - '0';
  }
  /// What follows the one blank after the header.
  [[nodiscard]] std::string_view rest() {
    return at_ < bytes_.size() ? bytes_.substr(at_ + 1) : std::string_view();
  }
  void skip(std::size_t count) { at_ += count; }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  void skip_blanks() {
    for (bool comment = false; at_ < bytes_.size(); ++at_) {
      if (bytes_[at_] == '#') comment = true;
      if (bytes_[at_] == '\n') comment = false;
      if (!comment && !is_blank(bytes_[at_])) return;
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

struct PnmHeader {
  int kind = 0;  ///< 1 to 6
  std::int64_t width = 0, height = 0;
  int most = 1;

  [[nodiscard]] bool is_text() const { return kind <= 3; }
  [[nodiscard]] bool is_bitmap() const { return kind == 1 || kind == 4; }
  [[nodiscard]] int colours() const { return kind == 3 || kind == 6 ? 3 : 1; }
};

std::optional<PnmHeader> read_header(PnmText& text, int kind) {
  PnmHeader header{.kind = kind};
  const auto width = text.number(static_cast<int>(kMaxSide));
  const auto height = text.number(static_cast<int>(kMaxSide));
  const auto most = header.is_bitmap() ? std::optional(1) : text.number(kMaxValue);
  if (!width || !height || !most || *width == 0 || *height == 0 || *most == 0) return std::nullopt;
  header.width = *width;
  header.height = *height;
  header.most = *most;
  return header;
}

std::uint8_t scaled(int value, int most) {
  return static_cast<std::uint8_t>((255 * value + most / 2) / most);
}

/// Reads all values, row by row, and hands each to `put`; false if there are too few.
template <class Put>
bool read_text(PnmText& text, const PnmHeader& header, const Put& put) {
  for (std::int64_t i = 0; i < header.height * header.width * header.colours(); ++i) {
    const auto value = header.is_bitmap() ? text.bit() : text.number(header.most);
    if (!value) return false;
    put(i, header.is_bitmap() ? 1 - *value : *value);
  }
  return true;
}

template <class Put>
bool read_bits(std::string_view bytes, const PnmHeader& header, const Put& put) {
  const std::int64_t row_bytes = (header.width + 7) / 8;
  if (static_cast<std::int64_t>(bytes.size()) < row_bytes * header.height) return false;
  for (std::int64_t row = 0; row < header.height; ++row)
    for (std::int64_t i = 0; i < header.width; ++i) {
      const auto byte =
          static_cast<unsigned char>(bytes[static_cast<std::size_t>(row * row_bytes + i / 8)]);
      put(row * header.width + i, 1 - (byte >> (7 - i % 8) & 1));
    }
  return true;
}

template <class Put>
bool read_values(std::string_view bytes, const PnmHeader& header, const Put& put) {
  const std::int64_t count = header.height * header.width * header.colours();
  const std::int64_t width = header.most > 255 ? 2 : 1;
  if (static_cast<std::int64_t>(bytes.size()) < width * count) return false;
  const auto byte = [&](std::int64_t i) {
    return int{static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)])};
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const int value = width == 1 ? byte(i) : byte(2 * i) << 8 | byte(2 * i + 1);
    if (value > header.most) return false;
    put(i, value);
  }
  return true;
}

}  // namespace

Outcome decode_pnm(File file, PixelMemory memory) {
  PnmText text(file);
  text.skip(2);
  const auto header = read_header(text, static_cast<int>(file[1]) - '0');
  if (!header) return Outcome::invalid;
  // Text takes at least one byte for each value, so a small file cannot ask for a large image.
  const std::int64_t values = header->height * header->width * header->colours();
  if (values / 8 > static_cast<std::int64_t>(file.size())) return Outcome::invalid;
  std::uint8_t* const pixels = memory(header->height, header->width);
  if (pixels == nullptr) return Outcome::stopped;
  const auto put = [&](std::int64_t i, int value) {
    const std::uint8_t colour = scaled(value, header->most);
    if (header->colours() == 3)
      pixels[i] = colour;
    else
      pixels[3 * i] = pixels[3 * i + 1] = pixels[3 * i + 2] = colour;
  };
  const bool read = header->is_text()     ? read_text(text, *header, put)
                    : header->is_bitmap() ? read_bits(text.rest(), *header, put)
                                          : read_values(text.rest(), *header, put);
  return read ? Outcome::decoded : Outcome::invalid;
}

}  // namespace scanloom::images
