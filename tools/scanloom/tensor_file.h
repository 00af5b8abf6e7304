// ONNX's TensorProto files (.pb), as they lie in test_data_set_* folders.
#pragma once

#include <string>

#include <scanloom/value.h>

namespace scanloom::cli {

/// A tensor and the name it carries in the file, which may be "". Throws Failure.
struct TensorFile {
  std::string name;
  View value;
};
TensorFile read_tensor_file(const std::string& path);

}  // namespace scanloom::cli
