#include <array>
#include <string_view>

#include <scanloom/api.h>

#include "images/formats.h"

namespace scanloom::images {
namespace {

struct Format {
  std::string_view name;
  bool (*begins)(std::string_view bytes);
  Outcome (*decode)(File file, PixelMemory memory);
};

constexpr std::string_view kPng("\x89PNG\r\n\x1a\n", 8);
constexpr std::string_view kJpeg("\xff\xd8\xff", 3);
constexpr std::string_view kLittleTiff("II*\0", 4), kBigTiff("MM\0*", 4);
constexpr std::string_view kJp2("\0\0\0\x0cjP  \r\n\x87\n", 12);
constexpr std::string_view kCodestream("\xff\x4f\xff\x51", 4);

bool is_png(std::string_view bytes) { return bytes.starts_with(kPng); }
bool is_jpeg(std::string_view bytes) { return bytes.starts_with(kJpeg); }
bool is_jpeg2000(std::string_view bytes) {
  return bytes.starts_with(kJp2) || bytes.starts_with(kCodestream);
}
bool is_tiff(std::string_view bytes) {
  return bytes.starts_with(kLittleTiff) || bytes.starts_with(kBigTiff);
}
bool is_webp(std::string_view bytes) {
  return bytes.size() >= 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP";
}
bool is_bmp(std::string_view bytes) { return bytes.starts_with("BM"); }
bool is_pnm(std::string_view bytes) {
  return bytes.size() >= 3 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6';
}

constexpr std::array kFormats = {
    Format{"PNG", is_png, decode_png},
    Format{"JPEG", is_jpeg, decode_jpeg},
    Format{"JPEG 2000", is_jpeg2000, decode_jpeg2000},
    Format{"TIFF", is_tiff, decode_tiff},
    Format{"WebP", is_webp, decode_webp},
    Format{"BMP", is_bmp, decode_bmp},
    Format{"PNM", is_pnm, decode_pnm},
};

constexpr std::string_view kIncluded[] = {
#ifdef SCANLOOM_WITH_PNG
    "PNG",
#endif
#ifdef SCANLOOM_WITH_JPEG
    "JPEG",
#endif
#ifdef SCANLOOM_WITH_OPENJPEG
    "JPEG 2000",
#endif
#ifdef SCANLOOM_WITH_TIFF
    "TIFF",
#endif
#ifdef SCANLOOM_WITH_WEBP
    "WebP",
#endif
    "BMP",       "PNM",
};

Decoded decode(File file, PixelMemory memory) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  for (const Format& format : kFormats)
    if (format.begins(bytes)) return {format.decode(file, memory), format.name};
  return {};
}

}  // namespace
}  // namespace scanloom::images

extern "C" SCANLOOM_API const scanloom::images::Plugin scanloom_images_plugin;
const scanloom::images::Plugin scanloom_images_plugin{
    scanloom::images::kPluginVersion, scanloom::images::decode, scanloom::images::kIncluded};
