// Reads models that tests build, and runs them with the interpreter.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "frontends/onnx/read.h"
#include "interp/interpreter.h"
#include "ir/op_def.h"
#include "ir/verify.h"
#include "tests/onnx/model_builder.h"

namespace scanloom::onnx::test {

/// The result of reading a model, with all diagnostics.
struct Reading {
  Expected<ir::Module> module = invalid_model("nothing was read");
  Diagnostics diagnostics;
  ModelInfo info;
};

inline Reading read_bytes(const std::string& bytes, const ReadOptions& options = {}) {
  Reading reading;
  auto owner = std::make_shared<const std::string>(bytes);
  reading.module = read_model(owner, *owner, options, reading.diagnostics, &reading.info);
  return reading;
}

inline Reading read(const ModelBytes& model, const ReadOptions& options = {}) {
  return read_bytes(model.bytes(), options);
}

inline tensor::Tensor floats(const tensor::Shape& shape, const std::vector<float>& values) {
  return tensor::Tensor::of<float>(shape, values);
}

inline tensor::Tensor ints(const tensor::Shape& shape, const std::vector<std::int64_t>& values) {
  return tensor::Tensor::of<std::int64_t>(shape, values);
}

inline tensor::Tensor boolean(bool value) { return tensor::Tensor::scalar<bool>(value); }

/// Reads, verifies and interprets; the outputs, none after a failure, which the test reports.
inline std::vector<tensor::Tensor> run(const ModelBytes& model,
                                       const std::vector<tensor::Tensor>& feeds,
                                       const ReadOptions& options = {}) {
  const Reading reading = read(model, options);
  if (!reading.module) {
    for (const Error& error : reading.diagnostics.errors()) ADD_FAILURE() << error.message();
    return {};
  }
  if (const auto verified = ir::verify(*reading.module); !verified) {
    ADD_FAILURE() << verified.error().message();
    return {};
  }
  auto outputs = interp::interpret(*reading.module, feeds);
  if (!outputs) {
    ADD_FAILURE() << outputs.error().message();
    return {};
  }
  return *std::move(outputs);
}

/// The error of interpreting a model that can be read; its code and message.
inline Error run_error(const ModelBytes& model, const std::vector<tensor::Tensor>& feeds) {
  const Reading reading = read(model);
  if (!reading.module) {
    ADD_FAILURE() << reading.module.error().message();
    return reading.module.error();
  }
  auto outputs = interp::interpret(*reading.module, feeds);
  if (outputs) {
    ADD_FAILURE() << "the model runs";
    return fail(Code::internal, "none");
  }
  return outputs.error();
}

/// Returns the first node of the top region with that operator, or nullptr.
inline const ir::Node* find_node(const ir::Module& module, std::string_view op) {
  for (const ir::NodeId id : module.region(module.top()).nodes)
    if (module.node(id).op->name == op) return &module.node(id);
  return nullptr;
}

inline std::vector<float> float_values(const tensor::Tensor& tensor) {
  EXPECT_EQ(tensor.dtype(), DType::f32);
  const auto* data = static_cast<const float*>(tensor.data());
  return {data, data + tensor.elements()};
}

inline std::vector<std::int64_t> int_values(const tensor::Tensor& tensor) {
  return tensor::to_integers(tensor).value_or(std::vector<std::int64_t>());
}

}  // namespace scanloom::onnx::test
