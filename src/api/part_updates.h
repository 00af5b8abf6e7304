// Updates of shared variables that write to parts of them. Such a function does not make the whole
// next value: its module yields what is to be written and where, and when the run has succeeded
// that is written to the value in place. So the run reads the old value throughout, and nothing has
// to be restored if it fails.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <scanloom/value.h>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom {

/// A node that wrote over a part of its first operand (ops/index/part_writes.h).
struct PartWrite {
  const ir::OpDef* op = nullptr;
  std::vector<tensor::Attr> attrs;
  std::string node;  ///< for errors
  /// The operands after the first one, by result of the module; none: absent.
  std::vector<std::optional<std::size_t>> operands;
  bool is_flat = false;  ///< it wrote to the elements in one row
};

/// How a variable gets its next value.
struct SharedUpdate {
  std::size_t whole = 0;          ///< which result that is, where it is made as a whole
  std::vector<PartWrite> writes;  ///< otherwise these, one after the other
};

/// Which results of a module are next values of variables, from `first` on, and by each the
/// argument that is the variable's value now, where there is one.
struct UpdateSites {
  std::size_t first = 0;
  std::vector<std::optional<std::size_t>> arguments;
};

struct SplitUpdates {
  ir::Module module;
  std::vector<SharedUpdate> updates;  ///< by site
};

/// The module yields, for each next value that is the argument with parts written over, what is
/// written. Next values that something else reads stay whole.
SplitUpdates split_updates(ir::Module module, const UpdateSites& sites);

/// Writes to the elements of a value, without errors: everything has been checked.
using WriteParts = std::function<void(void* elements)>;

/// Returns a function that writes an update's parts to a value of that type. `results`: of the
/// module, which outlive that function. Errors, which name the node: sizes that do not fit, an
/// index that is out of range.
Expected<WriteParts> prepare_writes(const SharedUpdate& update, DType dtype,
                                    const tensor::Shape& shape, std::span<const Value> results);

}  // namespace scanloom
