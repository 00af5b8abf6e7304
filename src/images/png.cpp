// PNG, by libpng: as 8-bit red, green and blue; transparency is dropped, 16 bits keep the high
// ones.
#include <csetjmp>
#include <cstring>
#include <vector>

#include "images/formats.h"

#ifdef SCANLOOM_WITH_PNG

#include <png.h>

namespace scanloom::images {
namespace {

struct Reader {
  File left;
};

void read_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto& reader = *static_cast<Reader*>(png_get_io_ptr(png));
  if (count > reader.left.size()) png_error(png, "the file is too short");
  std::memcpy(to, reader.left.data(), count);
  reader.left = reader.left.subspan(count);
}

void leave(png_structp png, png_const_charp /*text*/) { png_longjmp(png, 1); }
void say_nothing(png_structp /*png*/, png_const_charp /*text*/) {}

/// libpng leaves a failing call by longjmp, so nothing with a destructor may be made in between.
bool read_header(png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_user_limits(png, static_cast<png_uint_32>(kMaxSide), static_cast<png_uint_32>(kMaxSide));
  png_read_info(png, info);
  png_set_expand(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return png_get_rowbytes(png, info) == std::size_t{3} * png_get_image_width(png, info);
}

bool read_rows(png_structp png, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_image(png, rows);
  return true;
}

Outcome read_image(png_structp png, png_infop info, PixelMemory memory) {
  if (!read_header(png, info)) return Outcome::invalid;
  const std::int64_t height = png_get_image_height(png, info);
  const std::int64_t width = png_get_image_width(png, info);
  std::uint8_t* const pixels = memory(height, width);
  if (pixels == nullptr) return Outcome::stopped;
  std::vector<png_bytep> rows;
  for (std::int64_t row = 0; row < height; ++row) rows.push_back(pixels + row * width * 3);
  return read_rows(png, rows.data()) ? Outcome::decoded : Outcome::invalid;
}

}  // namespace

Outcome decode_png(File file, PixelMemory memory) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, leave, say_nothing);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  Reader reader{file};
  Outcome outcome = Outcome::invalid;
  if (info != nullptr) {
    png_set_read_fn(png, &reader, read_bytes);
    outcome = read_image(png, info, memory);
  }
  png_destroy_read_struct(&png, &info, nullptr);
  return outcome;
}

}  // namespace scanloom::images

#else

namespace scanloom::images {
Outcome decode_png(File /*file*/, PixelMemory /*memory*/) { return Outcome::unsupported; }
}  // namespace scanloom::images

#endif
