// ONNX's files of one value (.pb), as they lie in test_data_set_* folders: TensorProto,
// SequenceProto or OptionalProto, whichever the model's input or output is.
#pragma once

#include <string>

#include <scanloom/session.h>

namespace scanloom::cli {

/// Throws Failure.
View read_value_file(const std::string& path, const ValueInfo& info);

/// "float32[2,3]", "sequence of 4", "nothing".
std::string value_text(const View& view);

}  // namespace scanloom::cli
