// StepEmitter: chooses the functions that compute the instructions of element programs on columns.
// Which values are columns, and where steps go, the kernel says that derives from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/byte_product.h"
#include "kernels/element_fns.h"
#include "kernels/joined_fns.h"
#include "kernels/quantized_steps.h"
#include "kernels/simd.h"

namespace scanloom::kernels {

/// A value while steps are emitted. Columns get their places later, when lifetimes are known.
struct StepValue {
  enum class Kind : std::uint8_t { none, constant, column, input, output };
  Kind kind = Kind::none;
  int index = 0;
  DType dtype = DType::f32;

  friend bool operator==(const StepValue&, const StepValue&) = default;
};

using StepArgs = std::array<StepValue, 3>;

class StepEmitter {
 public:
  StepEmitter(const StepEmitter&) = delete;
  StepEmitter& operator=(const StepEmitter&) = delete;

  /// Emits the steps of an instruction whose registers are given; returns its result. nullopt: the
  /// instruction is not defined for its element types.
  std::optional<StepValue> emit_instr(const tensor::ScalarInstr& instr,
                                      std::span<const StepValue> registers);
  /// Emits one step for the instructions that quantize or dequantize an element.
  std::optional<StepValue> emit_quantized(const QuantizedStep& step,
                                          std::span<const StepValue> registers);

  /// Emits one step for a sum of dequantized bytes that is quantized.
  StepValue emit_quantized_pair(QuantizedPair pair, std::span<const StepValue> registers);

 protected:
  StepEmitter(Isa isa, std::vector<std::uint64_t>& constants)
      : simd_(simd_tables(isa)),
        bytes_(byte_tables(isa)),
        joined_(joined_fns(isa)),
        constants_(constants) {}
  ~StepEmitter() = default;

  /// Whether the value is one element for all elements of the step's result.
  [[nodiscard]] virtual bool is_single(const StepValue& value) const = 0;
  /// Returns the value as a column. Broadcasts it if it is single.
  virtual StepValue spread(const StepValue& value) = 0;
  /// Adds a step; returns the column that it computes.
  virtual StepValue add_step(ElementFn fn, DType dtype, const StepArgs& args) = 0;
  StepValue constant(std::uint64_t bits, DType dtype);
  /// A constant of several numbers, which are stored one after the other.
  template <class T>
  StepValue constants(const T& numbers);

  [[nodiscard]] const SimdTables& simd() const { return simd_; }

 private:
  StepValue emit(ElementFn fn, DType dtype, const StepArgs& args);
  StepValue emit_columns(ElementFn fn, DType dtype, StepArgs args);
  StepValue fold(ElementFn fn, DType dtype, const StepArgs& args);
  std::optional<StepValue> as_compute(const StepValue& value);
  std::optional<StepValue> emit_select(DType dtype, const StepArgs& args);
  std::optional<StepValue> emit_cast(const StepValue& from, DType to);
  /// The number that a constant register holds; `absent` if there is no such register.
  template <class T>
  T number_at(std::int32_t reg, std::span<const StepValue> registers, T absent) const;
  [[nodiscard]] ElementFn direct_conversion(DType from, DType to) const;
  std::optional<StepValue> emit_arithmetic(const tensor::ScalarInstr& instr, StepArgs args);
  std::optional<StepValue> emit_vectors(tensor::ScalarOp op, DType dtype, DType result,
                                        StepArgs args);

  const SimdTables& simd_;
  const ByteTables& bytes_;
  const JoinedFns& joined_;
  std::vector<std::uint64_t>& constants_;
};

}  // namespace scanloom::kernels
