// WebP, by libwebp; transparency is dropped.
#include "images/formats.h"

#ifdef SCANLOOM_WITH_WEBP

#include <webp/decode.h>

namespace scanloom::images {

Outcome decode_webp(File file, PixelMemory memory) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(file.data());
  int width = 0, height = 0;
  if (WebPGetInfo(bytes, file.size(), &width, &height) == 0) return Outcome::invalid;
  std::uint8_t* const pixels = memory(height, width);
  if (pixels == nullptr) return Outcome::stopped;
  const auto size = static_cast<std::size_t>(height) * static_cast<std::size_t>(width) * 3;
  const bool read = WebPDecodeRGBInto(bytes, file.size(), pixels, size, width * 3) != nullptr;
  return read ? Outcome::decoded : Outcome::invalid;
}

}  // namespace scanloom::images

#else

namespace scanloom::images {
Outcome decode_webp(File /*file*/, PixelMemory /*memory*/) { return Outcome::unsupported; }
}  // namespace scanloom::images

#endif
