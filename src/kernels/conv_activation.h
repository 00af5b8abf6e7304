// Activations that convolutions in blocks of filters compute on complete sums (conv_blocks.h), and
// how they are recognised in element programs. Used by conv_epilogue.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

#include "tensor/scalar.h"

namespace scanloom::kernels {

/// A function of one element, each of whose operations rounds.
template <class T>
struct ConvActivation {
  enum class Kind : std::uint8_t {
    none,
    limits,                ///< x, limited to [low, high]
    line,                  ///< slope * x + offset, limited so
    divided_line,          ///< the same, divided by `divisor`
    gate,                  ///< x * line
    divided_gate,          ///< (x * line) / divisor
    gate_of_divided_line,  ///< x * (line / divisor)
    leak,                  ///< x, or slope * x where x is less than 0
  };
  Kind kind = Kind::none;
  /// NaN passes limits. `low` is less than `high`, not -0, and `high` not 0, so that the order in
  /// which they are applied makes no difference.
  T slope{}, offset{}, low{}, high{}, divisor{};

  /// Whether it is max(x, 0), or min(max(x, 0), high).
  [[nodiscard]] bool clamps_at_zero() const { return kind == Kind::limits && low == 0; }
  template <class To>
  [[nodiscard]] ConvActivation<To> as() const {
    return {.kind = static_cast<typename ConvActivation<To>::Kind>(kind),
            .slope = static_cast<To>(slope),
            .offset = static_cast<To>(offset),
            .low = static_cast<To>(low),
            .high = static_cast<To>(high),
            .divisor = static_cast<To>(divisor)};
  }
};

/// Returns the activation of register `x` that the program computes from instruction `first` on as
/// its only result, in `dtype`, which is f32 or f64. `number_of`: the value of a register that is a
/// constant.
std::optional<ConvActivation<double>> find_activation(
    const tensor::ScalarProgram& program, std::size_t first, std::int32_t x, DType dtype,
    const std::function<std::optional<double>(std::int32_t)>& number_of);

}  // namespace scanloom::kernels
