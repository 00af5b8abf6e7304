// Writes a module as an ONNX model: loops become Scan or Loop, branches become If. One error lists
// everything that has no ONNX form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "exporters/write_options.h"
#include "ir/module.h"

namespace scanloom::exporters::onnx {

/// Bytes of the external data file, starting at `offset`.
struct DataPiece {
  std::uint64_t offset = 0;
  tensor::Tensor tensor;
};

struct WrittenModel {
  std::string bytes;            ///< a ModelProto
  std::vector<DataPiece> data;  ///< by ascending offset; gaps are zeros
};

/// Where large constants are stored.
struct DataFile {
  std::string name;     ///< file next to the model; empty for none
  bool always = false;  ///< even if the model would fit into 2 GB without it
};

/// Returns a ModelProto of opset 18, or of the lowest newer one that has the element types and
/// operators. Types are the module's. Errors: unsupported (nodes without a form, each named; a
/// model above 2 GB without a data file).
[[nodiscard]] Expected<WrittenModel> write_model(const ir::Module& module,
                                                 const WriteOptions& options,
                                                 const DataFile& file = {});

}  // namespace scanloom::exporters::onnx
