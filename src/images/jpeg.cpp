// JPEG, by libjpeg-turbo, with its default transform and smooth upsampling of colours.
#include <csetjmp>
#include <cstdio>

#include "images/formats.h"

#ifdef SCANLOOM_WITH_JPEG

#include <jpeglib.h>

namespace scanloom::images {
namespace {

struct Failure {
  jpeg_error_mgr base;  // first: libjpeg knows this part
  std::jmp_buf back;
};

void leave(j_common_ptr jpeg) { std::longjmp(reinterpret_cast<Failure*>(jpeg->err)->back, 1); }
void say_nothing(j_common_ptr /*jpeg*/) {}
/// Counts warnings: a file that is damaged or too short only causes one.
void count_warning(j_common_ptr jpeg, int level) {
  if (level < 0) ++jpeg->err->num_warnings;
}

/// libjpeg leaves a failing call by longjmp, so nothing with a destructor may be made in between.
bool read_header(jpeg_decompress_struct& jpeg, Failure& failure, File file) {
  if (setjmp(failure.back) != 0) return false;
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&jpeg, TRUE);
  // Four colours are inks, which no format without them stands for exactly.
  if (jpeg.num_components != 1 && jpeg.num_components != 3) return false;
  jpeg.out_color_space = JCS_RGB;
  return true;
}

bool read_rows(jpeg_decompress_struct& jpeg, Failure& failure, std::uint8_t* pixels) {
  if (setjmp(failure.back) != 0) return false;
  jpeg_start_decompress(&jpeg);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = pixels + std::size_t{3} * jpeg.output_scanline * jpeg.output_width;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return jpeg.err->num_warnings == 0;
}

Outcome read_image(jpeg_decompress_struct& jpeg, Failure& failure, File file, PixelMemory memory) {
  if (!read_header(jpeg, failure, file)) return Outcome::invalid;
  std::uint8_t* const pixels = memory(jpeg.image_height, jpeg.image_width);
  if (pixels == nullptr) return Outcome::stopped;
  return read_rows(jpeg, failure, pixels) ? Outcome::decoded : Outcome::invalid;
}

}  // namespace

Outcome decode_jpeg(File file, PixelMemory memory) {
  jpeg_decompress_struct jpeg{};
  Failure failure{};
  jpeg.err = jpeg_std_error(&failure.base);
  failure.base.error_exit = leave;
  failure.base.output_message = say_nothing;
  failure.base.emit_message = count_warning;
  const Outcome outcome = read_image(jpeg, failure, file, memory);
  jpeg_destroy_decompress(&jpeg);
  return outcome;
}

}  // namespace scanloom::images

#else

namespace scanloom::images {
Outcome decode_jpeg(File /*file*/, PixelMemory /*memory*/) { return Outcome::unsupported; }
}  // namespace scanloom::images

#endif
