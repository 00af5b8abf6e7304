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
                 "'m.onnx' is a Git LFS pointer");
  expect_refused(std::string_view("\xFF\xFE<\0n\0", 6), "m.xml", "UTF-16 text");
  expect_refused(std::string_view("PK\x03\x04", 4), "m.XML",
                 "not XML: its first byte is 80, not '<'");
}

TEST(ModelFormat, OtherFormatsAreToldWithWhatToDo) {
  using namespace std::string_view_literals;
  const std::pair<std::string_view, const char*> files[] = {
      {"<!DOCTYPE html><title>No</title>", "'m.onnx' is a web page (HTML) with the title 'No'"},
      {"\n<html lang='x'><TITLE>a\nb</TITLE>", "with the title 'a b'"},
      {"<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>", "the error 'NoSuchKey'"},
      {"\x1f\x8b\x08\0"sv, "is compressed with gzip: unpack it"},
      {"\x18\0\0\0TFL3"sv, "is a TensorFlow Lite model"},
      {"\x08\0\0\0ORTM"sv, "is in the ORT format"},
      {"\x89HDF\r\n\x1a\n"sv, "is in the HDF5 format"},
      {"\x93NUMPY\x01"sv, "is a NumPy array"},
      {"\x80\x04\x95"sv, "is a Python pickle"},
      {"(dp0\nVw\np1\nI1\ns."sv, "is a Python pickle"},
      {"}q\0."sv, "is a Python pickle"},
      {"\x40\0\0\0\0\0\0\0{\"w"sv, "is a safetensors file"},
      {"PK\x05\x06\0\0"sv, "is an empty zip archive"},
      {"\x02\0\0\0\0\0\0\0{}"sv, "is a safetensors file"},
      {"{\"a\": 1}", "it looks like JSON"},
  };
  for (const auto& [bytes, part] : files) expect_refused(bytes, "m.onnx", part);
  // Bytes that only begin like one of these formats are not recognized, and bytes that are not
  // UTF-8 are not a text.
  EXPECT_EQ(*format_of(std::string(1000, '\xff'), ""), ModelFormat::onnx);
  expect_refused("(dp0\nno pickle", "", "is a text");
  for (const std::string& text :
       {std::string(511, 'a') + "\xC3\xA9 b", std::string(510, 'a') + "\xE2\x82\xAC"})
    expect_refused(text, "", "is a text");
  EXPECT_EQ(*format_of("\x08\x08\x12\x00TFL3"sv.substr(0, 4), ""), ModelFormat::onnx);
  EXPECT_EQ(*format_of("\x09\0\0\0\0\0\0\0{}"sv, ""), ModelFormat::onnx);
  EXPECT_EQ(*format_of("<net name='html'/>", ""), ModelFormat::openvino);
}

TEST(ModelFormat, WeightsAreToldWithTheirModel) {
  EXPECT_THAT(described_weights("/some/where/m.BIN"),
              testing::AllOf(HasSubstr("load 'm.xml'"), HasSubstr("missing")));
  EXPECT_EQ(described_weights("m.onnx"), "");
  expect_refused(std::string_view("\x01\x02", 2), "m.bin", "'m.bin' is not a model: a .bin holds");
  EXPECT_EQ(*format_of(std::string_view("\x08\x08", 2), "m.bin"), ModelFormat::onnx);
}

}  // namespace
}  // namespace scanloom
