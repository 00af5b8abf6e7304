#include "api/model_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanloom {
namespace {

using testing::HasSubstr;

void expect_refused(std::string_view bytes, const std::string& path, const char* part) {
  const auto format = format_of(bytes, path);
  ASSERT_FALSE(format) << path;
  EXPECT_EQ(format.error().code(), Code::invalid_model);
  EXPECT_THAT(format.error().text(), HasSubstr(part));
}

TEST(ModelFormat, BytesDecideNotNames) {
  const std::string_view onnx("\x08\x08:\x00", 4);
  for (const char* const path : {"", "a.onnx", "a.xml", "a"}) {
    EXPECT_EQ(*format_of(onnx, path), ModelFormat::onnx) << path;
    EXPECT_EQ(*format_of("\n <?xml version='1.0'?><net/>", path), ModelFormat::openvino) << path;
  }
}

TEST(ModelFormat, EmptyFilesAreToldAsSuch) {
  for (const char* const path : {"/some/where/a.onnx", "a.onnx"})
    expect_refused("", path, "'a.onnx' is empty: it has 0 bytes");
  expect_refused("", "m.xml", "'m.xml' is empty");
  expect_refused("", "", "the model is empty: it has 0 bytes");
}

TEST(ModelFormat, WhatIsNoModelIsTold) {
  expect_refused("no model\nat all", "m.xml",
                 "'m.xml' is a text of 15 bytes that begins with 'no model'");
  expect_refused("{\"a\": 1}", "", "the model is a text of 8 bytes");
  expect_refused(" \n", "m.xml", "is a text of 2 bytes that begins with ' '");
  expect_refused("\xEF\xBB\xBF", "m.xml", "is a text of 3 bytes");
  expect_refused("version git-lfs/v1\noid sha256:00\nsize 1\n", "m.onnx",
                 "'m.onnx' is a pointer of Git LFS");
  expect_refused(std::string_view("\xFF\xFE<\0n\0", 6), "m.xml", "text in UTF-16");
  expect_refused(std::string_view("PK\x03\x04", 4), "m.XML",
                 "no XML: its first byte is 80, not '<'");
}

}  // namespace
}  // namespace scanloom
