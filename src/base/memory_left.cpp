#include "base/memory_left.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace scanloom {
namespace {

constexpr std::int64_t kUnknown = std::int64_t{1} << 40;
constexpr std::size_t kLongestFile = std::size_t{1} << 20;

/// The file's text; empty if it cannot be read.
std::string read_file(const std::string& path) {
  std::string text;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char buffer[4096];
  for (ssize_t count = 0; text.size() < kLongestFile && (count = read(file, buffer, 4096)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  close(file);
  return text;
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end == text.data() || error != std::errc{}) return std::nullopt;
  return number;
}

/// Calls `take` with every line.
template <class Take>
void for_each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// The number after "key" at the beginning of a line.
std::optional<std::int64_t> entry(std::string_view text, std::string_view key) {
  std::optional<std::int64_t> found;
  for_each_line(text, [&](std::string_view line) {
    if (found || !line.starts_with(key)) return;
    line.remove_prefix(key.size());
    if (!line.starts_with(' ') && !line.starts_with(':')) return;
    line.remove_prefix(std::min(line.find_first_of("0123456789"), line.size()));
    found = number_of(line);
  });
  return found;
}

/// The files of one version of cgroups.
struct CgroupFiles {
  const char* limit;
  const char* usage;
  const char* reclaimable;  ///< in memory.stat
};
constexpr CgroupFiles kVersion1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                   "total_inactive_file"};
constexpr CgroupFiles kVersion2 = {"/memory.max", "/memory.current", "inactive_file"};

/// The memory that one cgroup has left; nullopt if it has no limit ("max") or no such controller.
std::optional<std::int64_t> left_in(const std::string& folder, const CgroupFiles& files) {
  const auto limit = number_of(read_file(folder + files.limit));
  if (!limit) return std::nullopt;
  const auto usage = number_of(read_file(folder + files.usage));
  if (!usage) return std::nullopt;
  const auto cached = entry(read_file(folder + "/memory.stat"), files.reclaimable);
  return std::max<std::int64_t>(*limit - (*usage - std::min(cached.value_or(0), *usage)), 0);
}

/// Mount point of a hierarchy with memory limits, and the folder of the hierarchy mounted there.
struct Mount {
  std::string point, root;
};

std::optional<Mount> mount_of(std::string_view mountinfo, bool version2) {
  std::optional<Mount> found;
  for_each_line(mountinfo, [&](std::string_view line) {
    // 31 23 0:27 ROOT POINT OPTIONS [tags] - TYPE SOURCE SUPER_OPTIONS
    const std::size_t dash = line.find(" - ");
    if (found || dash == std::string_view::npos) return;
    const auto front = split(line.substr(0, dash), ' ');
    const auto back = split(line.substr(dash + 3), ' ');
    if (front.size() < 5 || back.empty()) return;
    const auto has_memory = [&] {
      if (back[0] != "cgroup" || back.size() < 3) return false;
      const auto options = split(back[2], ',');
      return std::ranges::find(options, "memory") != options.end();
    };
    if (version2 ? back[0] == "cgroup2" : has_memory())
      found = Mount{std::string(front[4]), std::string(front[3])};
  });
  return found;
}

/// The least memory left in the folder and its parents, up to the mount.
std::int64_t left_in_hierarchy(const Mount& mount, std::string_view path,
                               const CgroupFiles& files) {
  // A container sees its own folder as the root of the mount.
  if (mount.root != "/" && path.starts_with(mount.root)) path.remove_prefix(mount.root.size());
  if (path.find("/..") != std::string_view::npos) path = {};
  std::int64_t left = std::numeric_limits<std::int64_t>::max();
  while (true) {
    while (path.ends_with('/')) path.remove_suffix(1);
    if (const auto here = left_in(mount.point + std::string(path), files))
      left = std::min(left, *here);
    if (path.empty()) return left;
    path = path.substr(0, path.rfind('/'));
  }
}

std::int64_t left_in_cgroups(const std::string& proc) {
  const std::string groups = read_file(proc + "/self/cgroup");
  const std::string mountinfo = read_file(proc + "/self/mountinfo");
  std::int64_t left = std::numeric_limits<std::int64_t>::max();
  for_each_line(groups, [&](std::string_view line) {
    // "0::/path" of version 2, "4:memory:/path" of version 1
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string_view::npos) return;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool version2 = controllers.empty();
    const auto names = split(controllers, ',');
    if (!version2 && std::ranges::find(names, "memory") == names.end()) return;
    if (const auto mount = mount_of(mountinfo, version2))
      left = std::min(left, left_in_hierarchy(*mount, line.substr(second + 1),
                                              version2 ? kVersion2 : kVersion1));
  });
  return left;
}

std::int64_t left_of_address_space(const std::string& proc) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::int64_t>::max();
  const auto pages = number_of(read_file(proc + "/self/statm"));
  const std::int64_t taken = pages.value_or(0) * sysconf(_SC_PAGESIZE);
  return std::max<std::int64_t>(static_cast<std::int64_t>(limit.rlim_cur) - taken, 0);
}

std::int64_t left_of_machine(const std::string& proc) {
  constexpr std::int64_t kKibibyte = 1024;
  const std::string meminfo = read_file(proc + "/meminfo");
  if (const auto left = entry(meminfo, "MemAvailable")) return *left * kKibibyte;
  const std::int64_t pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? pages * size : kUnknown;
}

}  // namespace

std::int64_t memory_left(const std::string& proc) {
  return std::min(
      {left_of_machine(proc), left_in_cgroups(proc), left_of_address_space(proc), kUnknown});
}

std::int64_t recent_memory_left() {
  using Clock = std::chrono::steady_clock;
  static std::atomic<std::int64_t> left{-1};
  static std::atomic<Clock::rep> measured{0};
  const Clock::rep now = Clock::now().time_since_epoch().count();
  const Clock::rep second = Clock::duration(std::chrono::seconds(1)).count();
  if (left.load() < 0 || now - measured.load() > second) {
    left.store(memory_left());
    measured.store(now);
  }
  return left.load();
}

void return_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace scanloom
