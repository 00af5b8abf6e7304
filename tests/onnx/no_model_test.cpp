// The errors for bytes that hold no ONNX model.
#include <gmock/gmock.h>

#include "tests/onnx/reading.h"

namespace scanloom::onnx::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string model() {
  ModelBytes made;
  made.graph.inputs = {value_info("x", kFloat, {2})};
  made.graph.outputs = {value_info("y")};
  made.graph.nodes = {NodeBytes("Neg", {"x"}, {"y"})};
  return made.bytes();
}

ReadOptions named(const std::string& name, const std::string& otherwise = {}) {
  ReadOptions options;
  options.name = name;
  options.otherwise = otherwise;
  return options;
}

std::string message(const std::string& bytes, const ReadOptions& options = {}) {
  const Reading reading = read_bytes(bytes, options);
  if (reading.module) return "it is read";
  EXPECT_EQ(reading.module.error().code(), Code::invalid_model);
  EXPECT_EQ(reading.diagnostics.error_count(), 1u);
  return reading.module.error().text();
}

TEST(NoModel, EveryPartOfAModelIsTruncated) {
  const std::string whole = model();
  for (std::size_t size = 1; size < whole.size(); ++size)
    EXPECT_THAT(message(whole.substr(0, size)), HasSubstr("truncated")) << size;
  EXPECT_THAT(message(whole.substr(0, whole.size() / 2), named("'m.onnx'")),
              AllOf(HasSubstr("onnx: 'm.onnx' is truncated, download or copy it again"),
                    HasSubstr("field 7 is "), HasSubstr(" are left")));
}

TEST(NoModel, DamageInsideOfAGraphIsNotCalledTruncated) {
  std::string bytes = model();
  bytes[bytes.find("Neg") - 1] = '\x7f';  // a name longer than its node
  EXPECT_THAT(message(bytes),
              AllOf(HasSubstr("malformed bytes in a NodeProto"), Not(HasSubstr("truncated"))));
}

TEST(NoModel, TensorsAreToldAsSuch) {
  EXPECT_THAT(message(float_tensor("w", {2, 3}, {1, 2, 3, 4, 5, 6})), HasSubstr("TensorProto"));
  EXPECT_THAT(message(raw_tensor("", kFloat, {}, "abcd")), HasSubstr("TensorProto"));
}

TEST(NoModel, OtherFilesOfProtobufAreToldAsSuch) {
  std::string node, graph, saved, meta, core;
  protozero::pbf_writer(node).add_string(1, "x");
  protozero::pbf_writer(node).add_string(2, "Placeholder");
  protozero::pbf_writer(graph).add_message(1, node);
  protozero::pbf_writer(meta).add_message(2, graph);
  protozero::pbf_writer(saved).add_int64(1, 1);
  protozero::pbf_writer(saved).add_message(2, meta);
  protozero::pbf_writer(core).add_int64(1, 4);
  protozero::pbf_writer(core).add_message(2, meta);
  protozero::pbf_writer(core).add_message(502, node);
  EXPECT_THAT(message(graph), HasSubstr("GraphDef"));
  EXPECT_THAT(message(saved), HasSubstr("SavedModel"));
  EXPECT_THAT(message(core), HasSubstr("Core ML"));
  EXPECT_THAT(message(std::string(100, '\0')), HasSubstr("zeros"));
}

TEST(NoModel, WhatElseTheFileMayBeIsSaidFirst) {
  const ReadOptions options = named("'m.bin'", "load 'm.xml'");
  for (const std::string& bytes : {model().substr(0, 20), std::string("\x01\x02"), std::string()})
    EXPECT_EQ(message(bytes, options), "onnx: 'm.bin' is not an ONNX model: load 'm.xml'");
  EXPECT_TRUE(read_bytes(model(), options).module);
}

}  // namespace
}  // namespace scanloom::onnx::test
