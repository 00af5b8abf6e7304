// from_onnx: ONNX models as expressions, to be looped over, differentiated and combined with
// others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <scanloom/expr.h>
#include <scanloom/options.h>

namespace scanloom {

/// What a model computes. substitute() puts other expressions in the place of the inputs.
struct ModelExpressions {
  std::vector<Expr> inputs;  ///< named as in the model, in its order
  std::vector<std::string> output_names;
  std::vector<Expr> outputs;
};

/// What is known of the inputs beforehand. It settles what depends on them, such as branches whose
/// sides have different numbers of axes.
struct FromOnnxOptions {
  /// By the name of an input the sizes that it always has; -1: known when a function is called.
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> sizes = {};
  /// By the name of an input its value, which is copied; it is no input any more.
  std::vector<std::pair<std::string, View>> values = {};
  SessionOptions session = {};
};

/// Reads an ONNX model; weights are constants. Two inputs of open sizes that meet element by
/// element must be of equal sizes when a function of them is called, see Expr. Errors: those of
/// Session::load; unsupported, where a value is a sequence, an optional or a text, or of an unknown
/// number of axes, by the name of its node; not_found and invalid_argument, of the options.
[[nodiscard]] SCANLOOM_API Expected<ModelExpressions> from_onnx(
    const std::string& path, const FromOnnxOptions& options = {});
/// The same from memory; `bytes` need not outlive the call.
[[nodiscard]] SCANLOOM_API Expected<ModelExpressions> from_onnx_bytes(
    std::span<const std::byte> bytes, const FromOnnxOptions& options = {});

}  // namespace scanloom
