// Each cell of a region is sampled on a grid. A sample is interpolated from its four neighbors; it
// is 0 if it lies more than one element outside x. Samples are taken row by row. As in ONNX, avg
// adds them in that order, from 0; max_sample takes the greatest of them; and max takes the
// greatest of all weighted neighbors.
#include <algorithm>
#include <cmath>

#include "ops/indices.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/vision/roi_sizes.h"
#include "tensor/scalar_arith.h"

namespace scanloom::ops {
namespace {

using tensor::Operand;
using tensor::Type;

enum class Mode : std::uint8_t { avg, max, max_sample };

constexpr int kHeight = 0;
constexpr int kWidth = 1;
constexpr int kMode = 2;
constexpr int kSamplingRatio = 3;
constexpr int kScale = 4;
constexpr int kHalfPixel = 5;

// No sensible region needs more samples along an axis of one cell.
constexpr std::int64_t kMaxSamples = 1 << 12;

Expected<void> infer(ir::InferCtx& ctx) {
  const std::string& mode = ctx.attr(kMode).text();
  if (mode != "avg" && mode != "max" && mode != "max_sample")
    return invalid_model("mode is '{}', not avg, max or max_sample", mode);
  const std::int64_t ratio = ctx.attr(kSamplingRatio).integer();
  if (ratio < 0 || ratio > kMaxSamples)
    return invalid_model("sampling_ratio is {}, outside [0, {}]", ratio, kMaxSamples);
  const Type &rois = ctx.in(1), &batch = ctx.in(2);
  if (batch.ranked && batch.rank() != 1)
    return invalid_model("batch_indices has {} axes, not 1", batch.rank());
  if (batch.ranked && rois.ranked && rois.rank() == 2)
    SCANLOOM_CHECK_OK(same_size(ctx, rois.dims[0], batch.dims[0], "rois and batch_indices"));
  return set_roi_result(ctx, 4, ctx.attr(kHeight).integer(), ctx.attr(kWidth).integer());
}

/// The two neighbors of a coordinate on an axis, and the weight of the upper one.
template <class T>
struct Neighbours {
  std::int64_t low = 0, high = 0;
  T weight = 0;
  bool inside = false;
};

template <class T>
Neighbours<T> neighbours(T at, std::int64_t size) {
  Neighbours<T> result;
  result.inside = size > 0 && at >= T{-1} && at <= static_cast<T>(size);
  if (!result.inside) return result;
  at = std::max(at, T{0});
  result.low = static_cast<std::int64_t>(at);
  if (result.low >= size - 1) {
    result.low = result.high = size - 1;
    return result;
  }
  result.high = result.low + 1;
  result.weight = at - static_cast<T>(result.low);
  return result;
}

/// A region along one axis: its start, the size of a cell, the samples per cell.
template <class T>
struct Axis {
  T start = 0, cell = 0;
  std::int64_t samples = 0;

  [[nodiscard]] T sample(std::int64_t cell_index, std::int64_t i) const {
    return start + static_cast<T>(cell_index) * cell +
           (static_cast<T>(i) + T(0.5)) * cell / static_cast<T>(samples);
  }
};

template <class T>
Axis<T> sampled_axis(const tensor::Call& call, T from, T to, std::int64_t cells) {
  const T scale = static_cast<T>(call.attrs[kScale].real());
  const bool half_pixel = call.attrs[kHalfPixel].integer() != 0;
  const T offset = half_pixel ? T(0.5) : T{0};
  Axis<T> axis;
  axis.start = from * scale - offset;
  T extent = to * scale - offset - axis.start;
  if (!half_pixel) extent = std::max(extent, T{1});
  axis.cell = extent / static_cast<T>(cells);
  axis.samples = call.attrs[kSamplingRatio].integer();
  if (axis.samples > 0) return axis;
  const T wanted = std::ceil(axis.cell);
  const bool sensible = wanted <= static_cast<T>(kMaxSamples);
  axis.samples = !sensible ? -1 : wanted > 0 ? static_cast<std::int64_t>(wanted) : 0;
  return axis;
}

template <class T>
struct Region {
  const T* plane;
  const Operand& x;
  Axis<T> rows, columns;

  [[nodiscard]] T at(std::int64_t i, std::int64_t k) const {
    return plane[i * x.strides[2] + k * x.strides[3]];
  }
};

template <class T>
T pooled(const Region<T>& region, std::int64_t i, std::int64_t k, Mode mode) {
  T result = 0;
  bool first = true;
  for (std::int64_t a = 0; a < region.rows.samples; ++a)
    for (std::int64_t b = 0; b < region.columns.samples; ++b) {
      const auto row = neighbours(region.rows.sample(i, a), region.x.dims[2]);
      const auto column = neighbours(region.columns.sample(k, b), region.x.dims[3]);
      T parts[4] = {};
      if (row.inside && column.inside) {
        const T up = 1 - row.weight, left = 1 - column.weight;
        parts[0] = up * left * region.at(row.low, column.low);
        parts[1] = up * column.weight * region.at(row.low, column.high);
        parts[2] = row.weight * left * region.at(row.high, column.low);
        parts[3] = row.weight * column.weight * region.at(row.high, column.high);
      }
      const T sample = ((parts[0] + parts[1]) + parts[2]) + parts[3];
      if (mode == Mode::avg) {
        result += sample;
        continue;
      }
      if (mode == Mode::max_sample) {
        result = first ? sample : tensor::arith::maximum(result, sample);
        first = false;
        continue;
      }
      for (const T part : parts) {
        result = first ? part : tensor::arith::maximum(result, part);
        first = false;
      }
    }
  const std::int64_t count =
      std::max<std::int64_t>(region.rows.samples * region.columns.samples, 1);
  return mode == Mode::avg ? result / static_cast<T>(count) : result;
}

template <class T>
tensor::Status align(const tensor::Call& call) {
  const Operand &x = call.in(0), &rois = call.in(1), &y = call.out(0);
  const std::string& name = call.attrs[kMode].text();
  const Mode mode = name == "avg" ? Mode::avg : name == "max" ? Mode::max : Mode::max_sample;
  for (std::int64_t n = 0; n < y.dims[0]; ++n) {
    const std::int64_t batch = listed_index(call.in(2), n);
    if (batch < 0 || batch >= x.dims[0])
      return call.fail("batch index {} is outside the {} images of x", batch, x.dims[0]);
    T corner[4];
    for (int i = 0; i < 4; ++i)
      corner[i] = rois.data<const T>()[n * rois.strides[0] + i * rois.strides[1]];
    const auto rows = sampled_axis(call, corner[1], corner[3], y.dims[2]);
    const auto columns = sampled_axis(call, corner[0], corner[2], y.dims[3]);
    if (rows.samples < 0 || columns.samples < 0)
      return call.fail("region {} needs more than {} samples per cell", n, kMaxSamples);
    for (std::int64_t c = 0; c < y.dims[1]; ++c) {
      const Region<T> region{x.data<const T>() + batch * x.strides[0] + c * x.strides[1], x, rows,
                             columns};
      T* const to = y.data<T>() + n * y.strides[0] + c * y.strides[1];
      for (std::int64_t i = 0; i < y.dims[2]; ++i)
        for (std::int64_t k = 0; k < y.dims[3]; ++k)
          to[i * y.strides[2] + k * y.strides[3]] = pooled(region, i, k, mode);
    }
  }
  return tensor::Status::ok;
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return call.out(0).dtype == DType::f64 ? align<double>(call) : align<float>(call);
}

}  // namespace

constinit const ir::OpDef roi_align_op{
    .name = "roi_align",
    .doc =
        "The mean (`mode` avg) or the maximum (max_sample; max: of their weighted neighbours) of "
        "samples in each of `height` by `width` cells of every region: rois has rows of x0, y0, x1 "
        "and y1, the corners in units of 1 / "
        "`spatial_scale` elements of x [batch, channels, height, width], batch_indices the images. "
        "A cell has `sampling_ratio` samples along each axis, or for 0 as many as it has elements; "
        "`half_pixel` moves corners by half an element.",
    .inputs = {{"x", ir::Accept::real},
               {.name = "rois", .accept = ir::Accept::real, .same_as = 0},
               {"batch_indices", ir::Accept::index}},
    .outputs = {"y"},
    .attrs = {{"height", tensor::AttrKind::integer},
              {"width", tensor::AttrKind::integer},
              {"mode", tensor::AttrKind::text},
              {"sampling_ratio", tensor::AttrKind::integer},
              {"spatial_scale", tensor::AttrKind::real},
              {"half_pixel", tensor::AttrKind::integer}},
    .effects = ir::Effects::may_fail,
    .infer = infer,
    .reference = reference,
    .steps = {.axis = steps_of_regions, .any_operand = true},
};

}  // namespace scanloom::ops
