#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace scanloom {
namespace {

namespace fs = std::filesystem;

class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / (std::string("scanloom_mapped_") + info->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(MappedFileTest, GivesTheBytesAndOutlivesTheName) {
  std::ofstream(path("data")) << "some bytes";
  const auto file = MappedFile::open(path("data"));
  ASSERT_TRUE(file) << file.error().message();
  fs::remove(path("data"));
  EXPECT_EQ((*file)->bytes(), "some bytes");
}

TEST_F(MappedFileTest, ReleasedPagesAreReadAgain) {
  const std::string text(100'000, 'x');
  std::ofstream(path("data")) << text;
  const auto file = MappedFile::open(path("data"));
  ASSERT_TRUE(file) << file.error().message();
  const std::string_view bytes = (*file)->bytes();
  EXPECT_EQ(bytes, text);
  release_file_pages(bytes.data() + 1, bytes.size() - 1);
  EXPECT_EQ(bytes, text);
}

TEST_F(MappedFileTest, ReadersGivePagesBackAsTheyGo) {
  const std::string text(9'000'001, 'x');
  std::ofstream(path("data")) << text;
  const auto file = MappedFile::open(path("data"));
  ASSERT_TRUE(file) << file.error().message();
  const std::string_view bytes = (*file)->bytes();
  FilePagesRead pages(bytes.data() + 1);
  for (std::size_t at = 0; at < bytes.size(); at += 300'000) {
    const std::string_view part = bytes.substr(at, 300'000);
    EXPECT_EQ(part, std::string_view(text).substr(at, 300'000));
    pages.up_to(part.data() + part.size());
  }
  EXPECT_EQ(bytes, text);
}

TEST_F(MappedFileTest, PagesOfOtherMemoryKeepWhatTheyHold) {
  std::ofstream(path("data")) << std::string(100'000, 'x');
  const auto file = MappedFile::open(path("data"));
  ASSERT_TRUE(file) << file.error().message();
  const std::string own(100'000, 'y');
  release_file_pages(own.data(), own.size());
  EXPECT_EQ(own, std::string(own.size(), 'y'));
}

TEST_F(MappedFileTest, AnEmptyFileHasNoBytes) {
  std::ofstream(path("data")).flush();
  const auto file = MappedFile::open(path("data"));
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_TRUE((*file)->bytes().empty());
}

TEST_F(MappedFileTest, PathsDoNotEndAtAZeroByte) {
  std::ofstream(path("data")) << "some bytes";
  const auto file = MappedFile::open(path("data") + std::string("\0more", 5));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), Code::not_found);
  EXPECT_NE(file.error().message().find("zero byte"), std::string::npos);
  EXPECT_EQ(MappedFile::open("").error().code(), Code::not_found);
}

TEST_F(MappedFileTest, OnlyRegularFilesAreMapped) {
  EXPECT_EQ(MappedFile::open(path("none")).error().code(), Code::not_found);
  const auto folder = MappedFile::open(folder_.string());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code(), Code::invalid_argument);
  EXPECT_NE(folder.error().message().find("not a regular file"), std::string::npos);
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(MappedFile::open(path("pipe")));
}

}  // namespace
}  // namespace scanloom
