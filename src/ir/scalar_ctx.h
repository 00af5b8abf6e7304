// ScalarCtx: how an operator writes its element program. Appends to a ScalarProgram; the registers
// of the operator's inputs are given, so that the bodies of whole loops can be composed.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/attr.h"
#include "tensor/scalar.h"

namespace scanloom::ir {

using Reg = std::int32_t;
using tensor::ScalarOp;

class ScalarCtx {
 public:
  ScalarCtx(tensor::ScalarProgram& program, std::span<const Reg> inputs,
            std::span<const tensor::Attr> attrs)
      : program_(program), inputs_(inputs), attrs_(attrs) {}

  [[nodiscard]] int input_count() const { return static_cast<int>(inputs_.size()); }
  [[nodiscard]] bool has(int i) const { return i < input_count() && inputs_[at(i)] >= 0; }
  [[nodiscard]] Reg in(int i) const { return inputs_[at(i)]; }
  [[nodiscard]] DType dtype(Reg reg) const { return program_.register_dtype(reg); }
  [[nodiscard]] const tensor::Attr& attr(int i) const { return attrs_[at(i)]; }

  /// Computes in the dtype of `a`.
  Reg unary(ScalarOp op, Reg a) { return append(op, dtype(a), a); }
  Reg binary(ScalarOp op, Reg a, Reg b) { return append(op, dtype(a), a, b); }
  Reg mul_add(Reg a, Reg b, Reg c) { return append(ScalarOp::mul_add, dtype(a), a, b, c); }
  Reg select(Reg condition, Reg a, Reg b) {
    return append(ScalarOp::select, dtype(a), condition, a, b);
  }
  Reg cast(Reg a, DType to) { return append(ScalarOp::cast, to, a); }
  /// Casts `a`; `a` itself if it already has this dtype.
  Reg as(Reg a, DType to) { return dtype(a) == to ? a : cast(a, to); }
  /// `value` rounded to dtype.
  Reg constant(double value, DType dtype);
  Reg integer(std::int64_t value, DType dtype);

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  Reg append(ScalarOp op, DType dtype, Reg a = -1, Reg b = -1, Reg c = -1) {
    return program_.append({.op = op, .dtype = dtype, .args = {a, b, c}, .bits = 0});
  }

  tensor::ScalarProgram& program_;
  std::span<const Reg> inputs_;
  std::span<const tensor::Attr> attrs_;
};

}  // namespace scanloom::ir
