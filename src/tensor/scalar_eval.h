// Evaluates ScalarPrograms: the oracle of all pointwise code. One dispatch per instruction serves a
// whole column of elements, so that reference kernels are not unbearably slow.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/scalar.h"

namespace scanloom::tensor {

/// A value of any dtype: the bytes of the element in memory, zero-extended (f32: the low 32 bits of
/// `low`; i4: its sign-extended byte; complex128 and strings fill both words).
struct ScalarReg {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const ScalarReg&, const ScalarReg&) = default;
};

/// What a ScalarInstr constant holds for `value`: rounded to nearest even; of integers: truncated,
/// saturated, NaN is 0. Complex: value + 0i (complex128 constants hold the real part alone). 0 for
/// strings.
std::uint64_t scalar_bits(double value, DType dtype);
/// As above; integers keep the low bits.
std::uint64_t scalar_bits(std::int64_t value, DType dtype);

/// Whether every instruction is defined for its dtypes: strings know equal and select; complex
/// numbers add, sub, mul, div, neg, equal, select, constant and cast; transcendental functions and
/// is_nan take reals; bit operations take integers and booleans.
bool supports(const ScalarProgram& program);

/// Elements of `dtype`, `step` bytes apart, to and from registers.
void load_scalars(DType dtype, const std::byte* from, std::int64_t step, ScalarReg* to,
                  std::int64_t count);
void store_scalars(DType dtype, const ScalarReg* from, std::byte* to, std::int64_t step,
                   std::int64_t count);

/// Fills the registers of the instructions. Register r of element i is registers[r * count + i];
/// the first inputs.size() * count of them are given. Precondition: supports(program).
void eval_scalar(const ScalarProgram& program, ScalarReg* registers, std::int64_t count = 1);

}  // namespace scanloom::tensor
