#include "base/plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace scanloom {
namespace {

/// The files that exist.
std::vector<std::string> plugin_paths(const PluginFile& file) {
  std::vector<std::string> paths;
  if (const char* path = std::getenv(file.environment)) {
    paths = {path};
  } else if (const std::string self = library_path(); !self.empty()) {
    const std::filesystem::path folder = std::filesystem::path(self).parent_path();
    paths = {(folder / file.name).string(), (folder.parent_path() / "lib" / file.name).string()};
  }
  std::erase_if(paths, [](const std::string& path) {
    std::error_code error;
    return !std::filesystem::exists(path, error);
  });
  return paths;
}

}  // namespace

bool plugin_exists(const PluginFile& file) { return !plugin_paths(file).empty(); }

std::string missing_plugin(const PluginFile& file) {
  return std::string(file.what) + " (" + file.name + ") is not installed";
}

std::string library_path() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&missing_plugin), &self) == 0) return {};
  // The loader keeps the path by which it found the file, such as "bin/../lib/libscanloom.so.0".
  const std::filesystem::path file = self.dli_fname;
  std::error_code problem;
  const std::filesystem::path folder = std::filesystem::canonical(file.parent_path(), problem);
  return (problem ? file : folder / file.filename()).string();
}

LoadedPlugin load_plugin(const PluginFile& file) {
  LoadedPlugin loaded;
  loaded.why_not = missing_plugin(file);
  for (const std::string& path : plugin_paths(file)) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      loaded.why_not = std::string(file.what) + " cannot be loaded: " + dlerror();
      continue;
    }
    const void* const plugin = dlsym(library, file.symbol);
    if (plugin == nullptr || *static_cast<const std::uint32_t*>(plugin) != file.version) {
      loaded.why_not = path + " is not " + file.what + " of this version";
      dlclose(library);
      continue;
    }
    return {.plugin = plugin, .path = path, .why_not = {}};
  }
  return loaded;
}

}  // namespace scanloom
