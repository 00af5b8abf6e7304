#include "api/machine.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include "api/guard.h"
#include "api/output_files.h"
#include "base/cpu.h"
#include "kernels/measure.h"

namespace scanloom {
namespace {

namespace fs = std::filesystem;

/// Sizes of the weights that are read.
constexpr std::int64_t kLevelBytes[] = {16 << 10, 128 << 10, 512 << 10, 1 << 20,
                                        2 << 20,  8 << 20,   32 << 20,  128 << 20};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

/// What this process measured and could not save to that file.
struct Unsaved {
  std::mutex mutex;
  std::optional<MachineFigures> figures;
  fs::path file;
};

Unsaved& unsaved() {
  static Unsaved one;
  return one;
}

fs::path home_path() {
  const std::string home = variable("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".cache" / "scanloom" / "machine.txt";
}

/// Empty if there is no folder for it.
fs::path figures_path() {
  if (const std::string given = variable("SCANLOOM_MACHINE"); !given.empty()) return given;
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty())
    return fs::path(cache) / "scanloom" / "machine.txt";
  return home_path();
}

std::string text_of(const MachineFigures& figures) {
  std::string text = fmt::format("cpu {}\nisa {}\noperations {:.6g}\n", figures.cpu, figures.isa,
                                 figures.operations_per_second);
  for (const MachineFigures::Level& level : figures.levels)
    text += fmt::format("read {} {:.6g}\n", level.bytes, level.bytes_per_second);
  return text;
}

std::optional<MachineFigures> parse(std::istream& text) {
  MachineFigures figures;
  std::string line;
  while (std::getline(text, line) && figures.levels.size() < 100) {
    const auto [key, rest] = std::pair(line.substr(0, line.find(' ')),
                                       line.substr(std::min(line.size(), line.find(' ') + 1)));
    std::istringstream numbers(rest);
    numbers.imbue(std::locale::classic());
    MachineFigures::Level level;
    if (key == "cpu") figures.cpu = rest;
    if (key == "isa") figures.isa = rest;
    if (key == "operations" && !(numbers >> figures.operations_per_second)) return std::nullopt;
    if (key != "read") continue;
    if (!(numbers >> level.bytes >> level.bytes_per_second) || !(level.bytes_per_second > 0))
      return std::nullopt;
    figures.levels.push_back(level);
  }
  const bool is_ascending =
      std::ranges::is_sorted(figures.levels, {}, &MachineFigures::Level::bytes);
  if (figures.levels.empty() || !is_ascending || !(figures.operations_per_second > 0))
    return std::nullopt;
  return figures;
}

/// Writes the file completely or not at all: another process may read it meanwhile.
Expected<void> store(const MachineFigures& figures) {
  const fs::path path = figures_path();
  if (path.empty())
    return fail(Code::not_found, "there is no home folder to store the measurements in");
  std::error_code problem;
  // Whoever sets HOME to a folder that does not exist wants nothing to be written there.
  if (path == home_path() && !fs::is_directory(variable("HOME"), problem))
    return fail(Code::not_found, "the home folder '{}' does not exist", variable("HOME"));
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), problem);
  return write_file(path.string(), text_of(figures));
}

}  // namespace

Expected<MachineFigures> calibrate() {
  return guard([&]() -> Expected<MachineFigures> {
    const Isa isa = active_isa();
    MachineFigures figures;
    figures.cpu = cpu_name();
    figures.isa = isa_name(isa);
    figures.operations_per_second = kernels::measure_operations(isa);
    for (const std::int64_t bytes : kLevelBytes)
      figures.levels.push_back({bytes, kernels::measure_reads(isa, bytes)});
    // Data that fits a nearer cache is read at least as fast as larger data.
    for (std::size_t i = figures.levels.size() - 1; i-- > 0;)
      figures.levels[i].bytes_per_second =
          std::max(figures.levels[i].bytes_per_second, figures.levels[i + 1].bytes_per_second);
    if (const auto stored = store(figures); !stored) figures.why_not_saved = stored.error().text();
    const std::scoped_lock lock(unsaved().mutex);
    unsaved().figures.reset();
    if (!figures.why_not_saved.empty()) unsaved().figures = figures;
    unsaved().file = figures_path();
    return figures;
  });
}

std::string figures_file() { return figures_path().string(); }

std::optional<MachineFigures> known_figures() {
  std::optional<MachineFigures> figures;
  {
    const std::scoped_lock lock(unsaved().mutex);
    if (unsaved().file == figures_path()) figures = unsaved().figures;
  }
  if (std::ifstream file(figures_path()); !figures && file) figures = parse(file);
  if (!figures || figures->cpu != cpu_name() || figures->isa != isa_name(active_isa()))
    return std::nullopt;
  return figures;
}

double min_seconds(const MachineFigures& figures, double bytes, double operations) {
  // Between two measured sizes, takes the smaller one's rate, so that nothing can be faster.
  auto level = std::ranges::find_if(figures.levels, [&](const MachineFigures::Level& each) {
    return bytes < static_cast<double>(each.bytes);
  });
  if (level != figures.levels.begin()) --level;
  return std::max(bytes / level->bytes_per_second, operations / figures.operations_per_second);
}

}  // namespace scanloom
