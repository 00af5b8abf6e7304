// Weights and coordinates are computed in f64. A sum runs over the elements in ascending order,
// from 0, in the type of x. Elements of weight 0 are skipped.
#include <algorithm>
#include <array>

#include "opmath/resample.h"
#include "ops/indices.h"
#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/paced_poll.h"
#include "tensor/scalar_arith.h"
#include "tensor/strided_copy.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace resample {

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

Resampling resampling_of(const tensor::Call& call, int axis) {
  Resampling of{.mode = call.attrs[kMode].text(),
                .coordinates = call.attrs[kCoordinates].text(),
                .cubic = call.attrs[kCubic].real(),
                .antialias = call.attrs[kAntialias].integer() != 0,
                .exclude_outside = call.attrs[kExcludeOutside].integer() != 0,
                .in = call.in(0).dims[axis],
                .out = call.out(0).dims[axis],
                .scale = *call.in(kScale).data<const double>()};
  if (!call.has(kRegion)) return of;
  const Operand& region = call.in(kRegion);
  of.start = region.data<const double>()[0];
  of.end = region.data<const double>()[region.rank == 0 ? 0 : region.strides[0]];
  return of;
}

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
void filter_slice(const Slices& slices, const T* from, T* to, const ResampleFilter& filter) {
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
void resample(const tensor::Call& call, const Resampling& of, int axis) {
  const Operand &x = call.in(0), &y = call.out(0);
  tensor::PacedPoll poll(call);
  const ResampleCoordinates coordinates(of);
  const Slices slices(x, y, axis);
  for (std::int64_t o = 0; o < y.dims[axis]; ++o) {
    const double position = coordinates.at(o);
    if (poll.stops(y.elements() / y.dims[axis])) return;
    T* const to = y.data<T>() + o * slices.to_step;
    if (coordinates.is_outside(position))
      fill_slice(slices, to, static_cast<T>(call.attrs[kExtrapolation].real()));
    else
      filter_slice(slices, x.data<const T>(), to, ResampleFilter(of, position));
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

void pick_nearest(const tensor::Call& call, const Resampling& of, int axis) {
  const Operand &x = call.in(0), &y = call.out(0);
  tensor::PacedPoll poll(call);
  const ResampleCoordinates coordinates(of);
  const Slices slices(x, y, axis);
  for (std::int64_t o = 0; o < y.dims[axis]; ++o) {
    const double position = coordinates.at(o);
    if (poll.stops(y.elements() / y.dims[axis])) return;
    if (coordinates.is_outside(position)) {
      extrapolate(call, slices, o);
      continue;
    }
    const std::int64_t i = nearest_element(of.mode, position, of.in);
    tensor::copy_strided(
        x.dtype, slices.dims.dims(),
        tensor::advance(x.data<std::byte>(), x.dtype, i * slices.from_step), slices.from.data(),
        tensor::advance(y.data<std::byte>(), y.dtype, o * slices.to_step), slices.to.data());
  }
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &x = call.in(0), &y = call.out(0);
  const int axis = checked_axis(call.attrs[kAxis], x.rank);
  if (y.elements() == 0) return tensor::Status::ok;
  if (x.dims[axis] == 0)
    return call.fail("{} elements cannot be made of none along axis {}", y.dims[axis], axis);
  const Resampling of = resampling_of(call, axis);
  if (!of.has_valid_scale())
    return call.fail("the scale of axis {} is too small, too large or not a number", axis);
  if (is_nearest(call.attrs[kMode].text()))
    pick_nearest(call, of, axis);
  else if (x.dtype == DType::f64)
    resample<double>(call, of, axis);
  else
    resample<float>(call, of, axis);
  return call.ok_or_stopped();
}

}  // namespace resample
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
    .infer = resample::infer,
    .reference = resample::reference,
    .steps = {.axis = steps_along_axis},
};

}  // namespace scanloom::ops
