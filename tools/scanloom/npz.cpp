// .npz: a zip archive with stored or deflated members (PKWARE's APPNOTE 4.3), under 4 GiB. Of the
// zip64 records (version 4.5), only the one for a large number of members is supported.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include <zlib.h>

#include "failure.h"
#include "npy.h"
#include "npy_format.h"
#include "output_file.h"

namespace scanloom::cli {
namespace {

constexpr std::uint32_t kLocalMagic = 0x04034b50;
constexpr std::uint32_t kCentralMagic = 0x02014b50;
constexpr std::uint32_t kEndMagic = 0x06054b50;
constexpr std::uint32_t kLongEndMagic = 0x06064b50;
constexpr std::uint32_t kLocatorMagic = 0x07064b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22;
constexpr std::size_t kLongEndSize = 56, kLocatorSize = 20;
constexpr std::size_t kShortNumber = 0xffff;  // from here on, the member count is in zip64 records
constexpr std::uint32_t kStored = 0, kDeflated = 8;

std::uint32_t checksum_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// Reads little-endian numbers with bounds checks.
class Bytes {
 public:
  Bytes(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  [[noreturn]] void bad(const std::string& why) const {
    fail(Code::invalid_argument, path_ + ": " + why);
  }
  [[nodiscard]] std::string_view at(std::size_t offset, std::size_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) bad("the archive is truncated");
    return bytes_.substr(offset, size);
  }
  [[nodiscard]] std::uint32_t number(std::size_t offset, std::size_t size) const {
    const std::string_view digits = at(offset, size);
    std::uint32_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(digits[i]);
    return value;
  }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  const std::string& path_;
};

std::string inflate_all(std::string_view packed, std::size_t size, const Bytes& archive) {
  // Deflate compresses at most about 1032 to 1, so a small archive cannot claim much memory.
  if (size / 1040 > packed.size()) archive.bad("a member claims an impossible size");
  std::string plain(size, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) archive.bad("zlib is out of memory");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_out = static_cast<uInt>(plain.size());
  const int status = inflate(&stream, Z_FINISH);
  const bool complete = stream.avail_out == 0;
  inflateEnd(&stream);
  if (!complete || (status != Z_STREAM_END && status != Z_OK && status != Z_BUF_ERROR))
    archive.bad("a member cannot be decompressed");
  return plain;
}

std::size_t end_record(const Bytes& archive) {
  // The record may be followed by a comment of at most 65535 bytes.
  if (archive.size() < kEndSize) archive.bad("it is not an .npz file");
  for (std::size_t back = 0; back <= 0xffff && back + kEndSize <= archive.size(); ++back) {
    const std::size_t at = archive.size() - kEndSize - back;
    if (archive.number(at, 4) == kEndMagic) return at;
  }
  archive.bad("it is not an .npz file");
}

/// The position of the central directory, and its number of members.
struct Directory {
  std::size_t at = 0, members = 0;
};

Directory find_directory(const Bytes& archive) {
  const std::size_t end = end_record(archive);
  const std::size_t locator = end - std::min(end, kLocatorSize);
  if (archive.number(end + 10, 2) != kShortNumber || archive.number(locator, 4) != kLocatorMagic)
    return {archive.number(end + 16, 4), archive.number(end + 10, 2)};
  // Numbers have eight bytes; archives under 4 GiB use only the low four.
  const std::size_t record = archive.number(locator + 8, 4);
  if (archive.number(record, 4) != kLongEndMagic) archive.bad("its directory is damaged");
  return {archive.number(record + 48, 4), archive.number(record + 32, 4)};
}

void append(std::string& bytes, std::size_t size, std::uint64_t value) {
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

/// Appends the fields from "version needed" to "extra length", which both headers share.
void append_common(std::string& bytes, std::string_view data, std::size_t name_size) {
  append(bytes, 2, 20);
  append(bytes, 2, 0);
  append(bytes, 2, kStored);
  append(bytes, 4, 0x00210000);  // 1 January 1980, so that equal results give equal files
  append(bytes, 4, checksum_of(data));
  append(bytes, 4, data.size());
  append(bytes, 4, data.size());
  append(bytes, 2, name_size);
  append(bytes, 2, 0);
}

/// Returns the records after the central directory.
std::string end_of(std::size_t members, std::size_t directory_at, std::size_t directory_size) {
  std::string end;
  const std::size_t shown = std::min(members, kShortNumber);
  if (members >= kShortNumber) {
    append(end, 4, kLongEndMagic);
    append(end, 8, kLongEndSize - 12);  // does not count the fields up to here
    append(end, 2, 45);
    append(end, 2, 45);
    append(end, 8, 0);
    append(end, 8, members);
    append(end, 8, members);
    append(end, 8, directory_size);
    append(end, 8, directory_at);
    append(end, 4, kLocatorMagic);
    append(end, 4, 0);
    append(end, 8, directory_at + directory_size);
    append(end, 4, 1);
  }
  append(end, 4, kEndMagic);
  append(end, 4, 0);
  append(end, 2, shown);
  append(end, 2, shown);
  append(end, 4, directory_size);
  append(end, 4, directory_at);
  append(end, 2, 0);
  return end;
}

}  // namespace

std::vector<NamedView> read_npz(const std::string& path) {
  const std::string content = read_file(path);
  const Bytes archive(content, path);
  auto [at, members] = find_directory(archive);
  std::vector<NamedView> tensors;
  for (std::size_t i = 0; i < members; ++i) {
    if (archive.number(at, 4) != kCentralMagic) archive.bad("its directory is damaged");
    const std::uint32_t method = archive.number(at + 10, 2);
    const std::uint32_t checksum = archive.number(at + 16, 4);
    const std::uint32_t packed_size = archive.number(at + 20, 4);
    const std::uint32_t size = archive.number(at + 24, 4);
    const std::uint32_t name_size = archive.number(at + 28, 2);
    const std::uint32_t local = archive.number(at + 42, 4);
    std::string name(archive.at(at + kCentralSize, name_size));
    at += kCentralSize + name_size + archive.number(at + 30, 2) + archive.number(at + 32, 2);
    if (size == std::numeric_limits<std::uint32_t>::max())
      archive.bad("member '" + name + "' is larger than 4 GiB");
    const std::size_t data =
        local + kLocalSize + archive.number(local + 26, 2) + archive.number(local + 28, 2);
    const std::string_view packed = archive.at(data, packed_size);
    if (method != kStored && method != kDeflated)
      archive.bad("member '" + name + "' is compressed by method " + std::to_string(method));
    const std::string plain =
        method == kStored ? std::string(packed) : inflate_all(packed, size, archive);
    if (checksum_of(plain) != checksum)
      archive.bad("member '" + name + "' is damaged: its CRC-32 differs from the archive's");
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    const std::string where = path + ":" + name;
    tensors.emplace_back(std::move(name), parse_npy(plain, where));
  }
  return tensors;
}

void write_npz(const std::string& path, const std::vector<NamedView>& tensors) {
  std::string bytes, directory;
  for (const auto& [key, tensor] : tensors) {
    const std::string name = key + ".npy";
    const std::string data = format_npy(tensor);
    if (name.size() > std::numeric_limits<std::uint16_t>::max())
      fail(Code::unsupported, path + ": a result has a name of " + std::to_string(name.size()) +
                                  " bytes; archives hold names of up to 65535");
    if (bytes.size() + data.size() + directory.size() > std::numeric_limits<std::int32_t>::max())
      fail(Code::unsupported, path + ": results of more than 2 GiB; write them to .npy files");
    append(directory, 4, kCentralMagic);
    append(directory, 2, 20);
    append_common(directory, data, name.size());
    directory.append(10, '\0');  // no comment, first disk, no attributes
    append(directory, 4, bytes.size());
    directory += name;
    append(bytes, 4, kLocalMagic);
    append_common(bytes, data, name.size());
    bytes += name + data;
  }
  write_file(path, bytes + directory + end_of(tensors.size(), bytes.size(), directory.size()));
}

}  // namespace scanloom::cli
