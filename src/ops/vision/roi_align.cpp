// Each cell of a region is sampled on a grid. A sample is interpolated from its four neighbors; it
// is 0 if it lies more than one element outside x. Samples are taken row by row. As in ONNX, avg
// adds them in that order, from 0; max_sample takes the greatest of them; and max takes the
// greatest of all weighted neighbors.
#include <algorithm>
#include <cmath>

#include "ops/indices.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/vision/roi_sampling.h"
#include "ops/vision/roi_sizes.h"
#include "tensor/paced_poll.h"
#include "tensor/scalar_arith.h"

namespace scanloom::ops {
namespace {
namespace roi_align {

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

/// A cell of a region in the result, and the planes that it is made from.
template <class T>
struct Cell {
  const T* planes;
  T* to;
  std::int64_t channels, plane_step, to_step;
  Mode mode;

  /// Takes a sample into the cell of every channel, whose results so far are in `to`.
  void add(const ImageSample<T>& sample, bool first) const {
    // Written out, because arrays would be stored and loaded again for each channel.
    const auto [o0, o1, o2, o3] = sample.offsets;
    const auto [w0, w1, w2, w3] = sample.weights;
    for (std::int64_t c = 0; c < channels; ++c) {
      const T* const plane = planes + c * plane_step;
      const T p0 = sample.inside ? w0 * plane[o0] : T{0},
              p1 = sample.inside ? w1 * plane[o1] : T{0};
      const T p2 = sample.inside ? w2 * plane[o2] : T{0},
              p3 = sample.inside ? w3 * plane[o3] : T{0};
      T& result = to[c * to_step];
      if (mode == Mode::avg) {
        result += ((p0 + p1) + p2) + p3;
      } else if (mode == Mode::max_sample) {
        const T sum = ((p0 + p1) + p2) + p3;
        result = first ? sum : tensor::arith::maximum(result, sum);
      } else {
        using tensor::arith::maximum;
        const T most = first ? p0 : maximum(result, p0);
        result = maximum(maximum(maximum(most, p1), p2), p3);
      }
    }
  }
  void scale_all(T count) const {
    for (std::int64_t c = 0; c < channels; ++c) to[c * to_step] /= count;
  }
  void clear() const {
    for (std::int64_t c = 0; c < channels; ++c) to[c * to_step] = 0;
  }
};

/// Samples are the same in all channels, so their neighbours are found once.
template <class T>
void pool_cell(const Cell<T>& cell, const Operand& x, const Axis<T>& rows, std::int64_t i,
               const Axis<T>& columns, std::int64_t k) {
  cell.clear();
  for (std::int64_t a = 0; a < rows.samples; ++a) {
    const Neighbours<T> row = neighbours(rows.sample(i, a), x.dims[2]);
    for (std::int64_t b = 0; b < columns.samples; ++b)
      cell.add(ImageSample<T>(row, neighbours(columns.sample(k, b), x.dims[3]), x),
               a == 0 && b == 0);
  }
  if (cell.mode == Mode::avg)
    cell.scale_all(static_cast<T>(std::max<std::int64_t>(rows.samples * columns.samples, 1)));
}

template <class T>
tensor::Status align(const tensor::Call& call) {
  const Operand &x = call.in(0), &rois = call.in(1), &y = call.out(0);
  const std::string& name = call.attrs[kMode].text();
  const Mode mode = name == "avg" ? Mode::avg : name == "max" ? Mode::max : Mode::max_sample;
  tensor::PacedPoll poll(call);
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
    for (std::int64_t i = 0; i < y.dims[2]; ++i)
      for (std::int64_t k = 0; k < y.dims[3]; ++k) {
        if (poll.stops(y.dims[1] * rows.samples * columns.samples)) break;
        T* const to = y.data<T>() + n * y.strides[0] + i * y.strides[2] + k * y.strides[3];
        const Cell<T> cell{x.data<const T>() + batch * x.strides[0],
                           to,
                           y.dims[1],
                           x.strides[1],
                           y.strides[1],
                           mode};
        pool_cell(cell, x, rows, i, columns, k);
      }
  }
  return call.ok_or_stopped();
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return call.out(0).dtype == DType::f64 ? align<double>(call) : align<float>(call);
}

}  // namespace roi_align
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
    .infer = roi_align::infer,
    .reference = roi_align::reference,
    .steps = {.axis = steps_of_regions, .any_operand = true},
};

}  // namespace scanloom::ops
