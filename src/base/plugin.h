// Plug-ins: shared libraries next to this one that are loaded when they are first needed, because
// what they link is large or may be missing.
#pragma once

#include <cstdint>
#include <string>

namespace scanloom {

/// A plug-in exports one object, which begins with a 32-bit version.
struct PluginFile {
  const char* name;         ///< "libscanloom_jit.so"
  const char* environment;  ///< the variable that holds another path
  const char* symbol;       ///< of the object
  const char* what;         ///< "the loop compiler", for messages
  std::uint32_t version;
};

struct LoadedPlugin {
  const void* plugin = nullptr;  ///< stays loaded
  std::string path;              ///< of the file that was loaded
  std::string why_not;
};

/// Whether there is such a file: where the variable says, otherwise in the library's folder or in
/// ../lib.
bool plugin_exists(const PluginFile& file);
/// Loads the first one that fits.
LoadedPlugin load_plugin(const PluginFile& file);
/// "the loop compiler (libscanloom_jit.so) is not installed".
std::string missing_plugin(const PluginFile& file);

/// The file that holds this code: the library, or a program that links it statically. Its folder is
/// written without links and "..". Empty if the loader does not know.
std::string library_path();

}  // namespace scanloom
