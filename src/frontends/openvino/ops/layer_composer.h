// LayerComposer: the composer of ops/composer.h, which can also read the layer being converted.
// After an error operands are invalid and attributes 0; emit() returns the error.
#pragma once

#include "frontends/openvino/layer_ctx.h"
#include "frontends/openvino/wide_sizes.h"
#include "ops/composer.h"

namespace scanloom::openvino {

class LayerComposer : public ops::Composer {
 public:
  explicit LayerComposer(LayerCtx& ctx) : ops::Composer(ctx.builder()), ctx_(ctx) {}

  [[nodiscard]] LayerCtx& ctx() { return ctx_; }
  /// Sets output 0 to `value` and finishes.
  Expected<void> emit(ValueId value) { return ctx_.emit(*this, value); }

  ValueId in(int i) { return ok() ? take(ctx_.in(i)) : ValueId{}; }
  ValueId optional_in(int i) { return ok() ? take(ctx_.optional_in(i)) : ValueId{}; }
  /// Returns input i, in the type in which f16 and bf16 are computed.
  ValueId wide_in(int i) {
    const ValueId value = in(i);
    return cast(value, ops::at_least_f32(dtype(value)));
  }
  /// Returns input i, integers that are sizes, as i64.
  ValueId sizes_in(int i) {
    const ValueId value = in(i);
    return ok() ? cast(widest(builder(), value), DType::i64) : ValueId{};
  }
  int rank(int i, ValueId x, int at_least = 0) {
    return ok() ? take(ctx_.rank(i, x, at_least)) : 0;
  }
  Ints constant_integers(int i) { return ok() ? take(ctx_.constant_integers(i)) : Ints{}; }
  std::int64_t integer(std::string_view name, std::int64_t fallback) {
    return take(ctx_.attributes.integer(name, fallback));
  }
  double real(std::string_view name, double fallback) {
    return take(ctx_.attributes.real(name, fallback));
  }
  bool flag(std::string_view name, bool fallback) {
    return take(ctx_.attributes.boolean(name, fallback));
  }
  std::string choice(std::string_view name, std::string_view fallback,
                     std::initializer_list<std::string_view> choices) {
    return take(ctx_.attributes.choice(name, fallback, choices));
  }
  /// Returns the attribute as an axis in [0, rank).
  std::int64_t axis(std::string_view name, std::int64_t fallback, int rank) {
    return checked_axis(integer(name, fallback), rank);
  }
  /// Returns the constants of input i as axes in [0, rank).
  Ints axes(int i, int rank) {
    Ints result;
    for (const std::int64_t one : constant_integers(i)) result.push_back(checked_axis(one, rank));
    return result;
  }

 private:
  std::int64_t checked_axis(std::int64_t axis, int rank) {
    if (ok() && (axis < -rank || axis >= rank))
      refuse(invalid_model("axis {} is outside [-{}, {})", axis, rank, rank));
    return axis < 0 ? axis + rank : axis;
  }

  LayerCtx& ctx_;
};

}  // namespace scanloom::openvino
