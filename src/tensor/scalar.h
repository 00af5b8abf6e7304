// ScalarProgram: the computation of a pointwise operator on one element, as a short list of
// instructions over registers. The common source of the reference kernels, the vector kernels and
// the machine code.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include <scanloom/dtype.h>

namespace scanloom::tensor {

enum class ScalarOp : std::uint8_t {
#define SCANLOOM_SCALAR(name, arguments, result) name,
#include "tensor/scalar_ops.inc"
#undef SCANLOOM_SCALAR
};

[[nodiscard]] const char* scalar_op_name(ScalarOp op);
[[nodiscard]] int scalar_op_arguments(ScalarOp op);
[[nodiscard]] bool scalar_op_compares(ScalarOp op);

/// `dtype` is the type that the instruction computes in: for a comparison, that of its arguments;
/// for a cast, that of its result. Arguments are registers; the first one of select is the boolean.
struct ScalarInstr {
  ScalarOp op = ScalarOp::constant;
  DType dtype = DType::f32;
  std::int32_t args[3] = {-1, -1, -1};
  std::uint64_t bits = 0;  ///< for a constant: its bits in dtype, zero-extended
  friend bool operator==(const ScalarInstr&, const ScalarInstr&) = default;
};

/// Registers 0 .. inputs.size()-1 are the inputs; instruction i writes register inputs.size()+i.
/// f16, bf16 and narrower floating-point types are computed in f32 and rounded after every
/// instruction.
struct ScalarProgram {
  std::vector<DType> inputs;
  std::vector<ScalarInstr> instrs;
  std::vector<std::int32_t> results;

  [[nodiscard]] DType register_dtype(std::int32_t index) const {
    const auto count = static_cast<std::int32_t>(inputs.size());
    if (index < count) return inputs[static_cast<std::size_t>(index)];
    const ScalarInstr& instr = instrs[static_cast<std::size_t>(index - count)];
    return scalar_op_compares(instr.op) ? DType::boolean : instr.dtype;
  }
  std::int32_t append(ScalarInstr instr) {
    instrs.push_back(instr);
    return static_cast<std::int32_t>(inputs.size() + instrs.size() - 1);
  }
  friend bool operator==(const ScalarProgram&, const ScalarProgram&) = default;
};

}  // namespace scanloom::tensor
