// A module as an ONNX model: loops become Loop, branches If. What has no ONNX form is an error that
// lists it all.
#pragma once

#include <string>

#include "base/expected.h"
#include "exporters/write_options.h"
#include "ir/module.h"

namespace scanloom::onnx {

/// A ModelProto of opset 18. Types are the module's. Errors: unsupported (operators without a form,
/// each named once).
[[nodiscard]] Expected<std::string> write_model(const ir::Module& module,
                                                const exporters::WriteOptions& options);

}  // namespace scanloom::onnx
