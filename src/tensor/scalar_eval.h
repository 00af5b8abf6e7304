// Evaluates ScalarPrograms: the oracle of all pointwise code. Dispatches once per instruction for a
// whole column of elements, to keep reference kernels reasonably fast.
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

/// The bits of a ScalarInstr constant for `value`: rounded to nearest even; for integers truncated
/// and saturated, with NaN as 0. Complex: value + 0i (complex128 constants hold only the real
/// part). 0 for strings.
std::uint64_t scalar_bits(double value, DType dtype);
/// As above; integers keep the low bits.
std::uint64_t scalar_bits(std::int64_t value, DType dtype);

/// Whether every instruction is defined for its dtypes: strings have equal and select; complex
/// numbers add, sub, mul, div, neg, equal, select, constant and cast; transcendental functions and
/// is_nan take floating point; bit operations take integers and booleans.
bool supports(const ScalarProgram& program);

/// Copies elements of `dtype`, `step` bytes apart, to and from registers.
void load_scalars(DType dtype, const std::byte* from, std::int64_t step, ScalarReg* to,
                  std::int64_t count);
void store_scalars(DType dtype, const ScalarReg* from, std::byte* to, std::int64_t step,
                   std::int64_t count);

/// Fills the registers of the instructions. Register r of element i is registers[r * count + i];
/// the caller sets the first inputs.size() * count. Precondition: supports(program).
void eval_scalar(const ScalarProgram& program, ScalarReg* registers, std::int64_t count = 1);

}  // namespace scanloom::tensor
