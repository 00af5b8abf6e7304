#include "api/jit_plugin.h"

#include "base/plugin.h"
#include "jit/interface.h"

namespace scanloom {
namespace {

constexpr PluginFile kFile{.name = "libscanloom_jit.so",
                           .environment = "SCANLOOM_JIT_PLUGIN",
                           .symbol = "scanloom_jit_plugin",
                           .what = "the loop compiler",
                           .version = jit::kPluginVersion};

const LoadedPlugin& loaded_file() {
  static const LoadedPlugin loaded = load_plugin(kFile);
  return loaded;
}

Expected<const jit::Plugin*> loaded_plugin() {
  const LoadedPlugin& loaded = loaded_file();
  if (loaded.plugin == nullptr) return fail(Code::unsupported, "{}", loaded.why_not);
  return static_cast<const jit::Plugin*>(loaded.plugin);
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

Expected<std::string> list_loop(const jit::LoopSource& source, jit::CodeForm form) {
  SCANLOOM_TRY(const jit::Plugin* const plugin, loaded_plugin());
  return plugin->list_loop(source, form);
}

Expected<std::string> list_body(const loopnest::BodySource& source, jit::CodeForm form) {
  SCANLOOM_TRY(const jit::Plugin* const plugin, loaded_plugin());
  return plugin->list_body(source, form);
}

/// The plug-in is not loaded until a loop needs it: loading LLVM costs more than most runs.
constexpr jit::Plugin kLoadedAtFirstUse{
    jit::kPluginVersion, compile, compile_body, check, prepare, list_loop, list_body, ""};

}  // namespace

JitDescription describe_jit() {
  const LoadedPlugin& loaded = loaded_file();
  JitDescription jit{.compiler = {}, .path = loaded.path, .why_not = loaded.why_not};
  if (loaded.plugin != nullptr)
    jit.compiler = static_cast<const jit::Plugin*>(loaded.plugin)->compiler;
  return jit;
}

const jit::Plugin* jit_compiler(std::string& why_not) {
  if (plugin_exists(kFile)) return &kLoadedAtFirstUse;
  why_not = missing_plugin(kFile);
  return nullptr;
}

}  // namespace scanloom
