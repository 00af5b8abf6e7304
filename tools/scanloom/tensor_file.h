// ONNX's TensorProto files (.pb), as they lie in test_data_set_* folders.
#pragma once

#include <string>
#include <string_view>

#include <scanloom/value.h>

namespace scanloom::cli {

/// A tensor and the name it carries in the file, which may be "". Throws Failure.
struct TensorFile {
  std::string name;
  View value;
};
TensorFile read_tensor_file(const std::string& path);

/// The tensor in the bytes of a TensorProto. Throws Failure, and protozero::exception for bytes
/// that are none.
View parse_tensor(std::string_view bytes);

}  // namespace scanloom::cli
