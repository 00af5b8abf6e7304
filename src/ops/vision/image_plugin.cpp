#include "ops/vision/image_plugin.h"

namespace scanloom::ops {
namespace {

constexpr PluginFile kFile{.name = "libscanloom_images.so",
                           .environment = "SCANLOOM_IMAGES_PLUGIN",
                           .symbol = "scanloom_images_plugin",
                           .what = "the decoder of images",
                           .version = images::kPluginVersion};

}  // namespace

const LoadedPlugin& image_plugin() {
  static const LoadedPlugin loaded = load_plugin(kFile);
  return loaded;
}

Expected<const images::Plugin*> image_decoders() {
  const LoadedPlugin& loaded = image_plugin();
  if (loaded.plugin == nullptr) {
    auto missing = fail(Code::unsupported, "{}", loaded.why_not);
    if (plugin_exists(kFile)) return missing;
    return std::move(missing).note(
        "wheels, Debian packages and archives leave it out; a build from source has it");
  }
  return static_cast<const images::Plugin*>(loaded.plugin);
}

}  // namespace scanloom::ops
