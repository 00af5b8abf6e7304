#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <system_error>

namespace scanloom {
namespace {

/// Closes a file descriptor at the end of its scope; the mapping outlives it.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

/// The files that are mapped now, so that only their pages are ever given back: pages of other
/// memory would lose what they hold.
class MappedRanges {
 public:
  static MappedRanges& all() {
    static MappedRanges ranges;
    return ranges;
  }
  void add(const char* data, std::size_t size) {
    const std::scoped_lock lock(mutex_);
    ranges_[data] = size;
  }
  void remove(const char* data) {
    const std::scoped_lock lock(mutex_);
    ranges_.erase(data);
  }
  /// Holds the lock meanwhile: the file must not be unmapped.
  void release(const char* first, const char* last) {
    const std::scoped_lock lock(mutex_);
    auto after = ranges_.upper_bound(first);
    if (after == ranges_.begin()) return;
    const auto& [data, size] = *--after;
    if (last > data + size) return;
    (void)::madvise(const_cast<char*>(first), static_cast<std::size_t>(last - first),
                    MADV_DONTNEED);
  }

 private:
  std::mutex mutex_;
  std::map<const char*, std::size_t> ranges_;
};

Error system_error(const std::string& path, int number) {
  const Code code =
      number == ENOENT || number == ENOTDIR ? Code::not_found : Code::invalid_argument;
  return fail(code, "cannot open '{}': {}", path, std::generic_category().message(number));
}

}  // namespace

Expected<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  // The system ends a path at its first zero byte and would open another file.
  if (path.find('\0') != std::string::npos)
    return fail(Code::not_found, "cannot open '{}': the path contains a zero byte", path);
  // Non-blocking: opening a named pipe must not wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) return system_error(path, errno);
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) return system_error(path, errno);
  if (!S_ISREG(status.st_mode))
    return fail(Code::invalid_argument, "cannot open '{}': not a regular file", path);
  const auto size = static_cast<std::size_t>(status.st_size);
  const char* data = nullptr;
  if (size > 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (address == MAP_FAILED) return system_error(path, errno);
    data = static_cast<const char*>(address);
    MappedRanges::all().add(data, size);
  }
  struct Made : MappedFile {
    Made(const char* data, std::size_t size) : MappedFile(data, size) {}
  };
  return std::shared_ptr<const MappedFile>(std::make_shared<const Made>(data, size));
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  MappedRanges::all().remove(data_);
  ::munmap(const_cast<char*>(data_), size_);
}

void release_file_pages(const void* data, std::size_t bytes) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (address + page - 1) / page * page;
  const std::uintptr_t last = (address + bytes) / page * page;
  if (first >= last) return;
  MappedRanges::all().release(reinterpret_cast<const char*>(first),
                              reinterpret_cast<const char*>(last));
}

}  // namespace scanloom
