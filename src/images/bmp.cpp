// Windows bitmaps without compression: with a palette of 1, 4 or 8 bits, or with 24 or 32 bits per
// pixel. No library of Debian's reads them alone.
#include <cstdlib>
#include <optional>

#include "images/formats.h"

namespace scanloom::images {
namespace {

struct BmpHeader {
  std::uint64_t pixels = 0, palette = 0;  ///< where they begin
  std::uint64_t entry = 4;                ///< bytes of a colour of the palette
  std::int64_t width = 0, height = 0;
  bool from_top = false;
  int bits = 0;
};

class BmpBytes {
 public:
  explicit BmpBytes(File file) : file_(file) {}
  [[nodiscard]] std::uint64_t size() const { return file_.size(); }
  /// 0 beyond the end.
  [[nodiscard]] std::uint32_t byte(std::uint64_t at) const {
    return at < file_.size() ? std::to_integer<std::uint32_t>(file_[at]) : 0;
  }
  [[nodiscard]] std::uint32_t two(std::uint64_t at) const { return byte(at) | byte(at + 1) << 8; }
  [[nodiscard]] std::uint32_t four(std::uint64_t at) const { return two(at) | two(at + 2) << 16; }

 private:
  File file_;
};

std::optional<BmpHeader> read_header(const BmpBytes& file) {
  constexpr std::uint64_t kFileHeader = 14;
  constexpr std::uint32_t kOldHeader = 12, kHeader = 40;
  const std::uint32_t size = file.four(kFileHeader);
  BmpHeader header{.pixels = file.four(10), .palette = kFileHeader + size};
  std::uint32_t planes = 0, compression = 0;
  if (size == kOldHeader) {
    header.width = file.two(18);
    header.height = file.two(20);
    planes = file.two(22);
    header.bits = static_cast<int>(file.two(24));
    header.entry = 3;
  } else if (size >= kHeader && size <= 124) {
    header.width = static_cast<std::int32_t>(file.four(18));
    header.height = static_cast<std::int32_t>(file.four(22));
    planes = file.two(26);
    header.bits = static_cast<int>(file.two(28));
    compression = file.four(30);
  }
  header.from_top = header.height < 0;
  header.height = std::abs(header.height);
  const bool known = header.bits == 1 || header.bits == 4 || header.bits == 8 ||
                     header.bits == 24 || header.bits == 32;
  if (!known || planes != 1 || compression != 0 || header.width < 1 || header.height < 1 ||
      header.width > kMaxSide || header.height > kMaxSide)
    return std::nullopt;
  return header;
}

void read_pixel(const BmpBytes& file, const BmpHeader& header, std::uint64_t row, std::int64_t x,
                std::uint8_t* to) {
  std::uint64_t colour = row + static_cast<std::uint64_t>(x * header.bits / 8);
  if (header.bits <= 8) {
    const auto shift = static_cast<std::uint32_t>(8 - header.bits - x * header.bits % 8);
    const std::uint32_t index = file.byte(colour) >> shift & ((1U << header.bits) - 1);
    colour = header.palette + index * header.entry;
  }
  for (int i = 0; i < 3; ++i)  // blue comes first
    to[2 - i] = static_cast<std::uint8_t>(file.byte(colour + static_cast<std::uint64_t>(i)));
}

}  // namespace

Outcome decode_bmp(File bytes, PixelMemory memory) {
  const BmpBytes file(bytes);
  const auto header = read_header(file);
  if (!header) return Outcome::invalid;
  const auto line = static_cast<std::uint64_t>((header->width * header->bits + 31) / 32 * 4);
  if (header->pixels + line * static_cast<std::uint64_t>(header->height) > file.size())
    return Outcome::invalid;
  std::uint8_t* const pixels = memory(header->height, header->width);
  if (pixels == nullptr) return Outcome::stopped;
  for (std::int64_t y = 0; y < header->height; ++y) {
    const std::int64_t from = header->from_top ? y : header->height - 1 - y;
    const std::uint64_t row = header->pixels + line * static_cast<std::uint64_t>(from);
    for (std::int64_t x = 0; x < header->width; ++x)
      read_pixel(file, *header, row, x, pixels + 3 * (y * header->width + x));
  }
  return Outcome::decoded;
}

}  // namespace scanloom::images
