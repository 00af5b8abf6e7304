// Values in ONNX's own form (TensorProto, SequenceProto, OptionalProto), as files of test data
// (input_0.pb, output_0.pb) hold them.
#pragma once

#include <cstddef>
#include <span>

#include <scanloom/session.h>

namespace scanloom {

/// The value in the bytes of the message that such an input or output needs: `info` says which.
/// Elements are those of the file, whatever `info` says of their type; nothing refers to `bytes`
/// afterwards. Errors: invalid_argument (other bytes), invalid_model (contradictions), unsupported
/// (maps, sparse tensors, data in other files), out_of_memory.
[[nodiscard]] SCANLOOM_API Expected<Value> parse_stored_value(std::span<const std::byte> bytes,
                                                              const ValueInfo& info);

}  // namespace scanloom
