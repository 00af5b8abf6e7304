// Binding: what a front-end knows about a name or port while it reads a graph.
#pragma once

#include <memory>
#include <utility>

#include "ir/builder.h"

namespace scanloom::ops {

/// A value of the region, a constant that is not in the region yet, or both. Neither: absent.
struct Binding {
  ir::ValueId value;                               ///< invalid: created from `constant` when needed
  std::shared_ptr<const tensor::Tensor> constant;  ///< null: not known while reading
  bool poisoned = false;                           ///< its producer failed, which has been reported

  [[nodiscard]] bool is_absent() const {
    return !value.valid() && constant == nullptr && !poisoned;
  }
  /// Returns the value, adding the constant to the region of `builder` if necessary. Invalid if
  /// there is neither.
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
