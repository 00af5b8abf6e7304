// AvgPool, MaxPool, AdaptiveAvgPool, AdaptiveMaxPool.
#include <algorithm>
#include <limits>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"
#include "frontends/openvino/ops/operands.h"
#include "frontends/openvino/ops/windows.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

struct Pool {
  Windows windows;
  std::vector<std::int64_t> kernel;
  std::string rounding;

  [[nodiscard]] std::vector<ir::NamedAttr> attributes() const {
    auto attrs = windows.attributes();
    attrs.push_back({"kernel", kernel});
    attrs.push_back({"ceil_mode", rounding == "ceil_torch"});
    return attrs;
  }
};

Expected<Pool> pool_of(LayerCtx& ctx) {
  Pool pool;
  SCANLOOM_TRY(pool.windows, windows_of(ctx));
  SCANLOOM_TRY(pool.kernel, ctx.attributes.integers("kernel"));
  if (pool.kernel.empty()) return invalid_model("attribute 'kernel' is missing");
  SCANLOOM_TRY(pool.rounding,
               ctx.attributes.choice("rounding_type", "floor", {"floor", "ceil", "ceil_torch"}));
  SCANLOOM_CHECK_OK(complete(pool.windows, pool.kernel.size()));
  return pool;
}

/// Mode ceil is rounding down with more padding at the end. Mode ceil_torch leaves out windows that
/// would start in that padding, as the operators' own rounding up does.
void round_up(Pool& pool) {
  if (pool.rounding != "ceil" || pool.windows.padding != "explicit") return;
  for (std::size_t i = 0; i < pool.kernel.size(); ++i)
    pool.windows.end[i] += pool.windows.strides[i] - 1;
}

/// Whether the divisor is the size of the kernel, including elements outside of x. Without pads
/// OpenVINO counts no elements outside, although rounding up may make windows reach there.
bool counts_kernel(const Pool& pool) {
  const auto is_given = [](std::int64_t pad) { return pad != 0; };
  return pool.windows.padding != "explicit" || std::ranges::any_of(pool.windows.begin, is_given) ||
         std::ranges::any_of(pool.windows.end, is_given);
}

/// Adds padding so that the last windows fit entirely: their divisor is the kernel size, while the
/// operator counts only explicit pads. The padding is less than the reach of a window, so none
/// starts in it.
void round_up_as_torch(Pool& pool) {
  if (pool.rounding != "ceil_torch" || pool.windows.padding != "explicit") return;
  pool.rounding = "floor";
  for (std::size_t i = 0; i < pool.kernel.size(); ++i) {
    const std::int64_t reach = (pool.kernel[i] - 1) * pool.windows.dilations[i];
    std::int64_t& end = pool.windows.end[i];
    end = std::max(end, std::min(end + pool.windows.strides[i] - 1, reach));
  }
}

}  // namespace

Expected<void> convert_avg_pool(LayerCtx& ctx) {
  LayerComposer c(ctx);
  SCANLOOM_TRY(Pool pool, pool_of(ctx));
  const bool excludes =
      c.flag(ctx.attributes.has("exclude_pad") ? "exclude_pad" : "exclude-pad", true);
  const bool counts = !excludes && counts_kernel(pool);
  round_up(pool);
  if (counts) round_up_as_torch(pool);
  auto attrs = pool.attributes();
  attrs.push_back({"count_include_pad", counts});
  return c.emit(c.op(ops::average_pool_op, {c.in(0)}, std::move(attrs)));
}

namespace {

/// Returns element indices counted from `axis` on, in the type given by index_element_type.
ValueId indices_of(LayerComposer& c, ValueId x, ValueId numbers, std::int64_t axis) {
  const DType dtype = c.take(c.ctx().attributes.dtype("index_element_type", DType::i64));
  if (axis > 0) numbers = c.mod(numbers, c.reduce_all(c.shape(x, axis), "prod"));
  return c.cast(numbers, dtype);
}

}  // namespace

// Since opset 8 it also returns the indices of the elements.
Expected<void> convert_max_pool(LayerCtx& ctx) {
  LayerComposer c(ctx);
  SCANLOOM_TRY(Pool pool, pool_of(ctx));
  round_up(pool);
  const ValueId x = c.in(0);
  auto attrs = pool.attributes();
  attrs.push_back({"storage_order", 0});
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(ops::max_pool_op, {x}, std::move(attrs), 2));
  const std::vector<ValueId> results = ctx.module().node(node).outputs;
  ctx.set_output(0, results[0]);
  if (ctx.version() == 1) return {};
  const std::int64_t axis = c.axis("axis", 0, c.rank(0, x, 3));
  const ValueId indices = indices_of(c, x, results[1], axis);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(1, indices);
  return {};
}

namespace {

/// The windows along one axis of an adaptive pool. Window o covers the elements from floor(o * in /
/// out) to ceil((o + 1) * in / out).
struct AdaptiveAxis {
  ValueId elements;  // [out, largest window]; shorter windows repeat the last element
  ValueId inside;    // whether the element is within the window; shaped as elements
  ValueId count;     // [out]
};

AdaptiveAxis adaptive_axis(ops::Composer& c, ValueId in, ValueId out) {
  const ValueId one = c.number(1), window = c.unsqueeze(c.count_up(out), {1});
  const ValueId start = c.div(c.mul(window, in), out);
  const ValueId end = c.div(c.sub(c.add(c.mul(c.add(window, one), in), out), one), out);
  // A window that starts within an element of in / out may reach one element further.
  const ValueId most = c.add(c.div(c.sub(c.add(in, out), one), out), one);
  const ValueId at = c.add(start, c.count_up(most));
  return {c.min(at, c.sub(in, one)), c.less(at, end), c.squeeze(c.sub(end, start), {1})};
}

/// Reshapes `what` for x with axis `axis` of `rank` split into [out, elements of a window].
ValueId under_windows(ops::Composer& c, ValueId what, int axis, int rank) {
  return axis + 1 < rank ? c.unsqueeze(what, ops::axes_between(2, rank - axis + 1)) : what;
}

/// Returns the number of outputs for each axis after the first two. Errors: a wrong number of them,
/// x is not floating point.
ValueId adaptive_sizes(LayerComposer& c, ValueId x, int rank) {
  if (c.ok() && !is_floating_point(c.dtype(x)))
    c.refuse(invalid_model("input 0 is {}, which is not floating-point", dtype_name(c.dtype(x))));
  const std::int64_t count = c.known_size(c.in(1), 0);
  if (c.ok() && count >= 0 && count != rank - 2)
    c.refuse(invalid_model("input 1 has {} sizes for the {} axes of input 0 after the first two",
                           count, rank - 2));
  const ValueId sizes = c.sizes_in(1);
  if (c.ok() && c.ctx().constant(1) != nullptr) {
    for (const std::int64_t size : c.constant_integers(1))
      if (size < 0) c.refuse(invalid_model("input 1 has the size {}, less than 0", size));
  } else {
    const ValueId least = c.reduce_all(sizes, "min");
    c.op(ops::check_equal_op, {least, c.max(least, c.number(0))},
         {{"text", "a size of the result is {}, but at least {} is needed"}});
  }
  limit_elements(c, c.join({c.shape(x, 0, 2), sizes}));
  return sizes;
}

}  // namespace

// One axis after another: the sum over a window is the sum of the sums of its rows.
Expected<void> convert_adaptive_avg_pool(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.in(0);
  const int rank = c.rank(0, x, 3);
  const DType dtype = c.dtype(x);
  const ValueId sizes = adaptive_sizes(c, x, rank);
  ValueId y = c.cast(x, ops::at_least_f32(dtype));
  for (int axis = rank - 1; axis >= 2; --axis) {
    const ValueId out = c.gather(sizes, c.number(axis - 2), 0);
    const AdaptiveAxis windows = adaptive_axis(c, c.dim(x, axis), out);
    const ValueId spread = c.gather(y, windows.elements, axis);
    const ValueId inside = under_windows(c, windows.inside, axis, rank);
    const ValueId sums =
        c.squeeze(c.reduce(c.where(inside, spread, c.like(0, y)), "sum", {axis + 1}), {axis + 1});
    ValueId count = c.cast(windows.count, c.dtype(y));
    if (axis + 1 < rank) count = c.unsqueeze(count, ops::axes_between(1, rank - axis));
    y = c.div(sums, count);
  }
  return c.emit(c.cast(y, dtype));
}

// The maximum of a window is the maximum of the maxima of its rows. Indices number the elements of
// a plane.
Expected<void> convert_adaptive_max_pool(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.in(0);
  const int rank = c.rank(0, x, 3);
  const DType dtype = c.dtype(x), wide = ops::at_least_f32(dtype);
  const ValueId sizes = adaptive_sizes(c, x, rank);
  const ValueId plane = c.shape(x, 2);
  ValueId y = c.cast(x, wide);
  ValueId number = c.expand(c.reshape(c.count_up(c.reduce_all(plane, "prod")), plane), c.shape(x));
  for (int axis = rank - 1; axis >= 2; --axis) {
    const ValueId out = c.gather(sizes, c.number(axis - 2), 0);
    const AdaptiveAxis windows = adaptive_axis(c, c.dim(x, axis), out);
    // Repeated elements change neither the maximum nor its first position.
    const ValueId spread = c.gather(y, windows.elements, axis);
    const ValueId least = c.scalar(-std::numeric_limits<double>::infinity(), wide);
    const ValueId inside = c.where(under_windows(c, windows.inside, axis, rank), spread, least);
    const ValueId best = c.op(ops::argmax_op, {inside},
                              {{"axis", axis + 1}, {"keepdims", 1}, {"select_last_index", 0}});
    const auto pick = [&](ValueId from) {
      return c.squeeze(c.op(ops::gather_elements_op, {from, best}, {{"axis", axis + 1}}),
                       {axis + 1});
    };
    y = pick(inside);
    number = pick(c.gather(number, windows.elements, axis));
  }
  const ValueId indices = indices_of(c, x, number, 0);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, c.cast(y, dtype));
  ctx.set_output(1, indices);
  return c.done();
}

}  // namespace scanloom::openvino
