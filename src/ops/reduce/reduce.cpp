// The order of every reduction: the reduced elements in row-major order, one after the other. Sums
// start from 0, products from 1, min and max from the first element. f16, bf16 and narrower
// floating point are reduced in f32 and rounded once; integers wrap. Sums of squares multiply, then
// add. Over no elements a sum is 0, a product 1, a mean NaN (0 for integers), and min and max are
// as in ONNX: the infinity, or the end of the range, that any element would replace.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/math/math.h"
#include "opmath/reduction.h"
#include "ops/indices.h"
#include "ops/lift_rules.h"
#include "ops/lines.h"
#include "ops/named_axes.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/paced_poll.h"
#include "tensor/scalar_arith.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace reduce {

using tensor::Attr;
using tensor::Dim;
using tensor::Operand;
using tensor::Shape;
using tensor::Type;

constexpr int kKind = tensor::kReduceKind;
constexpr int kAxes = tensor::kReduceAxes;
constexpr int kKeepdims = tensor::kReduceKeepdims;
constexpr int kEmptyIsAll = tensor::kReduceEmptyIsAll;
constexpr int kAxesOperand = 1;

enum class Kind : std::uint8_t {
  sum,
  mean,
  max,
  min,
  prod,
  sum_square,
  l1,
  l2,
  log_sum,
  log_sum_exp,
};
constexpr std::array<std::string_view, 10> kKinds = {
    "sum", "mean", "max", "min", "prod", "sum_square", "l1", "l2", "log_sum", "log_sum_exp"};

std::optional<Kind> kind_of(std::string_view text) {
  const auto found = std::ranges::find(kKinds, text);
  if (found == kKinds.end()) return std::nullopt;
  return static_cast<Kind>(found - kKinds.begin());
}

// Tracks computed sizes: the product of Shape is the number of elements.
void follow(ir::InferCtx& ctx, Kind kind) {
  const auto values = ctx.integers(0);
  const Type& y = ctx.outputs()[0];
  if (!values || values->empty() || ctx.dtype() != DType::i64 || ctx.in(0).rank() != 1) return;
  if (!y.is_static() || y.shape().elements() != 1 ||
      static_cast<std::int64_t>(values->size()) > kMaxFollowed)
    return;
  // The other kinds change even a single number.
  if (kind != Kind::sum && kind != Kind::prod && kind != Kind::max && kind != Kind::min) return;
  tensor::DimTable& dims = ctx.dims();
  Dim result = values->front();
  for (const Dim value : std::span(*values).subspan(1)) {
    if (kind == Kind::sum)
      result = dims.add(result, value);
    else if (kind == Kind::prod)
      result = dims.mul(result, value);
    else if (kind == Kind::max)
      result = dims.max(result, value);
    else
      result = dims.min(result, value);
  }
  ctx.set_integers(0, {result});
}

Expected<void> check_dtype(DType dtype, Kind kind) {
  const bool ordered = kind == Kind::max || kind == Kind::min;
  if (is_floating_point(dtype) || is_integer(dtype) || (ordered && dtype == DType::boolean))
    return {};
  return invalid_model("a reduction of kind '{}' does not take elements of type {}",
                       kKinds[static_cast<std::size_t>(kind)], dtype_name(dtype));
}

/// Whether an operand that names no axes means all of them.
bool is_all(const Attr& empty_is_all) {
  return empty_is_all.present() && empty_is_all.integer() != 0;
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  const auto kind = kind_of(ctx.attr(kKind).text());
  if (!kind) return invalid_model("unknown reduction '{}'", ctx.attr(kKind).text());
  SCANLOOM_CHECK_OK(check_dtype(x.dtype, *kind));
  SCANLOOM_TRY(const NamedAxes named, read_named_axes(ctx, ctx.attr(kAxes), kAxesOperand));
  const bool keep = ctx.attr(kKeepdims).integer() != 0;
  if (!x.ranked) {
    ctx.set(0, named.present || keep ? Type::unranked(x.dtype) : Type::scalar(x.dtype));
    return {};
  }
  if (named.present && !named.axes) {
    const bool counted = keep || named.count > 0;
    ctx.set(0, of_unknown_axes(ctx, x.dtype, counted ? x.rank() - (keep ? 0 : named.count) : -1));
    return {};
  }
  const bool none_named = ctx.has(kAxesOperand) && named.count == 0;
  const bool all = !named.present || (none_named && is_all(ctx.attr(kEmptyIsAll)));
  std::vector<int> reduced;
  if (!all) {
    SCANLOOM_TRY(reduced, normalise_axes(ctx, *named.axes, x.rank()));
  }
  std::vector<Dim> sizes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!all && std::ranges::find(reduced, axis) == reduced.end())
      sizes.push_back(x.dims[static_cast<std::size_t>(axis)]);
    else if (keep)
      sizes.push_back(1);
  }
  ctx.set(0, x.dtype, std::move(sizes));
  follow(ctx, *kind);
  return {};
}

/// The type in which elements of T are reduced.
template <class T>
using Wide = std::conditional_t<
    std::is_floating_point_v<T>, T,
    std::conditional_t<tensor::SmallFloatType<T>, float,
                       std::conditional_t<std::is_same_v<T, std::uint64_t>, T, std::int64_t>>>;

template <class W>
W add(W a, W b) {
  if constexpr (std::is_floating_point_v<W>)
    return a + b;
  else
    return static_cast<W>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <class W>
W multiply(W a, W b) {
  if constexpr (std::is_floating_point_v<W>)
    return a * b;
  else
    return static_cast<W>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
template <class W>
W absolute(W a) {
  if constexpr (std::is_floating_point_v<W>)
    return std::fabs(a);
  else
    return a < 0 ? multiply<W>(a, static_cast<W>(-1)) : a;
}
template <class W>
W greater(W a, W b) {
  if constexpr (std::is_floating_point_v<W>)
    return tensor::arith::maximum(a, b);
  else
    return std::max(a, b);
}
template <class W>
W lesser(W a, W b) {
  if constexpr (std::is_floating_point_v<W>)
    return tensor::arith::minimum(a, b);
  else
    return std::min(a, b);
}
template <class W>
W quotient(W a, std::int64_t count) {
  if constexpr (std::is_floating_point_v<W>)
    return a / static_cast<W>(count);
  else
    return count == 0 ? W{0} : a / static_cast<W>(count);
}

/// The elements that are reduced to one element of the result.
template <class T>
class Group {
 public:
  using W = Wide<T>;

  Group(const Shape& dims, const Shape& strides) : rows_(dims.dims()), count_(dims.elements()) {
    rows_.add(strides.data());
  }
  void move_to(const T* first) { first_ = first; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] W first() const { return W(tensor::widen(*first_)); }

  template <class F>
  W fold(W start, F&& f) {
    for (rows_.start(); !rows_.done(); rows_.next())
      for (std::int64_t i = 0; i < rows_.length(); ++i)
        start = f(start, W(tensor::widen(first_[rows_.offset(0) + i * rows_.step(0)])));
    return start;
  }
  /// The sum of what `term` makes of each element, in the order of opmath/reduction.h.
  template <class Sum = W, class F>
  Sum sum_of(F&& term) {
    const auto plus = [](Sum a, Sum b) { return add(a, b); };
    tensor::OrderedSum<Sum> sum(count_);
    fold(W{0}, [&](W, W value) {
      sum.add(term(value), plus);
      return W{0};
    });
    return sum.total(plus);
  }
  W sum() {
    return sum_of([](W value) { return value; });
  }
  W sum_square() {
    return sum_of([](W value) { return multiply(value, value); });
  }

 private:
  tensor::RowCursor<1> rows_;
  std::int64_t count_;
  const T* first_ = nullptr;
};

/// Returns the greatest or least value of T, the result of reductions over no elements.
template <class T>
Wide<T> limit_of_type(bool greatest) {
  using W = Wide<T>;
  if constexpr (std::is_floating_point_v<W>) {
    const W infinity = std::numeric_limits<W>::infinity();
    return greatest ? infinity : -infinity;
  } else if constexpr (tensor::SmallIntType<T>) {
    return greatest ? T::kMax : T::kMin;
  } else {
    return static_cast<W>(greatest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min());
  }
}

// Factors out the greatest element, so that exp does not overflow.
template <class T, class Real>
Real log_sum_exp(Group<T>& group) {
  if (group.count() == 0) return -std::numeric_limits<Real>::infinity();
  using W = Wide<T>;
  const auto greatest =
      static_cast<Real>(group.fold(group.first(), [](W a, W b) { return greater(a, b); }));
  if (!std::isfinite(greatest)) return greatest;
  const Real sum = group.template sum_of<Real>(
      [&](W value) { return math::exp(static_cast<Real>(value) - greatest); });
  return greatest + math::log(sum);
}

template <class T>
T reduce_group(Kind kind, Group<T>& group) {
  using W = Wide<T>;
  // Roots and logarithms of integers are computed in f64.
  using Real = std::conditional_t<std::is_floating_point_v<W>, W, double>;
  const bool empty = group.count() == 0;
  switch (kind) {
    case Kind::sum:
      return tensor::narrow<T>(group.sum());
    case Kind::mean:
      return tensor::narrow<T>(quotient(group.sum(), group.count()));
    case Kind::max:
      return tensor::narrow<T>(
          empty ? limit_of_type<T>(false)
                : group.fold(group.first(), [](W a, W b) { return greater(a, b); }));
    case Kind::min:
      return tensor::narrow<T>(
          empty ? limit_of_type<T>(true)
                : group.fold(group.first(), [](W a, W b) { return lesser(a, b); }));
    case Kind::prod:
      return tensor::narrow<T>(group.fold(W{1}, [](W a, W b) { return multiply(a, b); }));
    case Kind::sum_square:
      return tensor::narrow<T>(group.sum_square());
    case Kind::l1:
      return tensor::narrow<T>(group.sum_of([](W value) { return absolute(value); }));
    case Kind::l2:
      return tensor::arith::convert<T>(std::sqrt(static_cast<Real>(group.sum_square())));
    case Kind::log_sum:
      return tensor::arith::convert<T>(math::log(static_cast<Real>(group.sum())));
    case Kind::log_sum_exp:
      return tensor::arith::convert<T>(log_sum_exp<T, Real>(group));
  }
  return T{};
}

/// The axes of x that are kept, with the strides of x and y, and those that are reduced.
struct Axes {
  Shape kept, x_strides, y_strides, reduced, reduced_strides;
};

// Precondition: inference has checked the axes.
bool is_reduced(const tensor::Call& call, int axis) {
  const int rank = call.in(0).rank;
  const Attr& axes = call.attrs[kAxes];
  if (axes.present() || !call.has(kAxesOperand)) return tensor::is_reduced(axes, axis, rank);
  const Operand& operand = call.in(kAxesOperand);
  const std::int64_t count = operand.elements();
  if (count == 0) return is_all(call.attrs[kEmptyIsAll]);
  for (std::int64_t i = 0; i < count; ++i)
    if (const std::int64_t given = listed_index(operand, i); given == axis || given + rank == axis)
      return true;
  return false;
}

Axes axes_of(const tensor::Call& call) {
  const Operand &x = call.in(0), &y = call.out(0);
  const bool keep = call.attrs[kKeepdims].integer() != 0;
  Axes axes;
  int to = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (is_reduced(call, axis)) {
      axes.reduced.push_back(x.dims[axis]);
      axes.reduced_strides.push_back(x.strides[axis]);
      to += keep ? 1 : 0;
      continue;
    }
    axes.kept.push_back(x.dims[axis]);
    axes.x_strides.push_back(x.strides[axis]);
    axes.y_strides.push_back(y.strides[to++]);
  }
  return axes;
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const auto kind = kind_of(call.attrs[kKind].text());
  if (!kind) return call.fail("unknown reduction");
  const Axes axes = axes_of(call);
  tensor::visit_dtype(call.in(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) {
      Group<T> group(axes.reduced, axes.reduced_strides);
      const std::int64_t work = 1 + group.count();
      tensor::PacedPoll poll(call);
      tensor::for_each_element<2>(axes.kept.dims(), {axes.x_strides.data(), axes.y_strides.data()},
                                  [&](const auto& at) {
                                    if (poll.stops(work)) return;
                                    group.move_to(call.in(0).data<const T>() + at[0]);
                                    call.out(0).data<T>()[at[1]] = reduce_group(*kind, group);
                                  });
    }
  });
  return call.ok_or_stopped();
}

Expected<int> steps(const ir::StepSite& s) {
  const auto axes = ops::axes_of(s, 1);
  if (!axes || axes->empty() || contains(*axes, s.axis(0))) return across("it reduces over them");
  if (attr_of(s.node, "keepdims").integer() != 0) return s.axis(0);
  return without(*axes, s.axis(0));
}

/// Returns the axes that a reduction reduces, sorted; nullopt if an operand names them.
std::optional<std::vector<std::int64_t>> axes_to_lift(const ir::Module& module,
                                                      const ir::Node& node) {
  const int rank = type_of(module, node).rank();
  if (node.inputs.size() > 1 && node.inputs[1].valid()) return std::nullopt;
  if (attr_of(node, "axes").present()) return attribute_axes(node, rank);
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

bool can_lift(ir::Module& module, const ir::Node& node, const std::vector<bool>&) {
  const auto axes = axes_to_lift(module, node);
  return axes && !axes->empty();
}

Expected<ir::Lifted> lift(ir::Builder& builder, const ir::Node& node,
                          const LiftedOperands& operands) {
  const int steps = operands[0].axis;
  int result = steps;
  std::vector<std::int64_t> axes;
  std::vector<ir::NamedAttr> attrs = attrs_but(node, "axes");
  std::erase_if(attrs, [](const ir::NamedAttr& attr) { return attr.name == "empty_is_all"; });
  const bool keeps = attr_of(node, "keepdims").integer() != 0;
  const std::vector<std::int64_t> named = *axes_to_lift(builder.module(), node);
  for (const std::int64_t reduced : named) {
    axes.push_back(axis_in_sequence(static_cast<int>(reduced), steps));
    if (!keeps && reduced < steps) --result;
  }
  attrs.push_back({"axes", std::move(axes)});
  SCANLOOM_TRY(const ir::ValueId value,
               builder.op(*node.op, {operands[0].value}, std::move(attrs)));
  return ir::Lifted{value, result};
}

/// min and max are exact as they are, and without elements their result depends on the type.
bool widens_f16(std::span<const tensor::Attr> attrs) {
  const std::string& kind = attrs[tensor::kReduceKind].text();
  return kind != "max" && kind != "min";
}

}  // namespace reduce
}  // namespace

constinit const ir::OpDef reduce_op{
    .name = "reduce",
    .doc =
        "One number for all elements along `axes`, an attribute or an operand: their sum, mean, "
        "max, min, prod, sum_square, l1, l2, log_sum or log_sum_exp, as `kind` says. Without "
        "`axes`, or where the operand is empty and `empty_is_all`, along all axes.",
    .inputs = {{"x", ir::Accept::tensor},
               {"computed_axes", ir::Accept::index, ir::Arity::optional}},
    .outputs = {"y"},
    .attrs = {{"kind", tensor::AttrKind::text},
              {"axes", tensor::AttrKind::integers, true},
              {"keepdims", tensor::AttrKind::integer},
              {"empty_is_all", tensor::AttrKind::integer, true}},
    .access = ir::Access::reduce,
    .infer = reduce::infer,
    .reference = reduce::reference,
    .widens_f16 = reduce::widens_f16,
    .steps = {.axis = reduce::steps},
    .lifting = {reduce::can_lift, reduce::lift},
};

}  // namespace scanloom::ops
