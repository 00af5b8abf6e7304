// Shared by all pointwise operators. Everything follows from `scalar`, the element program: types
// by running it over the dtypes, sizes by numpy's broadcasting, the reference kernel by evaluating
// it element by element. The planner and the loop compiler start from the same program.
#pragma once

#include <optional>
#include <span>

#include "ir/op_def.h"

namespace scanloom::ops {

using ScalarFn = ir::Reg (*)(ir::ScalarCtx&);

/// Returns the element program of `op` for operands of these dtypes (nullopt: an absent optional
/// operand). Its inputs are the operands that are present, in order; it has one result.
/// Preconditions: op.scalar is set; attrs are complete and in the order that op declares.
tensor::ScalarProgram pointwise_program(const ir::OpDef& op,
                                        std::span<const std::optional<DType>> inputs,
                                        std::span<const tensor::Attr> attrs);

/// Errors: invalid_model (dtypes or sizes that do not match), unsupported (dtypes without element
/// programs: strings and complex numbers).
Expected<void> infer_pointwise(ir::InferCtx& ctx, ScalarFn scalar);
/// Takes any strides; sizes of 1 broadcast. Error: out_of_memory.
tensor::Status run_pointwise(const tensor::Call& call, ScalarFn scalar) noexcept;

/// The two functions above in the form that an OpDef holds.
template <ScalarFn kScalar>
Expected<void> infer_from_scalar(ir::InferCtx& ctx) {
  return infer_pointwise(ctx, kScalar);
}
template <ScalarFn kScalar>
tensor::Status reference_from_scalar(const tensor::Call& call) noexcept {
  return run_pointwise(call, kScalar);
}

}  // namespace scanloom::ops
