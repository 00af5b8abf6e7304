#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/mapped_ranges.h"

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

namespace {

std::uintptr_t page_bytes() {
  static const auto bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

void release_file_pages(const void* data, std::size_t bytes) {
  const std::uintptr_t page = page_bytes();
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (address + page - 1) / page * page;
  const std::uintptr_t last = (address + bytes) / page * page;
  if (first >= last) return;
  MappedRanges::all().release(reinterpret_cast<const std::byte*>(first),
                              reinterpret_cast<const std::byte*>(last));
}

void FilePagesRead::up_to(const void* end) {
  // Reading a page makes its neighbours resident, which may have been given back already.
  constexpr std::ptrdiff_t kBytes = std::ptrdiff_t{2} << 20;
  const auto* const last = static_cast<const std::byte*>(end);
  if (last - first_ < kBytes) return;
  release_file_pages(first_, static_cast<std::size_t>(last - first_));
  first_ = last - reinterpret_cast<std::uintptr_t>(last) % page_bytes();
}

}  // namespace scanloom
