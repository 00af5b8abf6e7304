// from_onnx: reads an ONNX model as expressions, to loop over, differentiate and combine with
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

/// The expressions that a model computes. substitute() replaces the inputs by other expressions.
struct ModelExpressions {
  std::vector<Expr> inputs;  ///< named as in the model, in its order
  std::vector<std::string> output_names;
  std::vector<Expr> outputs;
};

/// Facts about the inputs that are known in advance. They decide whatever depends on them, such as
/// branches whose regions return different numbers of axes.
struct FromOnnxOptions {
  /// Fixed sizes by input name; -1: known only when a function is called.
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> sizes = {};
  /// Fixed values by input name, copied. Such an input is no longer an input of the result.
  std::vector<std::pair<std::string, View>> values = {};
  SessionOptions session = {};
};

/// Reads an ONNX model; weights become constants. Where two inputs of open sizes meet element by
/// element, their sizes must be equal when a function of them is called (see Expr). Errors: those
/// of Session::load; unsupported, naming the node, for a value that is a sequence, an optional or a
/// string, or has an unknown number of axes; not_found and invalid_argument for the options.
[[nodiscard]] SCANLOOM_API Expected<ModelExpressions> from_onnx(
    const std::string& path, const FromOnnxOptions& options = {});
/// Reads the model from memory; `bytes` need not outlive the call.
[[nodiscard]] SCANLOOM_API Expected<ModelExpressions> from_onnx_bytes(
    std::span<const std::byte> bytes, const FromOnnxOptions& options = {});

}  // namespace scanloom
