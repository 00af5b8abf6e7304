// Models of other projects, stored next to this project or in the download cache: each can be read,
// passes the verifier and gives plausible results.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tests/onnx/reading.h"

namespace scanloom::onnx::test {
namespace {

namespace fs = std::filesystem;
using tensor::Shape;
using tensor::Tensor;

struct RealModel {
  const char* name;
  std::vector<fs::path> places;  // the first that exists
  std::vector<Shape> feeds;      // of f32; a scalar i64 16000 where the shape is empty
  std::vector<Shape> results;
};

fs::path shared(const char* file) { return fs::path(SCANLOOM_SHARED_DIR) / "models" / file; }
fs::path cached(const char* file) { return fs::path(SCANLOOM_CACHE_DIR) / "silero-vad" / file; }

std::vector<RealModel> real_models() {
  const std::vector<Shape> vad = {{1, 576}, {2, 1, 128}, {}}, no_rate = {{1, 576}, {2, 1, 128}};
  const std::vector<Shape> vad_results = {{1, 1}, {2, 1, 128}};
  return {
      {"silero_vad", {shared("silero_vad.onnx"), cached("silero_vad.onnx")}, vad, vad_results},
      {"silero_vad_16k_op15", {cached("silero_vad_16k_op15.onnx")}, vad, vad_results},
      {"silero_vad_16k_sequence",
       {cached("silero_vad_16k_sequence.onnx")},
       {{5, 576}, {1, 1, 128}, {1, 1, 128}},
       {{5}, {1, 1, 128}, {1, 1, 128}}},
      {"silero_vad_half", {cached("silero_vad_half.onnx")}, no_rate, vad_results},
      {"silero_vad_op18_ifless",
       {cached("silero_vad_op18_ifless.onnx")},
       {{1, 576}, {}, {2, 1, 128}},
       vad_results},
      {"silero_vad_openvino_16k", {cached("silero_vad_openvino_16k.onnx")}, no_rate, vad_results},
      {"qlstm", {shared("qlstm/model.onnx")}, {{3, 3}}, {{3, 3}}},
      {"cntk_bilstm_scan",
       {shared("cntk_bilstm_scan.onnx")},
       {{17, 1, 3}},
       {{1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {17, 1, 2}}},
      {"knn_cdist_scan", {shared("knn_cdist_scan.onnx")}, {{17, 4}}, {{17, 2}}},
  };
}

Tensor feed_of(const Shape& shape) {
  if (shape.rank() == 0) return ints({}, {16000});
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    values.push_back(0.3f * std::sin(0.7f * static_cast<float>(i)));
  return floats(shape, values);
}

class RealModelOf : public ::testing::TestWithParam<RealModel> {};

TEST_P(RealModelOf, IsReadVerifiedAndRun) {
  const RealModel& model = GetParam();
  const auto found = std::ranges::find_if(model.places, [](const fs::path& path) {
    std::error_code problem;
    return fs::is_regular_file(path, problem);
  });
  if (found == model.places.end()) GTEST_SKIP() << "there is no " << model.places.front();
  Diagnostics diagnostics;
  const auto module = read_model_file(found->string(), {}, diagnostics);
  ASSERT_TRUE(module) << module.error().message();
  const auto verified = ir::verify(*module);
  ASSERT_TRUE(verified) << verified.error().message();
  std::vector<Tensor> feeds;
  for (const Shape& shape : model.feeds) feeds.push_back(feed_of(shape));
  const auto outputs = interp::interpret(*module, feeds);
  ASSERT_TRUE(outputs) << outputs.error().message();
  ASSERT_EQ(outputs->size(), model.results.size());
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    EXPECT_EQ((*outputs)[i].shape(), model.results[i]) << i;
    for (const float value : float_values((*outputs)[i])) ASSERT_TRUE(std::isfinite(value)) << i;
  }
}

void PrintTo(const RealModel& model, std::ostream* out) { *out << model.name; }

INSTANTIATE_TEST_SUITE_P(Onnx, RealModelOf, ::testing::ValuesIn(real_models()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace scanloom::onnx::test
