#include "ops/reduce/cumulative.h"

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>

#include "base/thread_pool.h"
#include "ops/indices.h"
#include "ops/lift_rules.h"
#include "ops/lines.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/for_each.h"
#include "tensor/paced_poll.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {

using tensor::Operand;

constexpr int kExclusiveAttr = 0;
constexpr int kReverseAttr = 1;

// Lines walked together: few enough for their totals to stay in the L1 cache, and enough to be
// faster than one after the other.
constexpr std::int64_t kMaxColumns = 512;
constexpr std::int64_t kMinColumns = 4;
constexpr std::int64_t kBlock = 8;
/// Shares of the lines that threads take, and the elements from which that pays.
constexpr std::int64_t kShares = 8, kMinSharedElements = 64 * 1024;

// Narrower floating point is computed in f32; integers wrap.
template <class T>
struct TotalOf {
  using type = std::uint64_t;
};
template <class T>
  requires(std::is_floating_point_v<T> || tensor::SmallFloatType<T>)
struct TotalOf<T> {
  using type = decltype(tensor::widen(T{}));
};

/// Elements `step` apart, in the order in which they are added.
template <class T, class Step>
struct Line {
  T* first;
  Step step;
};

using UnitStep = std::integral_constant<std::int64_t, 1>;

/// kProduct: products from 1, otherwise sums from 0. kExclusive: a result is the total before its
/// element.
template <class T, bool kProduct, bool kExclusive>
struct Cumulative {
  using Total = typename TotalOf<T>::type;
  static constexpr Total kStart = kProduct ? 1 : 0;

  static void advance(Total& total, const T& x, T& y) {
    const auto value = static_cast<Total>(tensor::widen(x));
    if constexpr (kExclusive) y = tensor::narrow<T>(total);
    total = kProduct ? total * value : total + value;
    if constexpr (!kExclusive) y = tensor::narrow<T>(total);
  }

  // A constant number of lines, which compilers vectorize.
  static void advance_block(Total* __restrict totals, const T* __restrict x, T* __restrict y) {
    for (std::int64_t i = 0; i < kBlock; ++i) advance(totals[i], x[i], y[i]);
  }

  template <class Step>
  static void run_line(std::int64_t count, Line<const T, Step> x, Line<T, Step> y) {
    Total total = kStart;
    for (std::int64_t k = 0; k < count; ++k)
      advance(total, x.first[k * x.step], y.first[k * y.step]);
  }

  /// Lines that are adjacent in memory, walked in memory order.
  static void run_columns(std::int64_t count, std::int64_t columns, Line<const T, std::int64_t> x,
                          Line<T, std::int64_t> y) {
    Total totals[kMaxColumns];
    for (std::int64_t begin = 0; begin < columns; begin += kMaxColumns) {
      const std::int64_t width = std::min(kMaxColumns, columns - begin);
      std::fill_n(totals, width, kStart);
      for (std::int64_t k = 0; k < count; ++k) {
        const T* from = x.first + begin + k * x.step;
        T* to = y.first + begin + k * y.step;
        std::int64_t i = 0;
        for (; i + kBlock <= width; i += kBlock) advance_block(&totals[i], from + i, to + i);
        for (; i < width; ++i) advance(totals[i], from[i], to[i]);
      }
    }
  }

  /// Lines of one row, `*_next` elements apart.
  static void run_lines(std::int64_t count, std::int64_t lines, Line<const T, std::int64_t> x,
                        std::int64_t x_next, Line<T, std::int64_t> y, std::int64_t y_next) {
    if (x_next == 1 && y_next == 1 && lines >= kMinColumns) return run_columns(count, lines, x, y);
    for (std::int64_t i = 0; i < lines; ++i, x.first += x_next, y.first += y_next)
      if (x.step == 1 && y.step == 1)
        run_line<UnitStep>(count, {x.first, {}}, {y.first, {}});
      else
        run_line<std::int64_t>(count, x, y);
  }

  static void run(const tensor::Call& call, int axis, bool reverse) {
    const Operand &x = call.in(0), &y = call.out(0);
    const std::int64_t count = x.dims[axis], x_step = x.strides[axis], y_step = y.strides[axis];
    if (x.elements() == 0) return;
    const std::int64_t begin = reverse ? count - 1 : 0, sign = reverse ? -1 : 1;
    const T* from = x.data<const T>() + begin * x_step;
    T* to = y.data<T>() + begin * y_step;
    std::array<tensor::Shape, 3> others{x.shape(), strides_of(x), strides_of(y)};
    for (tensor::Shape& other : others) other.erase(axis);
    // Threads share the longest of the other axes, in parts of whole blocks. One thread takes the
    // same parts, and polls between them.
    const std::span<const std::int64_t> sizes = others[0].dims();
    const auto longest = static_cast<int>(std::ranges::max_element(sizes) - sizes.begin());
    const bool is_shared = !sizes.empty() && x.elements() >= kMinSharedElements;
    const std::int64_t size = is_shared ? others[0][longest] : 1;
    const std::int64_t part =
        is_shared ? (size + kShares * kBlock - 1) / (kShares * kBlock) * kBlock : 1;
    const auto run_part = [&](std::int64_t first, std::int64_t last) {
      tensor::Shape some = others[0];
      std::int64_t x_first = 0, y_first = 0;
      if (is_shared) {
        some[longest] = last - first;
        x_first = first * others[1][longest];
        y_first = first * others[2][longest];
      }
      tensor::RowCursor<2> rows(some.dims());
      rows.add(others[1].data());
      rows.add(others[2].data());
      tensor::PacedPoll poll(call);
      for (rows.start(); !rows.done() && !poll.stops(rows.length() * count); rows.next())
        run_lines(count, rows.length(), {from + x_first + rows.offset(0), sign * x_step},
                  rows.step(0), {to + y_first + rows.offset(1), sign * y_step}, rows.step(1));
    };
    if (!is_shared) return run_part(0, 1);
    parallel_for((size + part - 1) / part, call.max_threads, [&](std::int64_t share) {
      if (call.stop_requested()) return;
      run_part(share * part, std::min(size, (share + 1) * part));
    });
  }
};

template <bool kProduct>
tensor::Status run(const tensor::Call& call) {
  const int rank = call.in(0).rank;
  const std::int64_t given = listed_index(call.in(1), 0);
  const auto axis = tensor::normalise_axis(given, rank);
  if (!axis) return call.fail("axis {} is outside the {} axes of x", given, rank);
  const bool exclusive = call.attrs[kExclusiveAttr].integer() != 0;
  const bool reverse = call.attrs[kReverseAttr].integer() != 0;
  tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) {
      if (exclusive)
        Cumulative<T, kProduct, true>::run(call, *axis, reverse);
      else
        Cumulative<T, kProduct, false>::run(call, *axis, reverse);
    }
  });
  return call.ok_or_stopped();
}

}  // namespace

Expected<void> infer_cumulative(ir::InferCtx& ctx) {
  ctx.set(0, ctx.in(0));
  SCANLOOM_CHECK_OK(check_elements(ctx, 1, 1, "axis"));
  const auto axis = ctx.numbers(1);
  if (axis && axis->size() == 1 && ctx.in(0).ranked)
    SCANLOOM_CHECK_OK(ctx.axis(axis->front(), ctx.in(0).rank()));
  return {};
}

tensor::Status run_cumsum(const tensor::Call& call) noexcept { return run<false>(call); }
tensor::Status run_cumprod(const tensor::Call& call) noexcept { return run<true>(call); }

Expected<int> steps_of_cumulative(const ir::StepSite& s) {
  const auto axis = s.integers(1);
  if (!axis || axis->size() != 1 ||
      tensor::normalise_axis(axis->front(), s.type(0).rank()) == s.axis(0))
    return across("it works along their axis");
  return s.axis(0);
}

namespace {

/// Returns the axis of a cumulative operator; nullopt if it is not known, or outside.
std::optional<int> cumulated_axis(const ir::Module& module, const ir::Node& node) {
  const auto named = integers_of(module, node, 1);
  if (!named || named->size() != 1) return std::nullopt;
  return tensor::normalise_axis(named->front(), type_of(module, node).rank());
}

}  // namespace

bool can_lift_cumulative(ir::Module& module, const ir::Node& node,
                         const std::vector<bool>& varies) {
  return only_first_varies(varies) && cumulated_axis(module, node).has_value();
}

Expected<ir::Lifted> lift_cumulative(ir::Builder& builder, const ir::Node& node,
                                     const LiftedOperands& operands) {
  const int steps = operands[0].axis;
  const std::int64_t own = axis_in_sequence(*cumulated_axis(builder.module(), node), steps);
  const ir::ValueId axis = builder.constant(tensor::Tensor::of<std::int64_t>({}, {{own}}));
  SCANLOOM_TRY(const ir::ValueId value,
               builder.op(*node.op, {operands[0].value, axis}, attrs_but(node)));
  return ir::Lifted{value, steps};
}

}  // namespace scanloom::ops
