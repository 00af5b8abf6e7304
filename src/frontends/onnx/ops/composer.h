// Composer: the one of ops/composer.h, which also reads the ONNX node that it writes.
//
//   Composer c(ctx);
//   const ValueId x = c.in(0);
//   return c.emit(c.div(x, c.add(c.abs(x), c.like(1, x))));
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
  /// constants are those of the node's own region: of them nothing may be used there.
  Composer(NodeCtx& ctx, ir::Builder& builder) : ops::Composer(builder), ctx_(ctx) {}

  [[nodiscard]] NodeCtx& ctx() { return ctx_; }
  /// Sets output 0 to `value`, and is done.
  Expected<void> emit(ValueId value);

  // What the node says. After an error: nothing, zero.

  ValueId in(int i) { return ok() ? take(ctx_.in(i)) : ValueId{}; }
  ValueId optional_in(int i) { return ok() ? take(ctx_.optional_in(i)) : ValueId{}; }
  std::int64_t integer(std::string_view name, std::int64_t fallback);
  double real(std::string_view name, double fallback);
  std::string text(std::string_view name, std::string_view fallback);
  /// The element type that attribute `name` numbers.
  DType dtype_attribute(std::string_view name, DType fallback);
  /// Errors: input i has an unknown number of axes (unsupported), or less than `at_least`.
  int rank(int i, ValueId x, int at_least);
  /// The attribute `name` as an axis of `rank` axes, from 0 on.
  int axis(std::string_view name, std::int64_t fallback, int rank);

 private:
  NodeCtx& ctx_;
};

}  // namespace scanloom::onnx
