// The window of a sliced input of TensorIterator or Loop as a scanned port. Windows are taken as
// written: `end` inclusive, negative numbers from the end, any stride and part_size. Source:
// TensorIterator-1, Loop-5.
#pragma once

#include <string>

#include "frontends/openvino/layer_ctx.h"
#include "ir/loop_ports.h"

namespace scanloom::openvino {

/// The elements between start and end, walked from the first or last one of them on.
struct SlicedInput {
  ir::ValueId value;
  ir::ScannedPort port;
};

/// Error: numbers of a window that no axis fits, or that are too large to compute with.
Expected<void> check_numbers(const PortEntry& port);

/// `entry`: "port_map input 2", which messages begin with. Errors: an axis that `value` has not or
/// that is too short. Precondition: check_numbers has given none. Elements that fill no slice are
/// warned of where their number is known.
Expected<SlicedInput> sliced_input(LayerCtx& ctx, const std::string& entry, const PortEntry& port,
                                   ir::ValueId value);

/// How many slices there are, an i64 scalar.
Expected<ir::ValueId> slice_count(ir::Builder& builder, const SlicedInput& input);

}  // namespace scanloom::openvino
