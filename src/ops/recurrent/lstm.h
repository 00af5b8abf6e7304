// The operands and attributes of lstm, by position.
#pragma once

#include "ir/op_def.h"

namespace scanloom::ops {

enum class LstmInput : std::uint8_t { x, w, r, b, sequence_lens, initial_h, initial_c, p };
enum class LstmOutput : std::uint8_t { y, y_h, y_c };
enum class LstmAttr : std::uint8_t {
  direction,
  hidden_size,
  layout,
  input_forget,
  clip,
  activations,
};

/// The reference kernel; lstm.cpp states the order of the sums.
tensor::Status run_lstm(const tensor::Call& call) noexcept;

}  // namespace scanloom::ops
