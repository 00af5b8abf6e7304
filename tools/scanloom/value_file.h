// Files of values: ONNX's of one value (.pb), as they lie in test_data_set_* folders, TensorProto,
// SequenceProto or OptionalProto, whichever the model's input or output is; and what the element
// types of numpy's files stand for.
#pragma once

#include <string>

#include <scanloom/session.h>

namespace scanloom::cli {

/// Throws Failure.
View read_value_file(const std::string& path, const ValueInfo& info);

/// A tensor from one of numpy's files, which lack some element types: bytes are taken for elements
/// of one byte and fewer where such are declared. `name` says in errors where it comes from. Throws
/// Failure for bytes that are no such element.
View as_declared(const View& tensor, const ValueInfo& info, const std::string& name);

/// "float32[2,3]", "sequence of 4", "nothing".
std::string value_text(const View& view);

}  // namespace scanloom::cli
