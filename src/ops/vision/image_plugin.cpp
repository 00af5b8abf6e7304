#include "ops/vision/image_plugin.h"

namespace scanloom::ops {

const LoadedPlugin& image_plugin() {
  constexpr PluginFile kFile{.name = "libscanloom_images.so",
                             .environment = "SCANLOOM_IMAGES_PLUGIN",
                             .symbol = "scanloom_images_plugin",
                             .what = "the decoder of images",
                             .version = images::kPluginVersion};
  static const LoadedPlugin loaded = load_plugin(kFile);
  return loaded;
}

Expected<const images::Plugin*> image_decoders() {
  const LoadedPlugin& loaded = image_plugin();
  if (loaded.plugin == nullptr) return fail(Code::unsupported, "{}", loaded.why_not);
  return static_cast<const images::Plugin*>(loaded.plugin);
}

}  // namespace scanloom::ops
