// Updates of shared variables that write only parts of them. The module of such a function does not
// compute the whole next value: it yields the data and indices of the writes (api/split_updates.h),
// which are applied to the value in place after the run has succeeded. So the run reads the old
// value throughout, and a failure leaves nothing to restore.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <scanloom/value.h>

#include "base/expected.h"
#include "ir/op_def.h"

namespace scanloom {

/// The result of the module, one boolean, that says whether a write is done.
struct WriteCondition {
  std::size_t result = 0;
  bool wanted = true;  ///< the write is done if the result is this
};

/// A node that overwrites part of its first operand (OpDef::writes_part).
struct PartWrite {
  const ir::OpDef* op = nullptr;
  std::vector<tensor::Attr> attrs;
  std::string node;  ///< for errors
  /// The operands after the first, by result of the module; none: absent.
  std::vector<std::optional<std::size_t>> operands;
  bool is_flat = false;  ///< it addresses the elements as one flat row
  /// Those of the branches around the node, outermost first. If one does not hold, the later ones
  /// and the operands mean nothing.
  std::vector<WriteCondition> conditions;
};

/// How a variable gets its next value.
struct SharedUpdate {
  std::size_t whole = 0;          ///< the result that is the next value, if it is computed as a
                                  ///< whole
  std::vector<PartWrite> writes;  ///< otherwise these, one after the other
};

/// Writes to the elements of a value. Cannot fail: everything has been checked.
using WriteParts = std::function<void(void* elements)>;

/// Returns a function that applies an update's writes to a value of this type, or an empty one if
/// their conditions exclude all of them. `results` are those of the module and must outlive the
/// returned function. Errors, which name the node: sizes that do not fit, an index out of range.
Expected<WriteParts> prepare_writes(const SharedUpdate& update, DType dtype,
                                    const tensor::Shape& shape, std::span<const Value> results);

}  // namespace scanloom
