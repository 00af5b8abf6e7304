// TIFF, by libtiff: the first image, as 8-bit red, green and blue.
#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "images/formats.h"

#ifdef SCANLOOM_WITH_TIFF

#include <tiffio.h>

namespace scanloom::images {
namespace {

/// The file as libtiff reads it.
struct Stream {
  File file;
  std::uint64_t at = 0;
};

tmsize_t read_stream(thandle_t handle, void* to, tmsize_t count) {
  auto& stream = *static_cast<Stream*>(handle);
  const std::uint64_t left =
      stream.file.size() - std::min<std::uint64_t>(stream.at, stream.file.size());
  const auto taken = std::min(left, static_cast<std::uint64_t>(std::max<tmsize_t>(count, 0)));
  if (taken > 0) std::memcpy(to, stream.file.data() + stream.at, taken);
  stream.at += taken;
  return static_cast<tmsize_t>(taken);
}
tmsize_t write_nothing(thandle_t /*handle*/, void* /*from*/, tmsize_t /*count*/) { return -1; }
toff_t seek_stream(thandle_t handle, toff_t offset, int from) {
  auto& stream = *static_cast<Stream*>(handle);
  if (from == SEEK_CUR) offset += stream.at;
  if (from == SEEK_END) offset += stream.file.size();
  return stream.at = offset;
}
int close_nothing(thandle_t /*handle*/) { return 0; }
toff_t size_of_stream(thandle_t handle) { return static_cast<Stream*>(handle)->file.size(); }

Outcome read_image(TIFF* tiff, PixelMemory memory) {
  char why[1024];
  std::uint32_t width = 0, height = 0;
  if (TIFFRGBAImageOK(tiff, why) == 0 || TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width) != 1 ||
      TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height) != 1 || width > kMaxSide ||
      height > kMaxSide)
    return Outcome::invalid;
  std::uint8_t* const pixels = memory(height, width);
  if (pixels == nullptr) return Outcome::stopped;
  std::vector<std::uint32_t> raster(std::size_t{width} * height);
  if (TIFFReadRGBAImageOriented(tiff, width, height, raster.data(), ORIENTATION_TOPLEFT, 1) == 0)
    return Outcome::invalid;
  std::uint8_t* to = pixels;
  for (const std::uint32_t pixel : raster) {
    *to++ = TIFFGetR(pixel);
    *to++ = TIFFGetG(pixel);
    *to++ = TIFFGetB(pixel);
  }
  return Outcome::decoded;
}

}  // namespace

Outcome decode_tiff(File file, PixelMemory memory) {
  // The handlers belong to the process; other users of libtiff are not disturbed by silence.
  TIFFSetErrorHandler(nullptr);
  TIFFSetWarningHandler(nullptr);
  Stream stream{file};
  TIFF* const tiff = TIFFClientOpen("image", "rm", &stream, read_stream, write_nothing, seek_stream,
                                    close_nothing, size_of_stream, nullptr, nullptr);
  if (tiff == nullptr) return Outcome::invalid;
  Outcome outcome = Outcome::stopped;
  try {
    outcome = read_image(tiff, memory);
  } catch (const std::bad_alloc&) {
    TIFFClose(tiff);
    throw;
  }
  TIFFClose(tiff);
  return outcome;
}

}  // namespace scanloom::images

#else

namespace scanloom::images {
Outcome decode_tiff(File /*file*/, PixelMemory /*memory*/) { return Outcome::unsupported; }
}  // namespace scanloom::images

#endif
