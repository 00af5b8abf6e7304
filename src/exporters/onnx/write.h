// A module as an ONNX model: loops become Scan or Loop, branches If. What has no ONNX form is an
// error that lists it all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "exporters/write_options.h"
#include "ir/module.h"

namespace scanloom::exporters::onnx {

/// Bytes of the file of external data, from `offset` on.
struct DataPiece {
  std::uint64_t offset = 0;
  tensor::Tensor tensor;
};

struct WrittenModel {
  std::string bytes;            ///< a ModelProto
  std::vector<DataPiece> data;  ///< by ascending offset; gaps are zeros
};

/// Where large constants go.
struct DataFile {
  std::string name;     ///< of the file beside the model; empty: there is none
  bool always = false;  ///< also for a model that would fit into 2 GB without it
};

/// A ModelProto of opset 18, or of the lowest one that has the element types and operators. Types
/// are the module's. Errors: unsupported (nodes without a form, each named; a model above 2 GB
/// without a file for its data).
[[nodiscard]] Expected<WrittenModel> write_model(const ir::Module& module,
                                                 const WriteOptions& options,
                                                 const DataFile& file = {});

}  // namespace scanloom::exporters::onnx
