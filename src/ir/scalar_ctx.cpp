#include "ir/scalar_ctx.h"

#include "tensor/scalar_eval.h"

namespace scanloom::ir {

Reg ScalarCtx::constant(double value, DType dtype) {
  return program_.append({.op = ScalarOp::constant,
                          .dtype = dtype,
                          .args = {-1, -1, -1},
                          .bits = tensor::scalar_bits(value, dtype)});
}

Reg ScalarCtx::integer(std::int64_t value, DType dtype) {
  return program_.append({.op = ScalarOp::constant,
                          .dtype = dtype,
                          .args = {-1, -1, -1},
                          .bits = tensor::scalar_bits(value, dtype)});
}

}  // namespace scanloom::ir
