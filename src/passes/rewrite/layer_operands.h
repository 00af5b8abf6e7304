// The operands of recurrent layers (ops/recurrent) by their places.
#pragma once

#include <cstddef>

#include "ir/module.h"
#include "ir/op_def.h"

namespace scanloom::passes::layers {

inline constexpr std::size_t kX = 0, kW = 1, kR = 2, kB = 3, kLengths = 4, kInitialH = 5;

/// Whether the operand is an initial state.
inline bool is_state(const ir::Node& node, std::size_t operand) {
  return operand >= kInitialH && operand < kInitialH + node.op->layer_states;
}

}  // namespace scanloom::passes::layers
