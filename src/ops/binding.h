// Binding: what a front-end knows of a name or port while it reads a graph.
#pragma once

#include <memory>
#include <utility>

#include "ir/builder.h"

namespace scanloom::ops {

/// A value of the region, a constant that is not in the region yet, or both; neither: nothing is
/// given.
struct Binding {
  ir::ValueId value;                               ///< invalid: made from `constant` when needed
  std::shared_ptr<const tensor::Tensor> constant;  ///< null: not known when reading
  bool poisoned = false;                           ///< its maker failed, which has been reported

  [[nodiscard]] bool is_absent() const {
    return !value.valid() && constant == nullptr && !poisoned;
  }
  /// The value, brought into the region of `builder` if need be; invalid where there is none.
  ir::ValueId materialise(ir::Builder& builder) {
    if (!value.valid() && constant != nullptr) value = builder.constant(*constant);
    return value;
  }
  static Binding of(ir::ValueId value) { return {value, nullptr, false}; }
  static Binding of(std::shared_ptr<const tensor::Tensor> constant) {
    return {{}, std::move(constant), false};
  }
  static Binding poison() { return {{}, nullptr, true}; }
};

}  // namespace scanloom::ops
