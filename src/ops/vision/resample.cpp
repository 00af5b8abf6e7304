// Weights and coordinates are computed in f64. A sum runs over the elements in ascending order,
// from 0, in the type of x. Elements of weight 0 are skipped.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/indices.h"
#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/scalar_arith.h"
#include "tensor/strided_copy.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {

using tensor::Operand;
using tensor::Shape;
using tensor::Type;

constexpr int kSize = 1;
constexpr int kScale = 2;
constexpr int kRegion = 3;

enum AttrIndex : int {
  kAxis,
  kMode,
  kCoordinates,
  kCubic,
  kAntialias,
  kExcludeOutside,
  kExtrapolation,
};

constexpr std::array<std::string_view, 4> kNearest = {
    "nearest_floor", "nearest_ceil", "nearest_round_prefer_floor", "nearest_round_prefer_ceil"};
constexpr std::array<std::string_view, 7> kCoordinateModes = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
    "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};

// No sensible image needs a filter over more elements.
constexpr double kMaxTaps = 1 << 24;

bool is_nearest(std::string_view mode) { return mode.starts_with("nearest_"); }

Expected<void> check_attrs(const ir::InferCtx& ctx) {
  const std::string& mode = ctx.attr(kMode).text();
  if (mode != "linear" && mode != "cubic" && std::ranges::find(kNearest, mode) == kNearest.end())
    return invalid_model("unknown mode '{}'", mode);
  const std::string& coordinates = ctx.attr(kCoordinates).text();
  if (std::ranges::find(kCoordinateModes, coordinates) == kCoordinateModes.end())
    return invalid_model("unknown coordinates '{}'", coordinates);
  if (coordinates == "tf_crop_and_resize" && !ctx.has(kRegion))
    return invalid_model("coordinates 'tf_crop_and_resize' need a region");
  const DType dtype = ctx.dtype();
  if (!is_nearest(mode) && dtype != DType::f32 && dtype != DType::f64)
    return fail(Code::unsupported, "x has elements of type {}, not f32 or f64", dtype_name(dtype));
  for (const int i : {kScale, kRegion})
    if (ctx.has(i) && ctx.dtype(i) != DType::f64)
      return invalid_model("input {} has elements of type {}, not f64", i,
                           dtype_name(ctx.dtype(i)));
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_attrs(ctx));
  const int counts[] = {1, 1, 2};
  for (const int i : {kSize, kScale, kRegion})
    if (ctx.has(i))
      SCANLOOM_CHECK_OK(check_elements(ctx, i, counts[i - kSize], fmt::format("input {}", i)));
  const Type& x = ctx.in(0);
  if (!x.ranked) {
    ctx.set(0, x);
    return {};
  }
  SCANLOOM_TRY(const int axis, ctx.axis(ctx.attr(kAxis).integer(), x.rank()));
  std::vector<tensor::Dim> sizes = x.dims;
  const auto size = ctx.integers(kSize);
  sizes[static_cast<std::size_t>(axis)] =
      size && size->size() == 1 ? size->front() : ctx.dims().fresh();
  return set_sizes(ctx, 0, x.dtype, std::move(sizes));
}

/// Maps elements of the result to coordinates in x, in elements of the axis.
class Coordinates {
 public:
  Coordinates(const tensor::Call& call, int axis)
      : mode_(call.attrs[kCoordinates].text()),
        in_(static_cast<double>(call.in(0).dims[axis])),
        out_(static_cast<double>(call.out(0).dims[axis])),
        scale_(*call.in(kScale).data<const double>()),
        target_(scale_ * in_) {
    if (!call.has(kRegion)) return;
    const Operand& region = call.in(kRegion);
    start_ = region.data<const double>()[0];
    end_ = region.data<const double>()[region.rank == 0 ? 0 : region.strides[0]];
  }

  [[nodiscard]] double at(std::int64_t index) const {
    const auto x = static_cast<double>(index);
    if (mode_ == "align_corners") return target_ == 1 ? 0 : x * (in_ - 1) / (target_ - 1);
    if (mode_ == "asymmetric") return x / scale_;
    if (mode_ == "tf_half_pixel_for_nn") return (x + 0.5) / scale_;
    if (mode_ == "tf_crop_and_resize") {
      const double extent = (end_ - start_) * (in_ - 1);
      return start_ * (in_ - 1) + (target_ == 1 ? extent / 2 : x * extent / (target_ - 1));
    }
    if (mode_ == "pytorch_half_pixel" && out_ <= 1) return 0;
    const double half = (x + 0.5) / scale_ - 0.5;
    return mode_ == "half_pixel_symmetric" ? in_ / 2 * (1 - out_ / target_) + half : half;
  }
  /// Whether the result is the extrapolation value there.
  [[nodiscard]] bool is_outside(double x) const {
    return mode_ == "tf_crop_and_resize" && !(x >= 0 && x <= in_ - 1);
  }

 private:
  std::string_view mode_;
  double in_, out_, scale_, target_, start_ = 0, end_ = 1;
};

std::int64_t limited(double x, std::int64_t size) {
  if (!(x > 0)) return 0;
  return x < static_cast<double>(size - 1) ? static_cast<std::int64_t>(x) : size - 1;
}

std::int64_t nearest(std::string_view mode, double x, std::int64_t size) {
  if (mode == "nearest_floor") return limited(std::floor(x), size);
  if (mode == "nearest_ceil") return limited(std::ceil(x), size);
  const bool down = mode == "nearest_round_prefer_floor";
  return limited(down ? std::ceil(x - 0.5) : std::floor(x + 0.5), size);
}

/// The filter of one element of the result: element base + i of x has weight(i), first <= i < last.
class Filter {
 public:
  Filter(const tensor::Call& call, double x, std::int64_t size)
      : cubic_(call.attrs[kMode].text() == "cubic"), a_(call.attrs[kCubic].real()), size_(size) {
    const double scale = *call.in(kScale).data<const double>();
    const bool antialias = call.attrs[kAntialias].integer() != 0;
    stretch_ = antialias ? std::min(scale, 1.0) : 1;
    exclude_ = call.attrs[kExcludeOutside].integer() != 0;
    const double low = std::ceil(x) - 1;
    ratio_ = x - low;
    base_ = static_cast<std::int64_t>(std::clamp(low, -1e15, 1e15));
    first_ = static_cast<std::int64_t>(std::floor(-(cubic_ ? 2 : 1) / stretch_)) + 1;
    if (!antialias && !exclude_) return;
    double sum = 0;
    for (std::int64_t i = first_; i < last(); ++i) sum += raw(i);
    if (sum != 0) total_ = sum;
  }
  [[nodiscard]] std::int64_t first() const { return first_; }
  [[nodiscard]] std::int64_t last() const { return 2 - first_; }
  [[nodiscard]] double weight(std::int64_t i) const { return raw(i) / total_; }
  /// Returns the element of x, clamped to the ends.
  [[nodiscard]] std::int64_t element(std::int64_t i) const {
    return std::clamp<std::int64_t>(base_ + i, 0, size_ - 1);
  }

 private:
  [[nodiscard]] double raw(std::int64_t i) const {
    if (exclude_ && (base_ + i < 0 || base_ + i >= size_)) return 0;
    const double t = std::fabs((static_cast<double>(i) - ratio_) * stretch_);
    if (!cubic_) return std::max(1 - t, 0.0);
    if (t <= 1) return ((a_ + 2) * t - (a_ + 3)) * t * t + 1;
    return t < 2 ? ((a_ * t - 5 * a_) * t + 8 * a_) * t - 4 * a_ : 0;
  }

  bool cubic_ = false, exclude_ = false;
  double a_ = 0, stretch_ = 1, ratio_ = 0, total_ = 1;
  std::int64_t size_, base_ = 0, first_ = 0;
};

/// The slices across the axis, in x and in the result.
struct Slices {
  Shape dims, from, to;
  std::int64_t from_step, to_step;

  Slices(const Operand& x, const Operand& y, int axis)
      : dims(x.shape()),
        from(strides_of(x)),
        to(strides_of(y)),
        from_step(x.strides[axis]),
        to_step(y.strides[axis]) {
    dims.erase(axis);
    from.erase(axis);
    to.erase(axis);
  }
};

template <class T>
void fill_slice(const Slices& slices, T* to, T value) {
  tensor::for_each_element<1>(slices.dims.dims(), {slices.to.data()},
                              [&](const auto& at) { to[at[0]] = value; });
}

template <class T>
void filter_slice(const Slices& slices, const T* from, T* to, const Filter& filter) {
  fill_slice(slices, to, T{0});
  for (std::int64_t i = filter.first(); i < filter.last(); ++i) {
    const T weight = static_cast<T>(filter.weight(i));
    if (weight == 0) continue;
    const T* const source = from + filter.element(i) * slices.from_step;
    tensor::for_each_element<2>(slices.dims.dims(), {slices.from.data(), slices.to.data()},
                                [&](const auto& at) { to[at[1]] += weight * source[at[0]]; });
  }
}

template <class T>
void resample(const tensor::Call& call, int axis) {
  const Operand &x = call.in(0), &y = call.out(0);
  const Coordinates coordinates(call, axis);
  const Slices slices(x, y, axis);
  for (std::int64_t o = 0; o < y.dims[axis]; ++o) {
    const double position = coordinates.at(o);
    T* const to = y.data<T>() + o * slices.to_step;
    if (coordinates.is_outside(position))
      fill_slice(slices, to, static_cast<T>(call.attrs[kExtrapolation].real()));
    else
      filter_slice(slices, x.data<const T>(), to, Filter(call, position, x.dims[axis]));
  }
}

void extrapolate(const tensor::Call& call, const Slices& slices, std::int64_t o) {
  const Operand& y = call.out(0);
  tensor::visit_dtype(y.dtype, [&]<class T>(std::type_identity<T>) {
    T value{};
    if constexpr (tensor::RealOrInteger<T>)
      value = tensor::arith::convert<T>(call.attrs[kExtrapolation].real());
    fill_slice(slices, y.data<T>() + o * slices.to_step, value);
  });
}

void pick_nearest(const tensor::Call& call, int axis) {
  const Operand &x = call.in(0), &y = call.out(0);
  const Coordinates coordinates(call, axis);
  const Slices slices(x, y, axis);
  const std::string& mode = call.attrs[kMode].text();
  for (std::int64_t o = 0; o < y.dims[axis]; ++o) {
    const double position = coordinates.at(o);
    if (coordinates.is_outside(position)) {
      extrapolate(call, slices, o);
      continue;
    }
    const std::int64_t i = nearest(mode, position, x.dims[axis]);
    tensor::copy_strided(
        x.dtype, slices.dims.dims(),
        tensor::advance(x.data<std::byte>(), x.dtype, i * slices.from_step), slices.from.data(),
        tensor::advance(y.data<std::byte>(), y.dtype, o * slices.to_step), slices.to.data());
  }
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &x = call.in(0), &y = call.out(0);
  const int axis = checked_axis(call.attrs[kAxis], x.rank);
  const double scale = *call.in(kScale).data<const double>();
  if (y.elements() == 0) return tensor::Status::ok;
  if (x.dims[axis] == 0)
    return call.fail("{} elements cannot be made of none along axis {}", y.dims[axis], axis);
  if (!(scale * kMaxTaps > 1) || !(scale < 1e15))
    return call.fail("the scale of axis {} is too small, too large or not a number", axis);
  if (is_nearest(call.attrs[kMode].text()))
    pick_nearest(call, axis);
  else if (x.dtype == DType::f64)
    resample<double>(call, axis);
  else
    resample<float>(call, axis);
  return tensor::Status::ok;
}

}  // namespace

constinit const ir::OpDef resample_op{
    .name = "resample",
    .doc =
        "x with `size` elements along `axis`, `scale` times as many as it has, as ONNX Resize: "
        "mode linear, cubic (with the coefficient `cubic_a`), or nearest_ and floor, ceil, "
        "round_prefer_floor or round_prefer_ceil. `antialias` stretches the filter where the "
        "result is smaller; `exclude_outside` leaves out what lies outside x, which otherwise is "
        "as at its ends. With the coordinates tf_crop_and_resize, region is the part of the axis "
        "that is resized, and what lies outside x is the `extrapolation`.",
    .inputs = {{"x", ir::Accept::tensor},
               {.name = "size", .accept = ir::Accept::index, .decides_sizes = true},
               {"scale", ir::Accept::real},
               {"region", ir::Accept::real, ir::Arity::optional}},
    .outputs = {"y"},
    .attrs = {{"axis", tensor::AttrKind::integer},
              {"mode", tensor::AttrKind::text},
              {"coordinates", tensor::AttrKind::text},
              {"cubic_a", tensor::AttrKind::real},
              {"antialias", tensor::AttrKind::integer},
              {"exclude_outside", tensor::AttrKind::integer},
              {"extrapolation", tensor::AttrKind::real}},
    .effects = ir::Effects::may_fail,
    .infer = infer,
    .reference = reference,
    .steps = {.axis = steps_along_axis},
};

}  // namespace scanloom::ops
