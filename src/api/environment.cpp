// Describes the build and the machine.
#include <scanloom/environment.h>

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <scanloom/session.h>

#include "api/guard.h"
#include "api/jit_plugin.h"
#include "api/machine.h"
#include "base/cpu.h"
#include "base/isa_sets.h"
#include "base/one_line.h"
#include "base/plugin.h"
#include "base/thread_pool.h"
#include "images/interface.h"
#include "ops/vision/image_plugin.h"

namespace scanloom {
namespace {

using Plugin = Environment::Plugin;

std::string compiler_name() {
#if defined(__clang__)
  return fmt::format("clang++ {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string build_name() {
  std::string name = "debug";
#if defined(NDEBUG) && defined(__OPTIMIZE__)
  name = "release";
#endif
#if defined(SCANLOOM_CHECKED)
  name += ", with assertions";
#endif
  return name;
}

template <class Texts>
std::string joined(const Texts& texts) {
  std::string all;
  for (const std::string_view text : texts) {
    if (!all.empty()) all += ", ";
    all += text;
  }
  return all;
}

Plugin loop_compiler() {
  JitDescription jit = describe_jit();
  return {.holds = std::move(jit.compiler),
          .path = std::move(jit.path),
          .why_not = std::move(jit.why_not)};
}

Plugin image_formats() {
  const LoadedPlugin& loaded = ops::image_plugin();
  Plugin plugin{.holds = {}, .path = loaded.path, .why_not = loaded.why_not};
  if (loaded.plugin != nullptr)
    plugin.holds = joined(static_cast<const images::Plugin*>(loaded.plugin)->formats);
  return plugin;
}

/// The distribution's name for itself, without its quotes.
std::string distribution() {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  std::ifstream release("/etc/os-release");
  for (std::string line; std::getline(release, line);) {
    if (!line.starts_with(kKey)) continue;
    std::erase(line, '"');
    return line.substr(kKey.size());
  }
  return "unknown";
}

std::string c_library() {
  char text[64] = {};
  if (confstr(_CS_GNU_LIBC_VERSION, text, sizeof text) == 0) return "unknown";
  return text;
}

std::vector<std::pair<std::string, std::string>> settings() {
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t end = text.find('=');
    if (!text.starts_with("SCANLOOM_") || end == std::string_view::npos) continue;
    found.emplace_back(text.substr(0, end), text.substr(end + 1));
  }
  std::ranges::sort(found);
  return found;
}

void describe_build(Environment& about) {
  about.version = version();
  about.library = library_path();
  about.build = build_name();
  about.compiler = compiler_name();
  about.loop_compiler = loop_compiler();
  about.images = image_formats();
}

void describe_machine(Environment& about) {
  about.isa = isa_name(active_isa());
  for (const Isa isa : machine_isas()) about.isas.emplace_back(isa_name(isa));
  about.threads = pool_threads();
  about.cores = available_cores();
  about.cpu = cpu_name();
  utsname names{};
  if (uname(&names) == 0) {
    about.architecture = names.machine;
    about.kernel = fmt::format("{} {}", names.sysname, names.release);
  }
  about.system = distribution();
  about.c_library = c_library();
  about.calibration = figures_file();
  about.is_calibrated = known_figures().has_value();
  about.settings = settings();
  for (const std::string_view warning : {isa_warning(), threads_warning()})
    if (!warning.empty()) about.warnings.emplace_back(warning);
}

std::string text_of(const Plugin& plugin) {
  return plugin.holds.empty() ? "none: " + plugin.why_not : plugin.holds + ", " + plugin.path;
}

std::string calibration_text(const Environment& about) {
  if (about.calibration.empty()) return "none: there is no home folder";
  if (about.is_calibrated) return about.calibration;
  std::error_code none;
  const bool exists = std::filesystem::exists(about.calibration, none);
  return about.calibration +
         (exists ? ", which has no measurements of this machine" : ", not measured yet") +
         " (scanloom bench --calibrate)";
}

std::string settings_text(const Environment& about) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : about.settings) texts.push_back(name + "=" + value);
  return texts.empty() ? "none" : joined(texts);
}

}  // namespace

Expected<Environment> environment() {
  return guard([]() -> Expected<Environment> {
    Environment about;
    describe_build(about);
    describe_machine(about);
    return about;
  });
}

Expected<std::string> to_text(const Environment& about) {
  return guard([&]() -> Expected<std::string> {
    const std::pair<std::string_view, std::string> lines[] = {
        {"scanloom", about.version},
        {"library", about.library},
        {"build", about.build + ", " + about.compiler},
        {"loop compiler", text_of(about.loop_compiler)},
        {"images", text_of(about.images)},
        {"instructions", fmt::format("{}, of {}", about.isa, joined(about.isas))},
        {"threads", fmt::format("{}, on {} {}", about.threads, about.cores,
                                about.cores == 1 ? "core" : "cores")},
        {"processor", fmt::format("{} ({})", about.cpu, about.architecture)},
        {"system", fmt::format("{}, {}, {}", about.system, about.kernel, about.c_library)},
        {"calibration", calibration_text(about)},
        {"settings", settings_text(about)},
    };
    std::string text;
    for (const auto& [name, value] : lines)
      text += fmt::format("{:<15}{}\n", name, one_line(value));
    for (const std::string& warning : about.warnings)
      text += fmt::format("{:<15}{}\n", "warning", one_line(warning));
    return text;
  });
}

}  // namespace scanloom
