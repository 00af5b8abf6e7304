// As roi_align, over regions that are turned around their centers: a sample's position in the
// region is rotated, then interpolated. Samples are added row by row, from 0.
#include <cmath>

#include "ops/indices.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/vision/roi_sampling.h"
#include "ops/vision/roi_sizes.h"

namespace scanloom::ops {
namespace {
namespace roi_align_rotated {

using tensor::Operand;
using tensor::Type;

constexpr int kHeight = 0;
constexpr int kWidth = 1;
constexpr int kSamplingRatio = 2;
constexpr int kScale = 3;
// No sensible region needs more samples along an axis of one cell.
constexpr std::int64_t kMaxSamples = 1 << 12;

Expected<void> infer(ir::InferCtx& ctx) {
  const std::int64_t ratio = ctx.attr(kSamplingRatio).integer();
  if (ratio < 0 || ratio > kMaxSamples)
    return invalid_model("sampling_ratio is {}, outside [0, {}]", ratio, kMaxSamples);
  const Type &rois = ctx.in(1), &batch = ctx.in(2);
  if (batch.ranked && batch.rank() != 1)
    return invalid_model("batch_indices has {} axes, not 1", batch.rank());
  if (batch.ranked && rois.ranked && rois.rank() == 2)
    SCANLOOM_CHECK_OK(same_size(ctx, rois.dims[0], batch.dims[0], "rois and batch_indices"));
  return set_roi_result(ctx, 6, ctx.attr(kHeight).integer(), ctx.attr(kWidth).integer());
}

/// A region along one of its own axes, which have their origin in its center.
template <class T>
struct OwnAxis {
  T start = 0, cell = 0, step = 0;
  std::int64_t samples = 0;  ///< per cell; -1: too many

  OwnAxis(T extent, std::int64_t cells, std::int64_t ratio) {
    start = -extent / 2;
    cell = extent / static_cast<T>(cells);
    samples = ratio;
    if (ratio == 0) {
      const T wanted = std::ceil(cell);
      const bool sensible = wanted <= static_cast<T>(kMaxSamples);
      samples = !sensible ? -1 : wanted > 0 ? static_cast<std::int64_t>(wanted) : 0;
    }
    step = samples > 0 ? cell / static_cast<T>(samples) : T{0};
  }
  [[nodiscard]] T sample(std::int64_t cell_index, std::int64_t i) const {
    return start + static_cast<T>(cell_index) * cell + step * (static_cast<T>(i) + T(0.5));
  }
};

template <class T>
struct Region {
  T x, y, cosine, sine;
  OwnAxis<T> rows, columns;

  /// Precondition: the operands have passed inference.
  static Region of(const tensor::Call& call, std::int64_t n) {
    const Operand &rois = call.in(1), &result = call.out(0);
    T v[6];
    for (int i = 0; i < 6; ++i)
      v[i] = rois.data<const T>()[n * rois.strides[0] + i * rois.strides[1]];
    const T scale = static_cast<T>(call.attrs[kScale].real());
    const std::int64_t ratio = call.attrs[kSamplingRatio].integer();
    return {v[0] * scale - T(0.5),
            v[1] * scale - T(0.5),
            v[4],
            v[5],
            OwnAxis<T>(v[3] * scale, result.dims[2], ratio),
            OwnAxis<T>(v[2] * scale, result.dims[3], ratio)};
  }
  [[nodiscard]] ImageSample<T> sample(T down, T right, const Operand& image) const {
    const T row = down * cosine - right * sine + y;
    const T column = down * sine + right * cosine + x;
    return {neighbours(row, image.dims[2]), neighbours(column, image.dims[3]), image};
  }
};

/// Samples are the same in all channels, so their neighbors are found once.
template <class T>
void pool_cell(const Region<T>& region, const Operand& x, const T* planes, std::int64_t i,
               std::int64_t k, T* to, const Operand& y) {
  const std::int64_t channels = y.dims[1];
  for (std::int64_t c = 0; c < channels; ++c) to[c * y.strides[1]] = 0;
  for (std::int64_t a = 0; a < region.rows.samples; ++a)
    for (std::int64_t b = 0; b < region.columns.samples; ++b) {
      const ImageSample<T> sample =
          region.sample(region.rows.sample(i, a), region.columns.sample(k, b), x);
      if (!sample.inside) continue;
      const auto [o0, o1, o2, o3] = sample.offsets;
      const auto [w0, w1, w2, w3] = sample.weights;
      for (std::int64_t c = 0; c < channels; ++c) {
        const T* const plane = planes + c * x.strides[1];
        to[c * y.strides[1]] +=
            ((w0 * plane[o0] + w1 * plane[o1]) + w2 * plane[o2]) + w3 * plane[o3];
      }
    }
  const auto count =
      static_cast<T>(std::max<std::int64_t>(region.rows.samples * region.columns.samples, 1));
  for (std::int64_t c = 0; c < channels; ++c) to[c * y.strides[1]] /= count;
}

template <class T>
tensor::Status align(const tensor::Call& call) {
  const Operand &x = call.in(0), &y = call.out(0);
  for (std::int64_t n = 0; n < y.dims[0]; ++n) {
    const std::int64_t batch = listed_index(call.in(2), n);
    if (batch < 0 || batch >= x.dims[0])
      return call.fail("batch index {} is outside the {} images of x", batch, x.dims[0]);
    const auto region = Region<T>::of(call, n);
    if (region.rows.samples < 0 || region.columns.samples < 0)
      return call.fail("region {} needs more than {} samples per cell", n, kMaxSamples);
    for (std::int64_t i = 0; i < y.dims[2]; ++i)
      for (std::int64_t k = 0; k < y.dims[3]; ++k)
        pool_cell(region, x, x.data<const T>() + batch * x.strides[0], i, k,
                  y.data<T>() + n * y.strides[0] + i * y.strides[2] + k * y.strides[3], y);
  }
  return tensor::Status::ok;
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return call.out(0).dtype == DType::f64 ? align<double>(call) : align<float>(call);
}

}  // namespace roi_align_rotated
}  // namespace

constinit const ir::OpDef roi_align_rotated_op{
    .name = "roi_align_rotated",
    .doc =
        "The mean of samples in each of `height` by `width` cells of every region: rois has rows "
        "of the center x and y, the width, the height (in units of 1 / `spatial_scale` elements "
        "of x [batch, channels, height, width]), and the cosine and sine of the angle, which turns "
        "the region from its rows towards its columns; batch_indices are the images. A cell has "
        "`sampling_ratio` samples along each axis, or for 0 as many as it has elements.",
    .inputs = {{"x", ir::Accept::real},
               {.name = "rois", .accept = ir::Accept::real, .same_as = 0},
               {"batch_indices", ir::Accept::index}},
    .outputs = {"y"},
    .attrs = {{"height", tensor::AttrKind::integer},
              {"width", tensor::AttrKind::integer},
              {"sampling_ratio", tensor::AttrKind::integer},
              {"spatial_scale", tensor::AttrKind::real}},
    .effects = ir::Effects::may_fail,
    .infer = roi_align_rotated::infer,
    .reference = roi_align_rotated::reference,
    .steps = {.axis = steps_of_regions, .any_operand = true},
};

}  // namespace scanloom::ops
