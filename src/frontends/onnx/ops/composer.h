// Composer: the composer of ops/composer.h, which can also read the ONNX node being converted.
//
// Composer c(ctx);
// const ValueId x = c.in(0);
// return c.emit(c.div(x, c.add(c.abs(x), c.like(1, x))));
#pragma once

#include <string>
#include <string_view>

#include "frontends/onnx/node_ctx.h"
#include "ops/composer.h"

namespace scanloom::onnx {

using ops::at_least_f32;
using ops::axes_between;

class Composer : public ops::Composer {
 public:
  explicit Composer(NodeCtx& ctx) : Composer(ctx, ctx.builder()) {}
  /// Appends to another region, such as a body that the node makes. Operands, attributes and
  /// constants belong to the node's own region and must not be used there.
  Composer(NodeCtx& ctx, ir::Builder& builder) : ops::Composer(builder), ctx_(ctx) {}

  [[nodiscard]] NodeCtx& ctx() { return ctx_; }
  /// Sets output 0 to `value` and finishes.
  Expected<void> emit(ValueId value);

  // Operands and attributes of the node. After an error these return an invalid id or zero.

  ValueId in(int i) { return ok() ? take(ctx_.in(i)) : ValueId{}; }
  ValueId optional_in(int i) { return ok() ? take(ctx_.optional_in(i)) : ValueId{}; }
  std::int64_t integer(std::string_view name, std::int64_t fallback);
  double real(std::string_view name, double fallback);
  std::string text(std::string_view name, std::string_view fallback);
  /// Returns the element type whose number is the value of attribute `name`.
  DType dtype_attribute(std::string_view name, DType fallback);
  /// Errors: the rank of input i is unknown (unsupported), or less than `at_least`.
  int rank(int i, ValueId x, int at_least);
  /// Returns attribute `name` as an axis in [0, rank).
  int axis(std::string_view name, std::int64_t fallback, int rank);

 private:
  NodeCtx& ctx_;
};

}  // namespace scanloom::onnx
