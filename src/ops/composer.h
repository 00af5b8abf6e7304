// Composer: expresses a front-end's operator in terms of operators of the IR. It records the first
// error and then does nothing more, so that formulas read like formulas; done() returns the error.
//
//   Composer c(builder);
//   const ValueId y = c.div(x, c.add(c.abs(x), c.like(1, x)));
//   SCANLOOM_CHECK_OK(c.done());
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ops/ops.h"

namespace scanloom::ops {

class Composer {
 public:
  using ValueId = ir::ValueId;
  using Ints = std::vector<std::int64_t>;

  explicit Composer(ir::Builder& builder) : builder_(builder) {}

  [[nodiscard]] ir::Builder& builder() { return builder_; }
  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  /// Records the error if it is the first.
  void refuse(Error error);
  /// Returns the error, if there was one.
  Expected<void> done();
  /// Returns the value of an Expected, or a default-constructed one after an error.
  template <class T>
  T take(Expected<T> value) {
    if (value) return *std::move(value);
    refuse(std::move(value).error());
    return T{};
  }

  /// Returns f32 after an error.
  [[nodiscard]] DType dtype(ValueId x) const;
  /// Returns the size of an axis if the model determines it, otherwise -1.
  [[nodiscard]] std::int64_t known_size(ValueId x, int axis) const;

  // Constants.

  ValueId scalar(double value, DType dtype);
  /// A scalar of x's element type.
  ValueId like(double value, ValueId x) { return scalar(value, dtype(x)); }
  ValueId number(std::int64_t value);
  ValueId list(const Ints& values);

  // Elements.

  ValueId op(const ir::OpDef& op, std::vector<ValueId> inputs,
             std::vector<ir::NamedAttr> attrs = {});
  ValueId add(ValueId a, ValueId b) { return op(ops::add_op, {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return op(ops::sub_op, {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return op(ops::mul_op, {a, b}); }
  ValueId div(ValueId a, ValueId b) { return op(ops::div_op, {a, b}); }
  ValueId min(ValueId a, ValueId b) { return op(ops::min_op, {a, b}); }
  ValueId max(ValueId a, ValueId b) { return op(ops::max_op, {a, b}); }
  ValueId pow(ValueId a, ValueId b) { return op(ops::pow_op, {a, b}); }
  /// The remainder with the sign of b.
  ValueId mod(ValueId a, ValueId b) { return op(ops::mod_op, {a, b}, {{"fmod", 0}}); }
  ValueId neg(ValueId x) { return op(ops::neg_op, {x}); }
  ValueId abs(ValueId x) { return op(ops::abs_op, {x}); }
  ValueId sqrt(ValueId x) { return op(ops::sqrt_op, {x}); }
  ValueId exp(ValueId x) { return op(ops::exp_op, {x}); }
  ValueId log(ValueId x) { return op(ops::log_op, {x}); }
  ValueId sin(ValueId x) { return op(ops::sin_op, {x}); }
  ValueId cos(ValueId x) { return op(ops::cos_op, {x}); }
  /// Sine divided by cosine; for f16 and bf16, rounded once.
  ValueId tan(ValueId x);
  /// x / 2 * (1 + erf(x * sqrt(1/2))), or its approximation by tanh.
  ValueId gelu(ValueId x, bool by_tanh);
  ValueId less(ValueId a, ValueId b) { return op(ops::less_op, {a, b}); }
  ValueId less_equal(ValueId a, ValueId b) { return op(ops::less_equal_op, {a, b}); }
  ValueId equal(ValueId a, ValueId b) { return op(ops::equal_op, {a, b}); }
  ValueId both(ValueId a, ValueId b) { return op(ops::logical_and_op, {a, b}); }
  ValueId where(ValueId condition, ValueId a, ValueId b) {
    return op(ops::where_op, {condition, a, b});
  }
  ValueId cast(ValueId x, DType to);

  // Sizes, as scalars and lists of i64.

  ValueId dim(ValueId x, std::int64_t axis) { return op(ops::dim_op, {x}, {{"axis", axis}}); }
  ValueId shape(ValueId x, std::int64_t start = 0) {
    return op(ops::shape_op, {x}, {{"start", start}});
  }
  /// The sizes of the axes [start, end).
  ValueId shape(ValueId x, std::int64_t start, std::int64_t end) {
    return op(ops::shape_op, {x}, {{"start", start}, {"end", end}});
  }
  /// Concatenates scalars and lists.
  ValueId join(std::initializer_list<ValueId> parts);
  /// 0, 1, ..., count - 1.
  ValueId count_up(ValueId count) { return op(ops::range_op, {number(0), count, number(1)}); }

  // Shapes.

  ValueId reshape(ValueId x, ValueId shape) {
    return op(ops::reshape_op, {x, shape}, {{"allowzero", 1}});
  }
  ValueId expand(ValueId x, ValueId shape) { return op(ops::expand_op, {x, shape}); }
  ValueId unsqueeze(ValueId x, Ints axes) {
    return op(ops::unsqueeze_op, {x}, {{"axes", std::move(axes)}});
  }
  ValueId squeeze(ValueId x, Ints axes) {
    return op(ops::squeeze_op, {x}, {{"axes", std::move(axes)}});
  }
  ValueId transpose(ValueId x, Ints perm) {
    return op(ops::transpose_op, {x}, {{"perm", std::move(perm)}});
  }
  ValueId concat(std::vector<ValueId> parts, std::int64_t axis) {
    return op(ops::concat_op, std::move(parts), {{"axis", axis}});
  }
  ValueId slice(ValueId x, std::int64_t axis, ValueId start, ValueId end, std::int64_t step = 1);
  ValueId slice(ValueId x, std::int64_t axis, std::int64_t start, std::int64_t end,
                std::int64_t step = 1) {
    return slice(x, axis, number(start), number(end), step);
  }
  ValueId gather(ValueId x, ValueId indices, std::int64_t axis) {
    return op(ops::gather_op, {x, indices}, {{"axis", axis}});
  }
  /// Reshapes x, which has one number per channel, so that it broadcasts along axis 1 of `rank`
  /// axes.
  ValueId per_channel(ValueId x, int rank);

  // Sums.

  /// Reduces `axes`, which stay with size 1.
  ValueId reduce(ValueId x, const char* kind, Ints axes) {
    return op(ops::reduce_op, {x}, {{"kind", kind}, {"axes", std::move(axes)}, {"keepdims", 1}});
  }
  /// Reduces all axes, to a scalar.
  ValueId reduce_all(ValueId x, const char* kind) {
    return op(ops::reduce_op, {x}, {{"kind", kind}, {"keepdims", 0}});
  }
  /// Contracts by an einsum specification; an empty one means numpy's matmul.
  ValueId contract(ValueId a, ValueId b, std::string spec) {
    return op(ops::contract_op, {a, b}, {{"spec", std::move(spec)}});
  }

 private:
  ir::Builder& builder_;
  std::optional<Error> error_;
};

/// Returns a scalar rounded to dtype.
Expected<tensor::Tensor> scalar_of(double value, DType dtype);

/// The dtype to compute in if f16 and bf16 are to be rounded only once, at the end.
[[nodiscard]] inline DType at_least_f32(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

/// Returns a floating-point dtype that holds all numbers of `dtype`: f32 if it does.
[[nodiscard]] inline DType real_that_holds(DType dtype) {
  const bool narrow = is_floating_point(dtype) ? dtype_bytes(dtype) < 8 : dtype_bytes(dtype) <= 2;
  return narrow ? DType::f32 : DType::f64;
}

/// Returns the axes [first, last).
[[nodiscard]] std::vector<std::int64_t> axes_between(int first, int last);

}  // namespace scanloom::ops
