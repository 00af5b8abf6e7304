// Files of values: ONNX's .pb files, as in test_data_set_* folders, which hold a TensorProto,
// SequenceProto or OptionalProto, depending on the model's input or output; and the mapping of the
// element types of numpy's files.
#pragma once

#include <string>

#include <scanloom/session.h>

namespace scanloom::cli {

/// Reads a value from a .pb file. Throws Failure.
View read_value_file(const std::string& path, const ValueInfo& info);

/// Converts a tensor from a numpy file to the declared type. numpy lacks some types of at most one
/// byte, whose elements are stored as bytes. `name` names the source in errors. Throws Failure if a
/// byte is not a valid element.
View as_declared(const View& tensor, const ValueInfo& info, const std::string& name);

/// Returns for example "float32[2,3]", "sequence of 4" or "nothing".
std::string value_text(const View& view);

}  // namespace scanloom::cli
