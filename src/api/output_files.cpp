#include "api/output_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace scanloom {

namespace fs = std::filesystem;

namespace {

Error refused(const std::string& path, int error) {
  return fail(Code::invalid_argument, "'{}' cannot be written: {}", path,
              std::generic_category().message(error));
}

}  // namespace

void OutputFiles::File::append(std::string_view bytes) {
  if (error_ != 0) return;
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size())
    error_ = errno != 0 ? errno : EIO;
  size_ += bytes.size();
}

void OutputFiles::File::pad_to(std::uint64_t offset) {
  static constexpr std::array<char, 4096> kZeros{};
  while (error_ == 0 && size_ < offset)
    append({kZeros.data(), std::min<std::uint64_t>(kZeros.size(), offset - size_)});
}

OutputFiles::~OutputFiles() {
  for (File& file : files_) {
    if (file.file_ != nullptr) std::fclose(file.file_);
    if (!file.beside_.empty()) std::remove(file.beside_.c_str());
  }
}

Expected<OutputFiles::File*> OutputFiles::add(const std::string& path) {
  // A unique temporary file, so that two writers of the same path do not mix.
  constexpr int kMaxWriters = 1000;
  File file;
  file.path_ = path;
  std::error_code none;
  const fs::file_status old = fs::status(path, none);
  // Checked now: a folder cannot be replaced, and the others would already have been.
  if (fs::is_directory(old)) return refused(path, EISDIR);
  const bool replaces = !fs::exists(old) || fs::is_regular_file(old);
  if (fs::is_symlink(path, none) && fs::is_regular_file(old)) {
    file.path_ = fs::canonical(path, none).string();  // the link stays, and leads to the new file
    if (none) return refused(path, none.value());
  }
  if (fs::is_regular_file(old)) file.permissions_ = old.permissions();
  errno = 0;
  if (!replaces) file.file_ = std::fopen(path.c_str(), "wb");
  for (int i = 0;
       replaces && file.file_ == nullptr && i < kMaxWriters && (i == 0 || errno == EEXIST); ++i) {
    file.beside_ = file.path_ + "." + std::to_string(i) + ".part";
    file.file_ = std::fopen(file.beside_.c_str(), "wbx");
  }
  if (file.file_ == nullptr) return refused(path, errno);
  files_.push_back(std::move(file));
  return &files_.back();
}

Expected<void> OutputFiles::commit() {
  for (File& file : files_) {
    errno = 0;
    if (std::fclose(std::exchange(file.file_, nullptr)) != 0 && file.error_ == 0)
      file.error_ = errno != 0 ? errno : EIO;
    if (file.error_ != 0) return refused(file.path_, file.error_);
  }
  for (File& file : files_) {
    if (file.beside_.empty()) continue;
    std::error_code none;
    if (file.permissions_ != fs::perms::unknown)
      fs::permissions(file.beside_, file.permissions_, none);
    if (std::rename(file.beside_.c_str(), file.path_.c_str()) != 0)
      return refused(file.path_, errno);
    file.beside_.clear();
  }
  return {};
}

Expected<void> write_file(const std::string& path, std::string_view bytes) {
  OutputFiles files;
  SCANLOOM_TRY(OutputFiles::File* const file, files.add(path));
  file->append(bytes);
  return files.commit();
}

}  // namespace scanloom
