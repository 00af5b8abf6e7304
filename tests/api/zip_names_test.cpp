#include "api/zip_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace scanloom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The number in `count` bytes, the lowest first.
std::string number(std::size_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 255);
  return bytes;
}

std::string file(const std::string& name) {
  return "PK\x03\x04" + std::string(22, '\0') + number(name.size(), 2) + number(0, 2) + name;
}

std::string entry(const std::string& name, const std::string& extra = {}) {
  return "PK\x01\x02" + std::string(24, '\0') + number(name.size(), 2) + number(extra.size(), 2) +
         number(0, 2) + std::string(12, '\0') + name + extra;
}

std::string end(std::size_t directory, const std::string& comment = {}) {
  return "PK\x05\x06" + std::string(12, '\0') + number(directory, 4) + number(comment.size(), 2) +
         comment;
}

TEST(ZipNames, AreThoseOfTheDirectory) {
  const std::string files = file("a") + file("long/name.onnx");
  const std::string whole = files + entry("a", "extra") + entry("long/name.onnx");
  for (const std::string& comment : {std::string(), std::string("comment")})
    EXPECT_THAT(zip_names(whole + end(files.size(), comment)), ElementsAre("a", "long/name.onnx"));
}

TEST(ZipNames, OfACutOffArchiveAreThatOfItsFirstFile) {
  EXPECT_THAT(zip_names(file("a/b") + file("c")), ElementsAre("a/b"));
  EXPECT_THAT(zip_names(""), IsEmpty());
}

TEST(ZipNames, DirectoriesThatLieAreOnlyLookedAt) {
  const std::string files = file("a");
  const std::string whole = files + entry("a") + end(files.size());
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const char change : {'\0', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = change;
      for (const std::string_view name : zip_names(damaged)) EXPECT_LE(name.size(), whole.size());
    }
  for (std::size_t size = 0; size < whole.size(); ++size) (void)zip_names(whole.substr(0, size));
}

}  // namespace
}  // namespace scanloom
