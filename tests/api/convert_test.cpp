// Conversion through the C++ and the C interface: files, states of both, mistakes.
#include <scanloom/convert.h>
#include <scanloom/function.h>
#include <scanloom/scan.h>
#include <scanloom/scanloom.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanloom {
namespace {

namespace fs = std::filesystem;

class Conversion : public ::testing::Test {
 protected:
  Conversion()
      : folder_(fs::path(::testing::TempDir()) / ("convert_" + std::to_string(::getpid()))) {
    fs::create_directory(folder_);
  }
  ~Conversion() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  const fs::path folder_;
};

/// Running sums of x.
Function sums() {
  const Expr x = input("x", DType::f64, {-1});
  const Expr rows = scan({.sequences = {x}, .initial = {number(0, DType::f64)}, .name = "sums"},
                         [](const StepInputs& step) { return step.state(0) + step[0]; });
  return Function::compile({x}, {rows}).value_or_throw();
}

double last_of(const std::string& path) {
  const std::vector<double> x{1, 2, 3};
  const Session session = Session::load(path).value_or_throw();
  const Results results = session.run({{"x", view(x.data(), {3})}}).value_or_throw();
  return static_cast<const double*>(results[0].data())[2];
}

TEST_F(Conversion, OfAFunctionAndOfASavedOne) {
  const Function function = sums();
  ASSERT_TRUE(function.to_onnx(path("f.onnx")));
  EXPECT_EQ(last_of(path("f.onnx")), 6);
  ASSERT_TRUE(function.save(path("f.scanloom")));
  ASSERT_TRUE(convert(path("f.scanloom"), path("g.onnx")));
  EXPECT_EQ(last_of(path("g.onnx")), 6);
  ASSERT_TRUE(convert(path("g.onnx"), path("h.ONNX")));
  EXPECT_EQ(last_of(path("h.ONNX")), 6);
}

TEST_F(Conversion, ToAnIrAndBack) {
  ASSERT_TRUE(sums().to_openvino(path("f.xml")));
  EXPECT_TRUE(fs::exists(path("f.bin")));
  EXPECT_EQ(last_of(path("f.xml")), 6);
  ASSERT_TRUE(convert(path("f.xml"), path("f.onnx")));
  EXPECT_EQ(last_of(path("f.onnx")), 6);
  ASSERT_TRUE(convert(path("f.onnx"), path("g.xml")));
  EXPECT_EQ(last_of(path("g.xml")), 6);
}

TEST_F(Conversion, FromMemory) {
  const std::string model = sums().to_onnx().value_or_throw();
  ASSERT_TRUE(convert_bytes(std::as_bytes(std::span(model)), path("f.onnx")));
  EXPECT_EQ(last_of(path("f.onnx")), 6);
}

TEST_F(Conversion, ReplacesNothingThatItReadsOrThatBelongsToOthers) {
  ASSERT_TRUE(sums().to_openvino(path("f.xml")));
  const auto itself = convert(path("f.xml"), path("f.xml"));
  EXPECT_EQ(itself.error().code(), Code::invalid_argument);
  EXPECT_THAT(itself.error().text(), testing::HasSubstr("belongs to the model being read"));
  ASSERT_TRUE(sums().to_onnx(path("g.onnx")));
  std::ofstream(path("h.bin")) << "somebody's";
  const auto other = convert(path("g.onnx"), path("h.xml"));
  EXPECT_THAT(other.error().text(), testing::HasSubstr("h.bin' would be replaced"));
  EXPECT_EQ(fs::file_size(path("h.bin")), 10u);
  EXPECT_FALSE(fs::exists(path("h.xml")));
}

TEST_F(Conversion, LeavesNothingBehindWhereItFails) {
  ASSERT_TRUE(sums().to_onnx(path("f.onnx")));
  fs::create_directory(path("folder.xml"));
  const auto folder = convert(path("f.onnx"), path("folder.xml"));
  EXPECT_THAT(folder.error().text(), testing::HasSubstr("cannot be written"));
  const auto missing = convert(path("none.onnx"), path("g.onnx"));
  EXPECT_EQ(missing.error().code(), Code::not_found);
  const auto unknown = convert(path("f.onnx"), path("g.txt"));
  EXPECT_THAT(unknown.error().text(), testing::HasSubstr("in neither .onnx nor .xml"));
  EXPECT_EQ(files(), 2u);
}

TEST_F(Conversion, InC) {
  ASSERT_TRUE(sums().to_onnx(path("f.onnx")));
  EXPECT_EQ(scanloom_convert(path("f.onnx").c_str(), path("g.onnx").c_str(), nullptr, nullptr),
            SCANLOOM_OK);
  EXPECT_EQ(last_of(path("g.onnx")), 6);
  scanloom_error* error = nullptr;
  EXPECT_EQ(scanloom_convert(nullptr, "g.onnx", nullptr, &error), SCANLOOM_INVALID_ARGUMENT);
  EXPECT_THAT(scanloom_error_text(error), testing::HasSubstr("from"));
  scanloom_error_free(error);
}

}  // namespace
}  // namespace scanloom
