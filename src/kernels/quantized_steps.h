// Finds the instructions of element programs that together quantize or dequantize an element, so
// that one function computes them: those that plan/bind writes for quantize_linear and
// dequantize_linear, and those of operators that scale bytes or subtract zero points in f32.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tensor/scalar.h"

namespace scanloom::kernels {

/// Registers of the operands; scale is -1 if it is 1, zero if it is 0. `integer` is the dtype on
/// that side.
struct QuantizedStep {
  bool quantizes = false;
  std::int32_t x = -1, scale = -1, zero = -1;
  DType integer = DType::u8;
};

/// A sum or product of two dequantized bytes, or of one and a single number, that is quantized to a
/// byte of their type. The number is b, with f32 as its type.
struct QuantizedPair {
  QuantizedStep a, b, result;
  bool multiplies = false;
  [[nodiscard]] bool has_number() const { return b.integer == DType::f32; }
};

struct QuantizedSteps {
  std::vector<std::optional<QuantizedStep>> at;     ///< by the last instruction
  std::vector<std::optional<QuantizedPair>> pairs;  ///< of those whose parameters are constants
  std::vector<bool> is_needed;  ///< the others are part of such a step, or nothing reads them
};

/// Registers that are known before the program runs.
struct KnownRegisters {
  /// Whether a register holds one element for all, as a scale or zero point must.
  std::function<bool(std::int32_t)> is_single;
  std::function<bool(std::int32_t)> is_constant;
};

QuantizedSteps find_quantized_steps(const tensor::ScalarProgram& program,
                                    const KnownRegisters& known);

}  // namespace scanloom::kernels
