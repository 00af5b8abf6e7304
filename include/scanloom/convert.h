// convert: models from one format to another. Loops stay loops and branches stay branches.
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
  /// How the model is read: lenient, seed, fed_defaults, on_warning. What says how it would run has
  /// no meaning here.
  SessionOptions session = {};
  /// ONNX: weights in a file of their own, `<name>.onnx.data`. Models above 2 GB, which no ONNX
  /// file may hold, have one in any case.
  bool external_data = false;
  /// What loops carry along a sequence of open length becomes states of what is written, as
  /// SessionOptions::low_latency makes it: the sequence is fed in pieces. Models only.
  bool stream = false;
  /// By the name of an input the sizes that it always has; -1: open. Models only.
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> sizes = {};
  /// By the name of an input its value, which is copied; it is no input of what is written, and
  /// branches that it decides give way to the side that is taken. Models only.
  std::vector<std::pair<std::string, View>> values = {};
};

/// Reads an ONNX model, an IR of OpenVINO or a function that Function::save has written, and writes
/// it as what the extension of `to` says: .onnx, or .xml with a .bin beside it. Files that exist
/// are replaced, all at once when everything has been written: a failure leaves them as they were.
///
/// States that a model keeps between runs (ReadValue and Assign), and shared variables that are
/// updated, become in ONNX, which has none, an input `name` and an output `name (next)`. Where the
/// model computes what a state begins with, a boolean input `name/kept` says whether `name` has a
/// value yet: false at first, true whenever it is fed what `name (next)` was.
///
/// Errors: those of Session::load; invalid_argument (an extension that is none of these, `to` is
/// `from` or its weights, a file cannot be written); unsupported, with all operators that the other
/// format has no form for; not_found and invalid_argument, of sizes and values.
[[nodiscard]] SCANLOOM_API Expected<void> convert(const std::string& from, const std::string& to,
                                                  const ConvertOptions& options = {});
/// The same of a model in memory.
[[nodiscard]] SCANLOOM_API Expected<void> convert_bytes(std::span<const std::byte> bytes,
                                                        const std::string& to,
                                                        const ConvertOptions& options = {});

}  // namespace scanloom
