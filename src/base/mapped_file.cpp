#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
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
  }
  struct Made : MappedFile {
    Made(const char* data, std::size_t size) : MappedFile(data, size) {}
  };
  return std::shared_ptr<const MappedFile>(std::make_shared<const Made>(data, size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace scanloom
