// What libscanloom_images.so offers: decoding image files, by the libraries that are made for it.
// The library loads it when a model first needs it, so that programs without such a model never
// load those libraries, and a build without them is complete otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/function_ref.h"

namespace scanloom::images {

enum class Outcome : std::uint8_t {
  decoded,
  invalid,      ///< not an image of a known format, or a damaged one
  unsupported,  ///< of a format whose library this build does not have
  stopped,      ///< the caller gave no memory
};

/// Returns memory for height x width x 3 bytes, red, green and blue; null ends the decoding. Called
/// at most once, before anything of that size is allocated.
using PixelMemory = FunctionRef<std::uint8_t*(std::int64_t height, std::int64_t width)>;

struct Decoded {
  Outcome outcome = Outcome::invalid;
  std::string_view format = {};  ///< "PNG"; empty if it is none of the known ones
};

inline constexpr std::uint32_t kPluginVersion = 2;

/// The symbol `scanloom_images_plugin`. Its functions are thread safe and throw nothing but
/// std::bad_alloc.
struct Plugin {
  std::uint32_t version = kPluginVersion;
  Decoded (*decode)(std::span<const std::byte> file, PixelMemory memory) = nullptr;
  std::span<const std::string_view> formats = {};  ///< that this build decodes
};

}  // namespace scanloom::images
