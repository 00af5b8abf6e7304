// Reads values stored in ONNX's own form (TensorProto, SequenceProto, OptionalProto, MapProto), as
// in files of test data (input_0.pb, output_0.pb).
#pragma once

#include <cstddef>
#include <span>

#include <scanloom/session.h>

namespace scanloom {

/// Parses the bytes of the message that an input or output described by `info` is stored as. The
/// element type is the file's, even if `info` gives another; the result does not refer to `bytes`.
/// Errors: invalid_argument (other bytes), invalid_model (contradictions), unsupported
/// (sparse tensors, data in other files), out_of_memory.
[[nodiscard]] SCANLOOM_API Expected<Value> parse_stored_value(std::span<const std::byte> bytes,
                                                              const ValueInfo& info);

}  // namespace scanloom
