// Position-sensitive pools over regions. average: each cell has channels of its own, whose elements
// from the floor of its start to the ceiling of its end are added row by row, from 0. bilinear:
// each of `bins_y` by `bins_x` bins of a region has channels of its own, which are sampled at the
// cells. deformable: a cell, moved by its offsets, is sampled at the starts of its bins.
#include <algorithm>
#include <cmath>

#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "ops/vision/roi_sizes.h"

namespace scanloom::ops {
namespace {
namespace psroi_pool {

using tensor::Dim;
using tensor::Operand;
using tensor::Type;

enum AttrIndex : int { kMode, kChannels, kHeight, kWidth, kScale, kBinsY, kBinsX, kOffsetScale };
enum class Mode : std::uint8_t { average, bilinear, deformable };

constexpr int kOffsets = 2;
constexpr std::int64_t kMaxBins = 1 << 12;

Mode mode_of(const tensor::Attr& attr) {
  const std::string& text = attr.text();
  return text == "average" ? Mode::average : text == "bilinear" ? Mode::bilinear : Mode::deformable;
}

/// Error: the channels of x are not those of the cells or bins.
Expected<void> check_channels(const ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  const std::int64_t made = ctx.attr(kChannels).integer();
  const bool by_bin = mode_of(ctx.attr(kMode)) == Mode::bilinear;
  const std::int64_t parts = by_bin
                                 ? ctx.attr(kBinsY).integer() * ctx.attr(kBinsX).integer()
                                 : std::min<std::int64_t>(ctx.attr(kHeight).integer(), kMaxBins) *
                                       std::min<std::int64_t>(ctx.attr(kWidth).integer(), kMaxBins);
  if (made < 1 || made > std::int64_t{1} << 31)
    return invalid_model("the result has {} channels, but at least 1 is needed", made);
  if (x.ranked && x.dims[1].is_constant() && x.dims[1].value() / parts < made)
    return invalid_model("x has {} channels, but {} times {} are needed", x.dims[1].value(), made,
                         parts);
  return {};
}

/// Offsets are [region, 2 * groups of channels, part, part].
Expected<void> check_offsets(ir::InferCtx& ctx) {
  if (!ctx.has(kOffsets)) return {};
  const Type &offsets = ctx.in(kOffsets), &rois = ctx.in(1);
  if (!offsets.ranked) return {};
  if (offsets.rank() != 4) return invalid_model("offsets has {} axes, not 4", offsets.rank());
  if (rois.ranked)
    SCANLOOM_CHECK_OK(same_size(ctx, rois.dims[0], offsets.dims[0], "axis 0 of rois and offsets"));
  SCANLOOM_CHECK_OK(same_size(ctx, offsets.dims[2], offsets.dims[3], "axes 2 and 3 of offsets"));
  const std::int64_t made = ctx.attr(kChannels).integer();
  if (!offsets.dims[1].is_constant()) return {};
  const std::int64_t given = offsets.dims[1].value();
  if (given < 2 || given % 2 != 0 || made % (given / 2) != 0)
    return invalid_model("offsets has {} channels, which do not fit {} of the result", given, made);
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const std::string& mode = ctx.attr(kMode).text();
  if (mode != "average" && mode != "bilinear" && mode != "deformable")
    return invalid_model("mode is '{}', not average, bilinear or deformable", mode);
  for (const int i : {kBinsY, kBinsX})
    if (const std::int64_t bins = ctx.attr(i).integer(); bins < 1 || bins > kMaxBins)
      return invalid_model("a region has {} bins along an axis, outside [1, {}]", bins, kMaxBins);
  const std::int64_t height = ctx.attr(kHeight).integer(), width = ctx.attr(kWidth).integer();
  SCANLOOM_CHECK_OK(set_roi_result(ctx, 5, height, width));
  SCANLOOM_CHECK_OK(check_channels(ctx));
  SCANLOOM_CHECK_OK(check_offsets(ctx));
  const Type& rois = ctx.in(1);
  const Dim regions = rois.ranked ? rois.dims[0] : ctx.dims().fresh();
  return set_sizes(ctx, 0, ctx.dtype(), {regions, ctx.attr(kChannels).integer(), height, width});
}

/// A region along one axis.
template <class T>
struct Extent {
  T start = 0, size = 0;
};

/// An image and a region of it.
template <class T>
struct Site {
  const T* image;
  const Operand& x;
  Extent<T> rows, columns;

  [[nodiscard]] const T* plane(std::int64_t channel) const {
    return image + channel * x.strides[1];
  }
  [[nodiscard]] T at(const T* plane, std::int64_t row, std::int64_t column) const {
    return plane[row * x.strides[2] + column * x.strides[3]];
  }
  /// Interpolates between the neighbors of a position in the image.
  [[nodiscard]] T between(const T* plane, T row, T column) const {
    const auto top = static_cast<std::int64_t>(std::floor(row));
    const auto left = static_cast<std::int64_t>(std::floor(column));
    const std::int64_t bottom = std::min(static_cast<std::int64_t>(std::ceil(row)), x.dims[2] - 1);
    const std::int64_t right =
        std::min(static_cast<std::int64_t>(std::ceil(column)), x.dims[3] - 1);
    const T down = row - static_cast<T>(top), along = column - static_cast<T>(left);
    const T upper = at(plane, top, left) + (at(plane, top, right) - at(plane, top, left)) * along;
    const T lower =
        at(plane, bottom, left) + (at(plane, bottom, right) - at(plane, bottom, left)) * along;
    return upper + (lower - upper) * down;
  }
};

/// Rounds down (or up) to an element of an axis or its end; NaN gives 0.
template <class T>
std::int64_t element_at(T whole, std::int64_t end) {
  return whole > 0 ? static_cast<std::int64_t>(std::min(whole, static_cast<T>(end))) : 0;
}

/// The elements [first, last) of a cell.
struct Range {
  std::int64_t first, last;
};

template <class T>
Range range_of(const Extent<T>& extent, std::int64_t i, std::int64_t cells, std::int64_t size) {
  const T cell = extent.size / static_cast<T>(cells);
  const T from = std::floor(extent.start + static_cast<T>(i) * cell);
  const T to = std::ceil(extent.start + static_cast<T>(i + 1) * cell);
  return {element_at(from, size), element_at(to, size)};
}

template <class T>
T average(const Site<T>& site, const T* plane, const Range& rows, const Range& columns) {
  T sum = 0;
  for (std::int64_t i = rows.first; i < rows.last; ++i)
    for (std::int64_t k = columns.first; k < columns.last; ++k) sum += site.at(plane, i, k);
  const std::int64_t count = (rows.last - rows.first) * (columns.last - columns.first);
  return rows.last > rows.first && columns.last > columns.first ? sum / static_cast<T>(count)
                                                                : T{0};
}

/// Returns where cell i of `cells` samples a bin, in elements of an axis; corners are relative to
/// the axis, which ends at its first and last element.
template <class T>
T bin_position(const Extent<T>& extent, std::int64_t bin, std::int64_t bins, std::int64_t i,
               std::int64_t cells, std::int64_t size) {
  const T of_bin = extent.size / static_cast<T>(bins), last = static_cast<T>(size - 1);
  const T start = extent.start + static_cast<T>(bin) * of_bin;
  if (cells == 1) return (start + start + of_bin) * last / 2;
  return static_cast<T>(i) * (of_bin * last / static_cast<T>(cells - 1)) + start * last;
}

template <class T>
T mean_of_bins(const Site<T>& site, const tensor::Call& call, std::int64_t c, std::int64_t i,
               std::int64_t k) {
  const Operand& y = call.out(0);
  const std::int64_t down = call.attrs[kBinsY].integer(), along = call.attrs[kBinsX].integer();
  T sum = 0;
  for (std::int64_t a = 0; a < down; ++a)
    for (std::int64_t b = 0; b < along; ++b) {
      const T row = bin_position(site.rows, a, down, i, y.dims[2], site.x.dims[2]);
      const T column = bin_position(site.columns, b, along, k, y.dims[3], site.x.dims[3]);
      const bool inside = row >= 0 && column >= 0 && row < static_cast<T>(site.x.dims[2]) &&
                          column < static_cast<T>(site.x.dims[3]);
      if (!inside) continue;
      sum += site.between(site.plane((a * along + b) * y.dims[1] + c),
                          std::min(row, static_cast<T>(site.x.dims[2] - 1)),
                          std::min(column, static_cast<T>(site.x.dims[3] - 1)));
    }
  return sum / static_cast<T>(down * along);
}

/// Returns the offset of a cell along an axis (0: columns, 1: rows), in sizes of the region.
template <class T>
T offset_of(const tensor::Call& call, std::int64_t n, std::int64_t c, std::int64_t i,
            std::int64_t k, std::int64_t axis) {
  if (!call.has(kOffsets)) return 0;
  const Operand &offsets = call.in(kOffsets), &y = call.out(0);
  const std::int64_t groups = offsets.dims[1] / 2, part = offsets.dims[2];
  const std::int64_t group = c / (y.dims[1] / groups);
  return offsets.data<const T>()[n * offsets.strides[0] + (group * 2 + axis) * offsets.strides[1] +
                                 i * part / y.dims[2] * offsets.strides[2] +
                                 k * part / y.dims[3] * offsets.strides[3]] *
         static_cast<T>(call.attrs[kOffsetScale].real());
}

template <class T>
T deformed(const Site<T>& site, const tensor::Call& call, std::int64_t n, std::int64_t c,
           std::int64_t i, std::int64_t k) {
  const Operand& y = call.out(0);
  const std::int64_t down = call.attrs[kBinsY].integer(), along = call.attrs[kBinsX].integer();
  const T height = std::max(site.rows.size, T(0.1F)), width = std::max(site.columns.size, T(0.1F));
  const T cell_height = height / static_cast<T>(y.dims[2]);
  const T cell_width = width / static_cast<T>(y.dims[3]);
  const T top = site.rows.start + static_cast<T>(i) * cell_height +
                offset_of<T>(call, n, c, i, k, 1) * height;
  const T left = site.columns.start + static_cast<T>(k) * cell_width +
                 offset_of<T>(call, n, c, i, k, 0) * width;
  const T last_row = static_cast<T>(site.x.dims[2] - 1);
  const T last_column = static_cast<T>(site.x.dims[3] - 1);
  const T* const plane = site.plane((c * y.dims[2] + i) * y.dims[3] + k);
  const auto is_near = [](T at, T last) { return at >= T(-0.5) && at <= last + T(0.5); };
  T sum = 0;
  std::int64_t count = 0;
  for (std::int64_t a = 0; a < down; ++a) {
    const T row = top + static_cast<T>(a) * (cell_height / static_cast<T>(down));
    if (!is_near(row, last_row)) continue;
    for (std::int64_t b = 0; b < along; ++b) {
      const T column = left + static_cast<T>(b) * (cell_width / static_cast<T>(along));
      if (!is_near(column, last_column)) continue;
      sum += site.between(plane, std::clamp(row, T{0}, last_row),
                          std::clamp(column, T{0}, last_column));
      ++count;
    }
  }
  return count > 0 ? sum / static_cast<T>(count) : T{0};
}

/// The corners of a region along an axis: in the modes with cells of elements the middles of the
/// first and the last element, which are whole.
template <class T>
Extent<T> extent_of(Mode mode, T from, T to, T scale) {
  if (mode == Mode::bilinear) return {from * scale, to * scale - from * scale};
  const T shift = mode == Mode::deformable ? T(0.5) : T{0};
  const T start = std::round(from) * scale - shift, end = (std::round(to) + 1) * scale - shift;
  return {start, end - start};
}

template <class T>
tensor::Status pool(const tensor::Call& call) {
  const Operand &x = call.in(0), &rois = call.in(1), &y = call.out(0);
  const Mode mode = mode_of(call.attrs[kMode]);
  const T scale = static_cast<T>(call.attrs[kScale].real());
  const std::int64_t parts = mode == Mode::bilinear
                                 ? call.attrs[kBinsY].integer() * call.attrs[kBinsX].integer()
                                 : y.dims[2] * y.dims[3];
  if (x.dims[1] < parts * y.dims[1])
    return call.fail("x has {} channels, but {} are needed", x.dims[1], parts * y.dims[1]);
  for (std::int64_t n = 0; n < y.dims[0]; ++n) {
    T roi[5];
    for (int i = 0; i < 5; ++i)
      roi[i] = rois.data<const T>()[n * rois.strides[0] + i * rois.strides[1]];
    if (!(roi[0] > -1 && roi[0] < static_cast<T>(x.dims[0])))
      return call.fail("region {} names an image outside the {} images of x", n, x.dims[0]);
    const Site<T> site{x.data<const T>() + static_cast<std::int64_t>(roi[0]) * x.strides[0], x,
                       extent_of(mode, roi[2], roi[4], scale),
                       extent_of(mode, roi[1], roi[3], scale)};
    for (std::int64_t c = 0; c < y.dims[1]; ++c)
      for (std::int64_t i = 0; i < y.dims[2]; ++i)
        for (std::int64_t k = 0; k < y.dims[3]; ++k) {
          T& to = y.data<T>()[n * y.strides[0] + c * y.strides[1] + i * y.strides[2] +
                              k * y.strides[3]];
          if (x.dims[2] == 0 || x.dims[3] == 0) {
            to = 0;
          } else if (mode == Mode::average) {
            to = average(site, site.plane((c * y.dims[2] + i) * y.dims[3] + k),
                         range_of(site.rows, i, y.dims[2], x.dims[2]),
                         range_of(site.columns, k, y.dims[3], x.dims[3]));
          } else {
            to = mode == Mode::bilinear ? mean_of_bins(site, call, c, i, k)
                                        : deformed(site, call, n, c, i, k);
          }
        }
  }
  return tensor::Status::ok;
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return call.out(0).dtype == DType::f64 ? pool<double>(call) : pool<float>(call);
}

}  // namespace psroi_pool
}  // namespace

constinit const ir::OpDef psroi_pool_op{
    .name = "psroi_pool",
    .doc =
        "Position-sensitive pools of regions into `channels` of `height` by `width` cells: rois "
        "has rows of image, x0, y0, x1 and y1, the corners in units of 1 / `spatial_scale` "
        "elements of x [batch, channels, height, width]. `mode` average: the mean of the elements "
        "of a cell, in channels of its own. bilinear: the mean of samples of `bins_y` by `bins_x` "
        "bins of the region, each in channels of its own; corners are relative to the image. "
        "deformable: the mean of samples at the bins of a cell, in channels of its own, moved by "
        "`offset_scale` times offsets [region, 2 * groups, part, part], x before y, in sizes of "
        "the region.",
    .inputs = {{"x", ir::Accept::real},
               {.name = "rois", .accept = ir::Accept::real, .same_as = 0},
               {.name = "offsets",
                .accept = ir::Accept::real,
                .arity = ir::Arity::optional,
                .same_as = 0}},
    .outputs = {"y"},
    .attrs = {{"mode", tensor::AttrKind::text},
              {"channels", tensor::AttrKind::integer},
              {"height", tensor::AttrKind::integer},
              {"width", tensor::AttrKind::integer},
              {"spatial_scale", tensor::AttrKind::real},
              {"bins_y", tensor::AttrKind::integer},
              {"bins_x", tensor::AttrKind::integer},
              {"offset_scale", tensor::AttrKind::real}},
    .effects = ir::Effects::may_fail,
    .infer = psroi_pool::infer,
    .reference = psroi_pool::reference,
    .steps = {.axis = steps_of_regions, .any_operand = true},
};

}  // namespace scanloom::ops
