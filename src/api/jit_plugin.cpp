#include "api/jit_plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "jit/interface.h"

namespace scanloom {
namespace {

constexpr const char* kFileName = "libscanloom_jit.so";

struct LoadedPlugin {
  const jit::Plugin* plugin = nullptr;
  std::string why_not;
};

std::vector<std::string> search_paths() {
  if (const char* path = std::getenv("SCANLOOM_JIT_PLUGIN")) return {path};
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&search_paths), &self) == 0) return {};
  const std::filesystem::path folder = std::filesystem::path(self.dli_fname).parent_path();
  return {(folder / kFileName).string(), (folder / ".." / "lib" / kFileName).string()};
}

LoadedPlugin load_plugin() {
  LoadedPlugin loaded;
  loaded.why_not = "the loop compiler (" + std::string(kFileName) + ") is not installed";
  for (const std::string& path : search_paths()) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      loaded.why_not = std::string("the loop compiler cannot be loaded: ") + dlerror();
      continue;
    }
    const auto* plugin = static_cast<const jit::Plugin*>(dlsym(library, "scanloom_jit_plugin"));
    if (plugin == nullptr || plugin->version != jit::kPluginVersion) {
      loaded.why_not = path + " is not the loop compiler of this version";
      dlclose(library);
      continue;
    }
    loaded.plugin = plugin;
    return loaded;
  }
  return loaded;
}

Expected<const jit::Plugin*> loaded_plugin() {
  static const LoadedPlugin loaded = load_plugin();
  if (loaded.plugin == nullptr) return fail(Code::unsupported, "{}", loaded.why_not);
  return loaded.plugin;
}

Expected<jit::CompiledLoop> compile(const jit::LoopSource& source) {
  SCANLOOM_TRY(const jit::Plugin* const plugin, loaded_plugin());
  return plugin->compile(source);
}

Expected<jit::CompiledBody> compile_body(const loopnest::BodySource& source) {
  SCANLOOM_TRY(const jit::Plugin* const plugin, loaded_plugin());
  return plugin->compile_body(source);
}

Expected<void> check(const tensor::ScalarProgram& program) {
  SCANLOOM_TRY(const jit::Plugin* const plugin, loaded_plugin());
  return plugin->check(program);
}

void prepare() {
  if (const auto plugin = loaded_plugin()) (*plugin)->prepare();
}

/// The plug-in is not loaded until a loop needs it: loading LLVM costs more than most runs.
constexpr jit::Plugin kLoadedAtFirstUse{jit::kPluginVersion, compile, compile_body, check, prepare};

}  // namespace

const jit::Plugin* jit_compiler(std::string& why_not) {
  for (const std::string& path : search_paths()) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) return &kLoadedAtFirstUse;
  }
  why_not = "the loop compiler (" + std::string(kFileName) + ") is not installed";
  return nullptr;
}

}  // namespace scanloom
