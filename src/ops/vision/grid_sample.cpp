// Coordinates and weights are computed in the wider of the types of x and grid. A sample is the sum
// over its neighbors in row-major order, from 0, each times the product of its weights. Neighbors
// of weight 0 are skipped.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/thread_pool.h"
#include "opmath/conv_geometry.h"
#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/paced_poll.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace grid_sample {

using tensor::Dim;
using tensor::Operand;
using tensor::Shape;
using tensor::Type;

enum AttrIndex : int { kMode, kPadding, kAlignCorners };
enum class Mode : std::uint8_t { nearest, linear, cubic };
enum class Padding : std::uint8_t { zeros, border, reflection };

constexpr std::array<std::string_view, 3> kModes = {"nearest", "linear", "cubic"};
constexpr std::array<std::string_view, 3> kPaddings = {"zeros", "border", "reflection"};

template <class List>
int place_in(const List& names, std::string_view text) {
  return static_cast<int>(std::ranges::find(names, text) - names.begin());
}

Expected<void> check_operands(ir::InferCtx& ctx) {
  const Type &x = ctx.in(0), &grid = ctx.in(1);
  if (x.rank() < 3) return invalid_model("x has {} axes, three at least are needed", x.rank());
  if (!grid.ranked) return {};
  if (grid.rank() != x.rank())
    return invalid_model("x has {} axes, but grid has {}", x.rank(), grid.rank());
  const Dim last = grid.dims.back();
  if (last.is_constant() && last.value() != x.rank() - 2)
    return invalid_model("grid has {} coordinates for {} spatial axes", last.value(), x.rank() - 2);
  SCANLOOM_CHECK_OK(same_size(ctx, x.dims[0], grid.dims[0], "axis 0 of x and grid"));
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type &x = ctx.in(0), &grid = ctx.in(1);
  const std::string &mode = ctx.attr(kMode).text(), &padding = ctx.attr(kPadding).text();
  if (place_in(kModes, mode) == 3) return invalid_model("unknown mode '{}'", mode);
  if (place_in(kPaddings, padding) == 3) return invalid_model("unknown padding '{}'", padding);
  const bool computes = mode != "nearest";
  if (grid.dtype != DType::f32 && grid.dtype != DType::f64)
    return fail(Code::unsupported, "grid has elements of type {}, not f32 or f64",
                dtype_name(grid.dtype));
  if (computes && x.dtype != DType::f32 && x.dtype != DType::f64)
    return fail(Code::unsupported, "x has elements of type {}, not f32 or f64",
                dtype_name(x.dtype));
  if (!x.ranked) {
    ctx.set(0, grid.ranked ? ctx.fresh(x.dtype, grid.rank()) : Type::unranked(x.dtype));
    return {};
  }
  SCANLOOM_CHECK_OK(check_operands(ctx));
  std::vector<Dim> sizes = {x.dims[0], x.dims[1]};
  for (int axis = 1; axis + 1 < x.rank(); ++axis)
    sizes.push_back(grid.ranked ? grid.dims[static_cast<std::size_t>(axis)] : ctx.dims().fresh());
  return set_sizes(ctx, 0, x.dtype, std::move(sizes));
}

/// Reflects x at both ends until it lies between them.
template <class Real>
Real reflected(Real x, Real low, Real high) {
  const Real range = high - low;
  if (!(range > 0)) return low;
  const Real beyond = x < low ? low - x : x > high ? x - high : Real{0};
  if (beyond == 0) return x;
  const Real turns = std::trunc(beyond / range);
  const Real rest = beyond - turns * range;
  const bool from_own_side = std::fmod(turns, Real{2}) == 0;
  return (x < low) == from_own_side ? low + rest : high - rest;
}

/// How one axis is sampled: its size, and the positions of its ends.
template <class Real>
struct Axis {
  std::int64_t size = 0, stride = 0;
  Real low = 0, high = 0;
  bool align = false;

  /// Returns the position of a grid coordinate, which ranges from -1 to 1. Clamps distant ones.
  [[nodiscard]] Real place(Real at) const {
    const Real length = static_cast<Real>(size);
    const Real x = align ? (at + 1) / 2 * (length - 1) : ((at + 1) * length - 1) / 2;
    constexpr Real kFar = Real(1e15);
    return x != x ? -1 : std::clamp(x, -kFar, kFar);
  }
  /// Moves x inside if the padding requires it.
  [[nodiscard]] Real padded(Real x, Padding padding) const {
    if (x >= low && x <= high) return x;
    if (padding == Padding::border) return std::clamp(x, Real{0}, static_cast<Real>(size - 1));
    return padding == Padding::reflection ? reflected(x, low, high) : x;
  }
  /// Returns the element at an integral position; -1: there is none, so it is 0.
  [[nodiscard]] std::int64_t element(Real whole, Padding padding) const {
    if (padding == Padding::reflection) whole = std::trunc(reflected(whole, low, high));
    // Compared as an integer: size - 1 may round up. Positions are far below 2^63, see kFar.
    const auto index = static_cast<std::int64_t>(whole);
    if (padding == Padding::zeros && (index < 0 || index >= size)) return -1;
    return std::clamp<std::int64_t>(index, 0, size - 1);
  }
};

/// The neighbors of a position along one axis: at most four elements and their weights.
template <class Real>
struct Neighbours {
  std::array<std::int64_t, 4> element{};
  std::array<Real, 4> weight{};
  int count = 0;
};

/// Returns the weight of cubic convolution at distance t, with the coefficient -0.75.
template <class Real>
Real cubic_weight(Real t) {
  constexpr Real a = Real(-0.75);
  t = std::fabs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
}

template <class Real>
Neighbours<Real> neighbours(const Axis<Real>& axis, Real x, Mode mode, Padding padding) {
  Neighbours<Real> result;
  if (mode == Mode::nearest) {
    result.count = 1;
    result.element[0] = axis.element(axis.padded(std::nearbyint(x), padding), padding);
    result.weight[0] = 1;
    return result;
  }
  // The taps of cubic convolution are clamped one by one: a position beyond the border still weighs
  // the elements within a distance of two.
  if (mode == Mode::linear || padding != Padding::border) x = axis.padded(x, padding);
  const Real low = std::floor(x), ratio = x - low;
  result.count = mode == Mode::linear ? 2 : 4;
  const int first = mode == Mode::linear ? 0 : -1;
  for (int i = 0; i < result.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Real offset = static_cast<Real>(first + i);
    result.element[at] = axis.element(low + offset, padding);
    result.weight[at] =
        mode == Mode::cubic ? cubic_weight(offset - ratio) : 1 - std::fabs(offset - ratio);
  }
  return result;
}

template <class T>
using PerAxis = std::array<T, tensor::kMaxSpatial>;

/// Calls f(offset, weight) for each combination of neighbors that exists and counts, in row-major
/// order.
template <class Real, class F>
void for_each_tap(const PerAxis<Neighbours<Real>>& axes, const PerAxis<Axis<Real>>& of, int spatial,
                  F&& f) {
  PerAxis<int> index{};
  while (true) {
    std::int64_t offset = 0;
    Real weight = 1;
    bool exists = true;
    for (std::size_t i = 0; i < static_cast<std::size_t>(spatial); ++i) {
      const auto at = static_cast<std::size_t>(index[i]);
      exists &= axes[i].element[at] >= 0;
      offset += axes[i].element[at] * of[i].stride;
      weight *= axes[i].weight[at];
    }
    if (exists && weight != 0) f(offset, weight);
    int axis = spatial - 1;
    for (; axis >= 0; --axis) {
      const auto i = static_cast<std::size_t>(axis);
      if (++index[i] < axes[i].count) break;
      index[i] = 0;
    }
    if (axis < 0) return;
  }
}

/// The elements that one position of the result is made of, and their weights, which are the same
/// in every channel.
template <class Real>
struct Taps {
  static constexpr std::size_t kMaxTaps = 64;  // four along each of three axes
  std::array<std::int64_t, kMaxTaps> offset{};
  std::array<Real, kMaxTaps> weight{};
  std::size_t count = 0;

  void add(std::int64_t at, Real with) {
    offset[count] = at;
    weight[count++] = with;
  }
};

/// One position of all channels of an image.
template <class T>
struct Channels {
  const T* from;
  T* to;
  std::int64_t from_step, to_step, count;
};

/// Sums the taps of every channel, in order from 0. kCount: how many there are; 0: any number.
template <std::size_t kCount, class T, class Real>
void sum_channels(const Taps<Real>& taps, const Channels<T>& channels) {
  const std::size_t count = kCount == 0 ? taps.count : kCount;
  for (std::int64_t c = 0; c < channels.count; ++c) {
    const T* const plane = channels.from + c * channels.from_step;
    T sum{};
#pragma GCC unroll 4
    for (std::size_t k = 0; k < count; ++k)
      sum = sum + static_cast<T>(taps.weight[k]) * plane[taps.offset[k]];
    channels.to[c * channels.to_step] = sum;
  }
}

/// Finds the taps once, unless there are too many to keep.
template <class T, class Real>
void sample_position(const PerAxis<Neighbours<Real>>& along, const PerAxis<Axis<Real>>& axes,
                     int spatial, Mode mode, const Channels<T>& channels) {
  constexpr int kKeptAxes = 3;
  Taps<Real> taps;
  if (mode == Mode::nearest || spatial <= kKeptAxes)
    for_each_tap(along, axes, spatial,
                 [&](std::int64_t offset, Real weight) { taps.add(offset, weight); });
  if constexpr (std::is_floating_point_v<T>) {
    if (mode != Mode::nearest && spatial > kKeptAxes) {
      for (std::int64_t c = 0; c < channels.count; ++c) {
        T sum{};
        for_each_tap(along, axes, spatial, [&](std::int64_t offset, Real weight) {
          sum = sum + static_cast<T>(weight) * channels.from[c * channels.from_step + offset];
        });
        channels.to[c * channels.to_step] = sum;
      }
      return;
    }
    if (mode != Mode::nearest)
      return taps.count == 4 ? sum_channels<4>(taps, channels) : sum_channels<0>(taps, channels);
  }
  for (std::int64_t c = 0; c < channels.count; ++c)
    channels.to[c * channels.to_step] =
        taps.count > 0 ? channels.from[c * channels.from_step + taps.offset[0]] : T{};
}

/// T: the type that elements of x are read as; G: that of the grid. With mode nearest, T is only
/// moved.
template <class T, class G>
class Sampler {
 public:
  explicit Sampler(const tensor::Call& call)
      : x_(call.in(0)),
        grid_(call.in(1)),
        y_(call.out(0)),
        mode_(static_cast<Mode>(place_in(kModes, call.attrs[kMode].text()))),
        padding_(static_cast<Padding>(place_in(kPaddings, call.attrs[kPadding].text()))),
        spatial_(x_.rank - 2) {
    for (int i = 0; i < spatial_; ++i) {
      Axis<Real>& axis = axes_[static_cast<std::size_t>(i)];
      axis.size = x_.dims[i + 2];
      axis.stride = x_.strides[i + 2];
      axis.align = call.attrs[kAlignCorners].integer() != 0;
      axis.low = axis.align ? Real{0} : Real(-0.5);
      axis.high = static_cast<Real>(axis.size - 1) - axis.low;
    }
  }

  /// Rows are the indices of the first spatial axis, image after image.
  [[nodiscard]] std::int64_t rows() const { return y_.dims[0] * y_.dims[2]; }

  void run(std::int64_t first, std::int64_t last, tensor::PacedPoll poll) const {
    const std::span others(y_.dims + 3, static_cast<std::size_t>(spatial_ - 1));
    const std::int64_t work = y_.elements() / std::max<std::int64_t>(rows(), 1);
    for (std::int64_t row = first; row < last && !poll.stops(work); ++row) {
      const std::int64_t image = row / y_.dims[2], index = row % y_.dims[2];
      const T* const from = x_.data<const T>() + image * x_.strides[0];
      const G* const places =
          grid_.data<const G>() + image * grid_.strides[0] + index * grid_.strides[1];
      T* const to = y_.data<T>() + image * y_.strides[0] + index * y_.strides[2];
      tensor::for_each_index(others, [&](const Shape& position) {
        sample(places + tensor::offset_of(position, grid_.strides + 2),
               {from, to + tensor::offset_of(position, y_.strides + 3), x_.strides[1],
                y_.strides[1], y_.dims[1]});
      });
    }
  }

 private:
  using Real = std::conditional_t<std::is_same_v<T, double>, double, G>;

  void sample(const G* place, const Channels<T>& channels) const {
    PerAxis<Neighbours<Real>> along{};
    // The coordinate of the last axis comes first.
    for (int i = 0; i < spatial_; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      const auto coordinate =
          static_cast<Real>(place[(spatial_ - 1 - i) * grid_.strides[grid_.rank - 1]]);
      along[axis] = neighbours(axes_[axis], axes_[axis].place(coordinate), mode_, padding_);
    }
    sample_position<T, Real>(along, axes_, spatial_, mode_, channels);
  }

  const Operand &x_, &grid_, &y_;
  const Mode mode_;
  const Padding padding_;
  const int spatial_;
  PerAxis<Axis<Real>> axes_{};
};

template <class T, class G>
void sample_all(const tensor::Call& call) {
  // Fewer elements are sampled while a thread starts.
  constexpr std::int64_t kMinThreadedElements = 16 * 1024, kShares = 16;
  const Sampler<T, G> sampler(call);
  const std::int64_t rows = sampler.rows();
  if (call.max_threads > 1 && call.out(0).elements() >= kMinThreadedElements)
    parallel_for(kShares, call.max_threads, [&](std::int64_t share) {
      sampler.run(rows * share / kShares, rows * (share + 1) / kShares, tensor::PacedPoll(call));
    });
  else
    sampler.run(0, rows, tensor::PacedPoll(call));
}

template <class G>
void sample_grid(const tensor::Call& call) {
  const DType dtype = call.in(0).dtype;
  if (dtype == DType::f32) return sample_all<float, G>(call);
  if (dtype == DType::f64) return sample_all<double, G>(call);
  tensor::visit_bytes(dtype, [&]<class T>(std::type_identity<T>) { sample_all<T, G>(call); });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &x = call.in(0), &y = call.out(0);
  if (y.elements() == 0) return tensor::Status::ok;
  for (int axis = 2; axis < x.rank; ++axis)
    if (x.dims[axis] == 0) return call.fail("x has no elements along axis {}", axis);
  if (call.in(1).dtype == DType::f64)
    sample_grid<double>(call);
  else
    sample_grid<float>(call);
  return call.ok_or_stopped();
}

constexpr int kBatch = 0, kChannels = 1;

// Locations of the grid read any element of their own image.
Expected<int> steps(const ir::StepSite& s) {
  if (!s.along(1)) {
    if (s.axis(0) != kChannels) return across("it reads elements of others");
    return kChannels;
  }
  if (s.along(0)) {
    if (s.axis(0) != kBatch || s.axis(1) != kBatch)
      return across("its operands have the steps on other axes");
    return kBatch;
  }
  if (s.axis(1) == kBatch || s.axis(1) == s.type(1).rank() - 1)
    return across("one of its operands has another size there");
  return s.axis(1) + 1;
}

}  // namespace grid_sample
}  // namespace

constinit const ir::OpDef grid_sample_op{
    .name = "grid_sample",
    .doc =
        "Elements of x [batch, channels, ...] at the places that grid [batch, ..., coordinates] "
        "names, the last axis of x first, each from -1 to 1: the ends of an axis, or with "
        "`align_corners` the middles of its outermost elements. mode is nearest (even ones among "
        "equals), linear or cubic; padding zeros, border or reflection.",
    .inputs = {{"x", ir::Accept::tensor}, {"grid", ir::Accept::real}},
    .outputs = {"y"},
    .attrs = {{"mode", tensor::AttrKind::text},
              {"padding", tensor::AttrKind::text},
              {"align_corners", tensor::AttrKind::integer}},
    .effects = ir::Effects::may_fail,
    .infer = grid_sample::infer,
    .reference = grid_sample::reference,
    .steps = {.axis = grid_sample::steps, .any_operand = true},
};

}  // namespace scanloom::ops
