// The order of the sum: the bias, then kernel positions in row-major order, then channels of the
// group. Each product is multiplied and added with two roundings on all machines.
#include <algorithm>

#include "ops/conv_pool/conv_sizes.h"
#include "ops/conv_pool/overlap_add.h"
#include "ops/conv_pool/window_rules.h"
#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {

using tensor::Attr;
using tensor::Dim;
using tensor::kMaxParameter;
using tensor::Operand;
using tensor::read_window_numbers;
using tensor::Type;

constexpr int kBias = 2;
enum AttrIndex : int {
  kAutoPad,
  kDilations,
  kGroup,
  kOutputPadding,
  kOutputShape,
  kPads,
  kStrides,
};

using List = std::array<std::int64_t, tensor::kMaxSpatial>;

/// The attributes, checked and complete.
struct Given {
  bool same = false, upper = false, has_shape = false;
  std::int64_t group = 1;
  List dilation{}, stride{}, extra{}, shape{}, begin{}, end{};
};

Expected<void> read_padding(const Attr& attr, Given& given) {
  if (!attr.present()) return {};
  const std::string& text = attr.text();
  given.upper = text == "same_upper";
  given.same = given.upper || text == "same_lower";
  if (!given.same && text != "explicit" && text != "valid")
    return invalid_model("auto_pad is '{}', not one of explicit, same_upper, same_lower, valid",
                         text);
  return {};
}

Expected<Given> read_attrs(std::span<const Attr> attrs, int spatial) {
  const auto count = static_cast<std::size_t>(spatial);
  const auto first = [count](List& list) { return std::span(list).first(count); };
  Given given;
  SCANLOOM_CHECK_OK(read_padding(attrs[kAutoPad], given));
  if (attrs[kGroup].present()) given.group = attrs[kGroup].integer();
  if (given.group < 1 || given.group >= kMaxParameter)
    return invalid_model("group is {}, outside [1, {})", given.group, kMaxParameter);
  SCANLOOM_CHECK_OK(read_window_numbers(attrs[kDilations], "dilations", 1, first(given.dilation)));
  SCANLOOM_CHECK_OK(read_window_numbers(attrs[kStrides], "strides", 1, first(given.stride)));
  SCANLOOM_CHECK_OK(
      read_window_numbers(attrs[kOutputPadding], "output_padding", 0, first(given.extra)));
  given.has_shape = attrs[kOutputShape].present();
  SCANLOOM_CHECK_OK(
      read_window_numbers(attrs[kOutputShape], "output_shape", 0, first(given.shape)));
  std::array<std::int64_t, 2 * tensor::kMaxSpatial> pads{};
  SCANLOOM_CHECK_OK(read_window_numbers(attrs[kPads], "pads", 0, std::span(pads).first(2 * count)));
  const bool explicit_pads = !attrs[kAutoPad].present() || attrs[kAutoPad].text() == "explicit";
  if (!explicit_pads) return given;
  std::copy_n(pads.begin(), count, given.begin.begin());
  std::copy_n(pads.begin() + spatial, count, given.end.begin());
  return given;
}

/// Returns the span of all taps of all elements of an axis.
Dim reached(ir::InferCtx& ctx, const Given& given, std::size_t i, Dim in, Dim kernel) {
  tensor::DimTable& dims = ctx.dims();
  const Dim steps = dims.mul(dims.sub(in, 1), given.stride[i]);
  const Dim extent = dims.add(dims.mul(dims.sub(kernel, 1), given.dilation[i]), 1);
  return dims.add(dims.add(steps, extent), given.extra[i]);
}

Expected<void> check_operands(ir::InferCtx& ctx, const Given& given) {
  const Type &x = ctx.in(0), &w = ctx.in(1);
  if (x.dims[1].is_constant() && x.dims[1].value() % given.group != 0)
    return invalid_model("{} channels cannot be divided into {} groups", x.dims[1].value(),
                         given.group);
  for (std::size_t axis = 2; axis < x.dims.size(); ++axis)
    if (x.dims[axis].is_constant() && x.dims[axis].value() >= kMaxParameter)
      return invalid_model("x has size {} on axis {}, not below {}", x.dims[axis].value(), axis,
                           kMaxParameter);
  for (std::size_t axis = 2; axis < w.dims.size(); ++axis)
    if (w.dims[axis].is_constant() &&
        (w.dims[axis].value() < 1 || w.dims[axis].value() >= kMaxParameter))
      return invalid_model("w has size {} on axis {}, outside [1, {})", w.dims[axis].value(), axis,
                           kMaxParameter);
  SCANLOOM_CHECK_OK(same_size(ctx, x.dims[1], w.dims[0], "axis 1 of x and axis 0 of w"));
  if (!ctx.has(kBias) || !ctx.in(kBias).ranked) return {};
  const Type& bias = ctx.in(kBias);
  if (bias.rank() != 1) return invalid_model("b has {} axes, not 1", bias.rank());
  SCANLOOM_CHECK_OK(
      same_size(ctx, bias.dims[0], ctx.dims().mul(w.dims[1], given.group), "b and the result"));
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type &x = ctx.in(0), &w = ctx.in(1);
  if (x.dtype != DType::f32 && x.dtype != DType::f64)
    return fail(Code::unsupported, "x has elements of type {}, not f32 or f64",
                dtype_name(x.dtype));
  if (!x.ranked || !w.ranked) {
    const int rank = x.ranked ? x.rank() : w.rank();
    ctx.set(0, x.ranked || w.ranked ? ctx.fresh(x.dtype, rank) : Type::unranked(x.dtype));
    return {};
  }
  if (x.rank() != w.rank() || x.rank() < 3 || x.rank() > tensor::kMaxRank)
    return invalid_model("x has {} axes and w has {}; both need as many, three at least", x.rank(),
                         w.rank());
  SCANLOOM_TRY(const Given given, read_attrs(ctx.attrs(), x.rank() - 2));
  SCANLOOM_CHECK_OK(check_operands(ctx, given));
  std::vector<Dim> sizes = {x.dims[0], ctx.dims().mul(w.dims[1], given.group)};
  for (std::size_t i = 0; i + 2 < x.dims.size(); ++i) {
    if (given.has_shape)
      sizes.emplace_back(given.shape[i]);
    else if (given.same)
      sizes.push_back(ctx.dims().mul(x.dims[i + 2], given.stride[i]));
    else
      sizes.push_back(ctx.dims().sub(reached(ctx, given, i, x.dims[i + 2], w.dims[i + 2]),
                                     given.begin[i] + given.end[i]));
  }
  return set_sizes(ctx, 0, x.dtype, std::move(sizes));
}

OverlapGeometry geometry_of(const Given& given, const Operand& x, const Operand& w,
                            const Operand& y) {
  OverlapGeometry geometry;
  geometry.spatial = x.rank - 2;
  for (int axis = 0; axis < geometry.spatial; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    OverlapAxis& one = geometry.axes[i];
    one = {x.dims[axis + 2], y.dims[axis + 2],  w.dims[axis + 2],
           given.stride[i],  given.dilation[i], given.begin[i]};
    if (!given.has_shape && !given.same) continue;
    // The size was given: the excess is cropped on both sides.
    const std::int64_t all =
        (one.in - 1) * one.stride + given.extra[i] + (one.kernel - 1) * one.dilation + 1;
    const std::int64_t cut = std::max<std::int64_t>(all - one.out, 0);
    one.pad = given.upper ? cut / 2 : cut - cut / 2;
  }
  return geometry;
}

template <class T>
void start_with_bias(const tensor::Call& call) {
  const Operand& y = call.out(0);
  tensor::Shape bias = tensor::Shape::filled(y.rank, 0);
  if (call.has(kBias)) bias[1] = call.in(kBias).strides[0];
  const T* const from = call.has(kBias) ? call.in(kBias).data<const T>() : nullptr;
  tensor::for_each_element<2>(
      {y.dims, static_cast<std::size_t>(y.rank)}, {y.strides, bias.data()},
      [&](const auto& at) { y.data<T>()[at[0]] = from == nullptr ? T{0} : from[at[1]]; });
}

template <class T>
void add_row(T* y, std::int64_t y_step, const T* x, std::int64_t x_step, T w, std::int64_t count) {
  if (y_step == 1 && x_step == 1) {
    for (std::int64_t i = 0; i < count; ++i) y[i] += x[i] * w;
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) y[i * y_step] += x[i * x_step] * w;
}

template <class T>
void add_tap(const tensor::Call& call, std::int64_t group, OverlapTap& tap) {
  const Operand &x = call.in(0), &w = call.in(1), &y = call.out(0);
  const std::int64_t channels = x.dims[1] / group, filters = w.dims[1];
  std::int64_t w_tap = 0;
  for (int axis = w.rank - 1; axis >= 2; --axis) {
    w_tap += tap.number % w.dims[axis] * w.strides[axis];
    tap.number /= w.dims[axis];
  }
  for (std::int64_t image = 0; image < x.dims[0]; ++image)
    for (std::int64_t filter = 0; filter < group * filters; ++filter) {
      const std::int64_t first = filter / filters * channels;
      T* const to = y.data<T>() + tap.y_offset + image * y.strides[0] + filter * y.strides[1];
      for (std::int64_t channel = first; channel < first + channels; ++channel) {
        const T factor =
            w.data<const T>()[w_tap + channel * w.strides[0] + filter % filters * w.strides[1]];
        const T* const from =
            x.data<const T>() + tap.x_offset + image * x.strides[0] + channel * x.strides[1];
        for (tap.rows.start(); !tap.rows.done(); tap.rows.next())
          add_row(to + tap.rows.offset(1), tap.rows.step(1), from + tap.rows.offset(0),
                  tap.rows.step(0), factor, tap.rows.length());
      }
    }
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &x = call.in(0), &w = call.in(1), &y = call.out(0);
  const auto given = read_attrs({call.attrs, conv_transpose_op.attrs.size()}, x.rank - 2);
  if (!given) return call.fail("the operands do not fit the attributes");
  const OverlapGeometry geometry = geometry_of(*given, x, w, y);
  const auto run = [&]<class T>(std::type_identity<T>) {
    start_with_bias<T>(call);
    if (x.empty() || w.empty()) return;
    for_each_overlap(geometry, x.strides + 2, y.strides + 2,
                     [&](OverlapTap& tap) { add_tap<T>(call, given->group, tap); });
  };
  if (y.dtype == DType::f64)
    run(std::type_identity<double>{});
  else
    run(std::type_identity<float>{});
  return tensor::Status::ok;
}

}  // namespace

constinit const ir::OpDef conv_transpose_op{
    .name = "conv_transpose",
    .doc =
        "The transpose of a convolution: x [batch, channels, ...], w [channels, filters / group, "
        "...]. auto_pad is explicit (by `pads`, which cut off the result), valid, or same_upper "
        "and same_lower, which make size * stride elements; `output_shape` says how many there "
        "are, and `output_padding` adds some at the end.",
    .inputs = {{"x", ir::Accept::real},
               {.name = "w", .accept = ir::Accept::real, .same_as = 0},
               {"b", ir::Accept::real, ir::Arity::optional, 0}},
    .outputs = {"y"},
    .attrs = {{"auto_pad", tensor::AttrKind::text, true},
              {"dilations", tensor::AttrKind::integers, true},
              {"group", tensor::AttrKind::integer, true},
              {"output_padding", tensor::AttrKind::integers, true},
              {"output_shape", tensor::AttrKind::integers, true},
              {"pads", tensor::AttrKind::integers, true},
              {"strides", tensor::AttrKind::integers, true}},
    .infer = infer,
    .reference = reference,
    .batching = ir::Batching::call,
    .widens_halves = ir::always_widens,
    .products = products_of_conv,
    .steps = {.axis = steps_of_windows},
    .lifting = kLiftWindows,
};

}  // namespace scanloom::ops
