// convert: converts models between formats. Loops stay loops and branches stay branches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <scanloom/expected.h>
#include <scanloom/options.h>
#include <scanloom/value.h>

namespace scanloom {

struct ConvertOptions {
  /// How the model is read: lenient, seed, fed_defaults, on_warning. Options of execution are
  /// ignored.
  SessionOptions session = {};
  /// ONNX: writes weights to a separate file `<name>.onnx.data`. Models above 2 GB, the limit of an
  /// ONNX file, always use one.
  bool external_data = false;
  /// Turns values that loops carry along a sequence of open length into states of the written
  /// model, as SessionOptions::low_latency does: the sequence is then fed in pieces. Models only.
  bool stream = false;
  /// Fixed sizes by input name; -1: open. Models only.
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> sizes = {};
  /// Fixed values by input name, copied. Such an input is not an input of the written model, and
  /// branches that it decides are replaced by the region that is taken. Models only.
  std::vector<std::pair<std::string, View>> values = {};
};

/// Reads an ONNX model, an OpenVINO IR or a function written by Function::save, and writes it in
/// the format given by the extension of `to`: .onnx, or .xml with a .bin next to it. Existing files
/// are replaced together once everything has been written; a failure leaves them unchanged.
///
/// ONNX has no states. A state that a model keeps between runs (ReadValue and Assign), or a shared
/// variable that is updated, becomes an input `name` and an output `name (next)`. If the model
/// computes the initial value of a state, a boolean input `name/kept` says whether `name` has a
/// value yet: pass false first, and true whenever `name` is fed the last `name (next)`.
///
/// Errors: those of Session::load; invalid_argument (another extension, `to` is `from` or its
/// weights, a file cannot be written); unsupported, listing all operators that the target format
/// cannot express; not_found and invalid_argument for sizes and values.
[[nodiscard]] SCANLOOM_API Expected<void> convert(const std::string& from, const std::string& to,
                                                  const ConvertOptions& options = {});
/// Converts a model in memory.
[[nodiscard]] SCANLOOM_API Expected<void> convert_bytes(std::span<const std::byte> bytes,
                                                        const std::string& to,
                                                        const ConvertOptions& options = {});

}  // namespace scanloom
