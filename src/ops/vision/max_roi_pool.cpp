// The corners of a region are rounded to whole elements, half away from zero. Cell i of n along an
// axis covers the elements of the region from floor(i * size / n) to ceil((i + 1) * size / n) that
// are inside x. A cell without elements is 0. NaN counts as the greatest.
#include <algorithm>
#include <cmath>

#include "ops/index/element_order.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/vision/roi_sizes.h"

namespace scanloom::ops {
namespace {
namespace max_roi_pool {

using tensor::Operand;

constexpr int kHeight = 0;
constexpr int kWidth = 1;
constexpr int kScale = 2;

Expected<void> infer(ir::InferCtx& ctx) {
  return set_roi_result(ctx, 5, ctx.attr(kHeight).integer(), ctx.attr(kWidth).integer());
}

/// Rounds to a whole number, far from overflow; NaN gives 0.
double whole(double value) {
  constexpr double kFar = 1e15;
  return value != value ? 0 : std::clamp(std::round(value), -kFar, kFar);
}

/// The elements [first, last) of an axis.
struct Range {
  std::int64_t first, last;
};

/// Returns the elements of cell i of `cells`, for the region from `start` to `end`.
Range cell_range(double start, double end, std::int64_t i, std::int64_t cells, std::int64_t size) {
  const double extent = std::max(end - start + 1, 1.0) / static_cast<double>(cells);
  const double limit = static_cast<double>(size);
  const double first = std::floor(static_cast<double>(i) * extent) + start;
  const double last = std::ceil(static_cast<double>(i + 1) * extent) + start;
  return {static_cast<std::int64_t>(std::clamp(first, 0.0, limit)),
          static_cast<std::int64_t>(std::clamp(last, 0.0, limit))};
}

template <class T>
T greatest(const T* plane, const Operand& x, const Range& rows, const Range& columns) {
  if (rows.first >= rows.last || columns.first >= columns.last) return T{0};
  T best = plane[rows.first * x.strides[2] + columns.first * x.strides[3]];
  for (std::int64_t i = rows.first; i < rows.last; ++i)
    for (std::int64_t k = columns.first; k < columns.last; ++k) {
      const T value = plane[i * x.strides[2] + k * x.strides[3]];
      if (compare(value, best) > 0) best = value;
    }
  return best;
}

template <class T>
tensor::Status pool(const tensor::Call& call) {
  const Operand &x = call.in(0), &rois = call.in(1), &y = call.out(0);
  const double scale = call.attrs[kScale].real();
  for (std::int64_t n = 0; n < y.dims[0]; ++n) {
    const T* const roi = rois.data<const T>() + n * rois.strides[0];
    const double batch = whole(static_cast<double>(roi[0]));
    if (batch < 0 || batch >= static_cast<double>(x.dims[0]))
      return call.fail("region {} names an image outside the {} images of x", n, x.dims[0]);
    double corner[4];
    for (int i = 0; i < 4; ++i)
      corner[i] = whole(static_cast<double>(roi[(i + 1) * rois.strides[1]]) * scale);
    for (std::int64_t c = 0; c < y.dims[1]; ++c)
      for (std::int64_t i = 0; i < y.dims[2]; ++i)
        for (std::int64_t k = 0; k < y.dims[3]; ++k) {
          const T* const plane = x.data<const T>() +
                                 static_cast<std::int64_t>(batch) * x.strides[0] + c * x.strides[1];
          const Range rows = cell_range(corner[1], corner[3], i, y.dims[2], x.dims[2]);
          const Range columns = cell_range(corner[0], corner[2], k, y.dims[3], x.dims[3]);
          y.data<T>()[n * y.strides[0] + c * y.strides[1] + i * y.strides[2] + k * y.strides[3]] =
              greatest(plane, x, rows, columns);
        }
  }
  return tensor::Status::ok;
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return call.out(0).dtype == DType::f64 ? pool<double>(call) : pool<float>(call);
}

}  // namespace max_roi_pool
}  // namespace

constinit const ir::OpDef max_roi_pool_op{
    .name = "max_roi_pool",
    .doc =
        "The greatest element of each of `height` by `width` cells of every region: rois has rows "
        "of image, x0, y0, x1 and y1, the corners in units of 1 / `spatial_scale` elements of x "
        "[batch, channels, height, width].",
    .inputs = {{"x", ir::Accept::real}, {.name = "rois", .accept = ir::Accept::real, .same_as = 0}},
    .outputs = {"y"},
    .attrs = {{"height", tensor::AttrKind::integer},
              {"width", tensor::AttrKind::integer},
              {"spatial_scale", tensor::AttrKind::real}},
    .effects = ir::Effects::may_fail,
    .infer = max_roi_pool::infer,
    .reference = max_roi_pool::reference,
    .steps = {.axis = steps_of_regions, .any_operand = true},
};

}  // namespace scanloom::ops
