#include "output_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <unistd.h>

#include "failure.h"
#include "feeds.h"

namespace scanloom::cli {
namespace {

namespace fs = std::filesystem;

/// Empty if the system cannot follow it.
fs::path full_path(const std::string& path) {
  std::error_code none;
  return fs::weakly_canonical(fs::absolute(path, none), none);
}

/// The folder of a file; "." for a bare name.
fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// The file at the end of links, which need not exist yet.
fs::path followed(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as the system has it
  std::error_code none;
  fs::path end = path;
  for (int i = 0; i < kMaxLinks && fs::is_symlink(end, none); ++i)
    end = folder_of(end) / fs::read_symlink(end, none);
  return end;
}

/// Whether the file is replaced as a whole; pipes and devices are written into.
bool is_replaced(const fs::path& path) {
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  return !fs::exists(status) || fs::is_regular_file(status);
}

[[noreturn]] void refuse(const std::string& path, int error) {
  const std::string why = error == 0 ? "" : std::string(": ") + std::strerror(error);
  fail(Code::invalid_argument, "cannot write " + path + why);
}

/// Writes all bytes to a new file, which it removes again on failure; returns errno, 0 for success.
int write_new(const std::string& path, std::string_view bytes, fs::perms permissions) {
  errno = 0;
  std::FILE* const file = std::fopen(path.c_str(), "wbx");
  if (file == nullptr) return errno;
  const auto failure = [] { return errno == 0 ? EIO : errno; };
  int error = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() ? 0 : failure();
  if (std::fclose(file) != 0 && error == 0) error = failure();
  std::error_code none;
  if (error == 0 && permissions != fs::perms::unknown) fs::permissions(path, permissions, none);
  if (error != 0) std::remove(path.c_str());
  return error;
}

void write_into(const std::string& path, std::string_view bytes) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) refuse(path, errno);
}

}  // namespace

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  if (fs::equivalent(a, b, none)) return true;
  const fs::path path = full_path(a);
  return !path.empty() && path == full_path(b);
}

void expect_not_read(const std::string& option, const std::string& path, const Session& session,
                     const FeedArgs& feeds) {
  if (path.empty() || path == "-") return;
  const auto refuse = [&](const std::string& what) {
    throw Failure(Error(Code::invalid_argument, option + ": '" + path + "' is a file of " + what)
                      .note("it would be overwritten; choose another name"));
  };
  for (const std::string& file : session.files())
    if (is_same_file(path, file)) refuse("the model");
  for (const std::string& file : feed_files(session, feeds))
    if (is_same_file(path, file)) refuse("a feed");
}

void expect_writable(const std::string& option, const std::string& path) {
  if (path.empty() || path == "-") return;
  const fs::path file = followed(path);
  const fs::path needed = is_replaced(file) ? folder_of(file) : file;
  std::error_code none;
  int error = access(needed.c_str(), W_OK) == 0 ? 0 : errno;
  if (fs::is_directory(file, none)) error = EISDIR;
  if (error == 0) return;
  fail(Code::invalid_argument, option + ": cannot write " + path + ": " + std::strerror(error));
}

void write_file(const std::string& path, std::string_view bytes) {
  const fs::path file = followed(path);
  std::error_code none;
  if (fs::is_directory(file, none)) refuse(path, EISDIR);
  if (!is_replaced(file)) return write_into(path, bytes);
  const fs::file_status old = fs::status(file, none);
  const std::string part = file.string() + "." + std::to_string(getpid()) + ".part";
  const fs::perms permissions = fs::exists(old) ? old.permissions() : fs::perms::unknown;
  if (const int error = write_new(part, bytes, permissions); error != 0) refuse(path, error);
  if (std::rename(part.c_str(), file.c_str()) == 0) return;
  const int error = errno;
  std::remove(part.c_str());
  refuse(path, error);
}

}  // namespace scanloom::cli
