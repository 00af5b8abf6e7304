// A few operators small enough to be obvious, for tests of the IR that must not depend on src/ops.
#pragma once

#include "ir/op_def.h"

namespace scanloom::ir::local {

/// y = a + b on f32 or i64, broadcasting; follows integers.
extern const OpDef plus_op;
/// y = x, of any type.
extern const OpDef same_op;
/// i64[rank]: the sizes of x.
extern const OpDef sizes_op;
/// a and b joined along axis 0.
extern const OpDef join_op;
/// x with the sizes that an i64 vector holds.
extern const OpDef resize_op;
/// A vector of a length that only the data tell.
extern const OpDef filter_op;
/// i64 a; faults if it is negative.
extern const OpDef check_op;
/// a < b of i64 scalars.
extern const OpDef before_op;
/// Removes axis 0, which must have size 1.
extern const OpDef drop_op;

}  // namespace scanloom::ir::local
