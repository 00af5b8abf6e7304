// The window of a sliced input of TensorIterator or Loop as a scanned port. Windows are taken as
// written: `end` is inclusive, negative numbers count from the end, any stride and part_size is
// allowed. Source: TensorIterator-1, Loop-5.
#pragma once

#include <string>

#include "frontends/openvino/layer_ctx.h"
#include "ir/loop_ports.h"

namespace scanloom::openvino {

/// The elements from start to end, walked from the first or from the last one.
struct SlicedInput {
  ir::ValueId value;
  ir::ScannedPort port;
};

/// Error: numbers of a window that fit no axis, or are too large to compute with.
Expected<void> check_numbers(const PortEntry& port);

/// `entry`, such as "port_map input 2", begins messages. Errors: an axis that `value` does not
/// have, or that is too short. Precondition: check_numbers reported no error. Warns about elements
/// that fill no slice if their number is known.
Expected<SlicedInput> sliced_input(LayerCtx& ctx, const std::string& entry, const PortEntry& port,
                                   ir::ValueId value);

/// Returns the number of slices, an i64 scalar.
Expected<ir::ValueId> slice_count(ir::Builder& builder, const SlicedInput& input);

}  // namespace scanloom::openvino
