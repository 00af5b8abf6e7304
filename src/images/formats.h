// The formats that plugin.cpp tells apart. A decoder is given a file that begins as its format
// does, and everything else in it may be wrong.
#pragma once

#include "images/interface.h"

namespace scanloom::images {

using File = std::span<const std::byte>;

/// Limit on rows and columns, of every format.
inline constexpr std::int64_t kMaxSide = 65535;

Outcome decode_bmp(File file, PixelMemory memory);
Outcome decode_jpeg(File file, PixelMemory memory);
Outcome decode_jpeg2000(File file, PixelMemory memory);
Outcome decode_png(File file, PixelMemory memory);
Outcome decode_pnm(File file, PixelMemory memory);
Outcome decode_tiff(File file, PixelMemory memory);
Outcome decode_webp(File file, PixelMemory memory);

}  // namespace scanloom::images
