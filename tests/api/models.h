// Small models as bytes, and helpers that the session tests share.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <scanloom/session.h>

#include "tests/onnx/model_builder.h"

namespace scanloom::test {

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// "last", "sums": sums[t] = start + xs[0] + ... + xs[t], xs f32[T, 2], start f32[2].
inline std::string running_sums() {
  using namespace onnx::test;
  GraphBytes body;
  body.inputs = {value_info("before", kFloat, {2}), value_info("x", kFloat, {2})};
  body.outputs = {value_info("after", kFloat, {2}), value_info("row", kFloat, {2})};
  body.nodes = {NodeBytes("Add", {"before", "x"}, {"after"}).name("add_up"),
                NodeBytes("Identity", {"after"}, {"row"})};
  ModelBytes model;
  model.graph.name = "running_sums";
  model.graph.inputs = {value_info("start", kFloat, {2}), value_info("xs", kFloat, {"T", 2})};
  model.graph.outputs = {value_info("last", kFloat, {2}), value_info("sums", kFloat, {"T", 2})};
  model.graph.nodes = {NodeBytes("Scan", {"start", "xs"}, {"last", "sums"})
                           .name("sums")
                           .integer("num_scan_inputs", 1)
                           .graph("body", body.bytes())};
  model.metadata = {{"licence", "none"}};
  return model.bytes();
}

/// "rows": "start" doubled once more in each of as many steps as "xs" has, which nothing else is
/// read of. "last": the last row.
inline std::string doubled_as_often() {
  using namespace onnx::test;
  GraphBytes body;
  body.inputs = {value_info("before", kFloat, {2}), value_info("x", kFloat, {3})};
  body.outputs = {value_info("after", kFloat, {2}), value_info("row", kFloat, {2})};
  body.nodes = {NodeBytes("Add", {"before", "before"}, {"after"}),
                NodeBytes("Identity", {"after"}, {"row"})};
  ModelBytes model;
  model.graph.name = "doubled_as_often";
  model.graph.inputs = {value_info("start", kFloat, {2}), value_info("xs", kFloat, {"T", 3})};
  model.graph.outputs = {value_info("last", kFloat, {2}), value_info("rows", kFloat, {"T", 2})};
  model.graph.nodes = {NodeBytes("Scan", {"start", "xs"}, {"last", "rows"})
                           .name("doubles")
                           .integer("num_scan_inputs", 1)
                           .graph("body", body.bytes())};
  return model.bytes();
}

/// "w": v doubled while it stays under `limit`; both f32[]. Endless for v = 0.
inline std::string doubling() {
  using namespace onnx::test;
  GraphBytes body;
  body.inputs = {value_info("i", kInt64, {}), value_info("go", kBool, {}),
                 value_info("v", kFloat, {})};
  body.outputs = {value_info("more", kBool, {}), value_info("w", kFloat, {})};
  body.nodes = {NodeBytes("Add", {"v", "v"}, {"w"}), NodeBytes("Less", {"w", "limit"}, {"more"})};
  ModelBytes model;
  model.graph.name = "doubling";
  model.graph.inputs = {value_info("v0", kFloat, {}), value_info("limit", kFloat, {})};
  model.graph.outputs = {value_info("last", kFloat, {})};
  model.graph.initialisers = {raw_tensor("yes", kBool, {}, std::string(1, '\1'))};
  model.graph.nodes = {
      NodeBytes("Loop", {"", "yes", "v0"}, {"last"}).name("double").graph("body", body.bytes())};
  return model.bytes();
}

/// Feeds of running_sums, and of others that take as many numbers.
inline constexpr float kStart[] = {10, 20};
inline constexpr float kXs[] = {1, 2, 3, 4, 5, 6, 7, 8};

inline constexpr Execution kExecutions[] = {Execution::automatic, Execution::stepped,
                                            Execution::interpreted, Execution::compiled};

inline Session load(const std::string& model, const SessionOptions& options = {}) {
  return Session::load_bytes(as_bytes(model), options).value_or_throw();
}

inline std::vector<float> floats(const Value& value) {
  const auto elements = value.as<float>();
  return {elements.begin(), elements.end()};
}

}  // namespace scanloom::test
