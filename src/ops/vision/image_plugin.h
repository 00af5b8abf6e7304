// Finds and loads the decoders of images on first use.
#pragma once

#include "base/expected.h"
#include "base/plugin.h"
#include "images/interface.h"

namespace scanloom::ops {

/// Error (unsupported): they are not installed. Tries SCANLOOM_IMAGES_PLUGIN first, then the
/// library's folder, then ../lib. Loaded once per process and kept; thread safe.
Expected<const images::Plugin*> image_decoders();

/// The same, with the path of the file.
const LoadedPlugin& image_plugin();

}  // namespace scanloom::ops
