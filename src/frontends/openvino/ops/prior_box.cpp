// PriorBox: boxes of several sizes and shapes around the center of each cell of an image.
#include <algorithm>
#include <cmath>

#include "frontends/openvino/ops/boxes.h"
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

/// A size that may depend on the height of the image: fixed + by_height * height.
struct Length {
  float fixed = 0, by_height = 0;

  [[nodiscard]] Length times(float factor) const { return {fixed * factor, by_height * factor}; }
};

/// A box of each cell: how far its center is from that of the cell, and half of its sides.
struct PriorShape {
  float shift_x = 0, shift_y = 0;
  Length half_width, half_height;
  bool clipped = false;  ///< to the image, whatever attribute 'clip' says
};

class PriorShapes {
 public:
  /// Errors: numbers that do not fit together.
  static Expected<std::vector<PriorShape>> of(LayerCtx& ctx);

 private:
  Expected<void> read(LayerCtx& ctx);
  Expected<void> add_fixed();
  /// Adds `density` by `density` boxes that together cover one of a fixed size.
  void add_dense(float size, std::int64_t density, float ratio);
  void add_sizes();
  void add_ratios(std::size_t i);
  void add_middle(std::size_t i);
  /// The number of boxes per cell that the specification gives, whatever the attributes make.
  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] Length length(float size) const {
    return scales_all_ ? Length{.fixed = size} : Length{.by_height = size};
  }

  std::vector<PriorShape> shapes_;
  std::vector<float> min_size_, max_size_, density_, fixed_size_, fixed_ratio_;
  std::vector<float> ratios_;  // without 1
  bool scales_all_ = true, min_max_first_ = true;
};

Expected<std::vector<float>> floats(LayerCtx& ctx, const char* name) {
  SCANLOOM_TRY(const std::vector<double> given, ctx.attributes.floats(name));
  return std::vector<float>(given.begin(), given.end());
}

Expected<void> PriorShapes::read(LayerCtx& ctx) {
  SCANLOOM_TRY(min_size_, floats(ctx, "min_size"));
  SCANLOOM_TRY(max_size_, floats(ctx, "max_size"));
  SCANLOOM_TRY(density_, floats(ctx, "density"));
  SCANLOOM_TRY(fixed_size_, floats(ctx, "fixed_size"));
  SCANLOOM_TRY(fixed_ratio_, floats(ctx, "fixed_ratio"));
  SCANLOOM_TRY(const std::vector<float> ratios, floats(ctx, "aspect_ratio"));
  SCANLOOM_TRY(const bool flips, ctx.attributes.boolean("flip", false));
  SCANLOOM_TRY(scales_all_, ctx.attributes.boolean("scale_all_sizes", true));
  SCANLOOM_TRY(min_max_first_, ctx.attributes.boolean("min_max_aspect_ratios_order", true));
  constexpr float kMaxDensity = 1 << 10;
  for (const float one : density_)
    if (!(one >= 1 && one <= kMaxDensity))
      return invalid_model("attribute 'density' has {}, outside [1, {}]", one, kMaxDensity);
  for (const float one : fixed_size_)
    if (!(one >= 0 && one <= 1e9F))
      return invalid_model("attribute 'fixed_size' has {}, outside [0, 1e9]", one);
  const auto same = [](float a, float b) { return std::fabs(a - b) < 1e-6F; };
  for (const float ratio : ratios) {
    const auto known = [&](float one) { return same(one, ratio); };
    if (same(ratio, 1) || std::ranges::any_of(ratios_, known)) continue;
    if (!(ratio > 0)) return invalid_model("attribute 'aspect_ratio' has {}, not above 0", ratio);
    ratios_.push_back(ratio);
    if (flips) ratios_.push_back(1 / ratio);
  }
  return {};
}

void PriorShapes::add_dense(float size, std::int64_t density, float ratio) {
  const auto whole = static_cast<std::int64_t>(size);
  const auto step =
      static_cast<float>(static_cast<std::int64_t>(size / static_cast<float>(density)));
  const float root = std::sqrt(ratio), start = step / 2 - static_cast<float>(whole / 2);
  const Length width{.fixed = size * 0.5F * root}, height{.fixed = size * 0.5F / root};
  for (std::int64_t i = 0; i < density; ++i)
    for (std::int64_t k = 0; k < density; ++k)
      shapes_.push_back({start + static_cast<float>(k) * step, start + static_cast<float>(i) * step,
                         width, height, true});
}

Expected<void> PriorShapes::add_fixed() {
  if (!fixed_size_.empty() && density_.size() < fixed_size_.size())
    return invalid_model("attributes 'fixed_size' and 'density' have {} and {} numbers",
                         fixed_size_.size(), density_.size());
  for (std::size_t i = 0; i < fixed_size_.size(); ++i) {
    const auto density = static_cast<std::int64_t>(density_[i]);
    for (const float ratio : fixed_ratio_) add_dense(fixed_size_[i], density, ratio);
    if (!fixed_ratio_.empty()) continue;
    add_dense(std::trunc(fixed_size_[i]), density, 1);
    for (const float ratio : ratios_) add_dense(fixed_size_[i], density, ratio);
  }
  return {};
}

void PriorShapes::add_ratios(std::size_t i) {
  if (!scales_all_ && i + 1 != min_size_.size()) return;
  const Length half = length(min_size_[scales_all_ ? i : 0]).times(0.5F);
  for (const float ratio : ratios_) {
    const float root = std::sqrt(ratio);
    shapes_.push_back({0, 0, half.times(root), half.times(1 / root), false});
  }
}

void PriorShapes::add_middle(std::size_t i) {
  if (i >= max_size_.size()) return;
  const Length half{.fixed = std::sqrt(min_size_[i] * max_size_[i]) * 0.5F};
  shapes_.push_back({0, 0, half, half, false});
}

void PriorShapes::add_sizes() {
  for (std::size_t i = 0; i < min_size_.size(); ++i) {
    const Length half = length(min_size_[i]).times(0.5F);
    shapes_.push_back({0, 0, half, half, false});
    if (min_max_first_) add_middle(i);
    add_ratios(i);
    if (!min_max_first_) add_middle(i);
  }
}

std::int64_t PriorShapes::count() const {
  const auto size = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  const std::int64_t ratios = size(ratios_) + 1;
  std::int64_t total =
      scales_all_ ? ratios * size(min_size_) + size(max_size_) : ratios + size(min_size_) - 1;
  if (!fixed_size_.empty()) total = ratios * size(fixed_size_);
  for (const float one : density_) {
    const auto density = static_cast<std::int64_t>(one);
    total += (fixed_ratio_.empty() ? ratios : size(fixed_ratio_)) * (density * density - 1);
  }
  return total;
}

Expected<std::vector<PriorShape>> PriorShapes::of(LayerCtx& ctx) {
  PriorShapes all;
  SCANLOOM_CHECK_OK(all.read(ctx));
  constexpr std::int64_t kMaxShapes = 1 << 16;
  const std::int64_t due = all.count();
  if (due > kMaxShapes)
    return invalid_model("it makes {} boxes per cell, more than {}", due, kMaxShapes);
  SCANLOOM_CHECK_OK(all.add_fixed());
  all.add_sizes();
  if (all.shapes_.empty())
    return invalid_model("attributes 'min_size' and 'fixed_size' are both empty");
  if (const auto made = static_cast<std::int64_t>(all.shapes_.size()); made != due)
    return invalid_model("its attributes make {} boxes per cell, but its result has {}", made, due);
  return std::move(all.shapes_);
}

/// Returns a number of each shape as a list.
template <class Number>
ValueId listed(LayerComposer& c, const std::vector<PriorShape>& shapes, const Number& number) {
  std::vector<float> values;
  for (const PriorShape& shape : shapes) values.push_back(number(shape));
  return c.builder().constant(
      tensor::Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values));
}

ValueId lengths(LayerComposer& c, const std::vector<PriorShape>& shapes, Length PriorShape::* which,
                ValueId height) {
  const auto part = [&](float Length::* of) {
    return listed(c, shapes, [&](const PriorShape& shape) { return shape.*which.*of; });
  };
  const bool fixed = std::ranges::all_of(
      shapes, [&](const PriorShape& shape) { return (shape.*which).by_height == 0; });
  if (fixed) return part(&Length::fixed);
  return c.add(part(&Length::fixed), c.mul(part(&Length::by_height), height));
}

/// The distance of the cells along an axis of the image, and of the first center from the start.
struct CellGrid {
  ValueId step;
  double offset;
};

CellGrid grid_of(LayerComposer& c, ValueId size, ValueId cells, ValueId height, ValueId rows) {
  const double step = c.real("step", 0), offset = c.real("offset", 0);
  if (c.flag("scale_all_sizes", true)) {
    if (step == 0) return {c.div(size, cells), 0.5};
    return {c.scalar(step, DType::f32), offset};
  }
  if (step == 0) return {c.div(size, cells), 0.5};
  if (step == -1) return {c.div(height, rows), offset};
  return {c.mul(c.scalar(step, DType::f32), height), offset};
}

}  // namespace

// The second row of the result holds the variances of all boxes.
Expected<void> convert_prior_box(LayerCtx& ctx) {
  LayerComposer c(ctx);
  SCANLOOM_TRY(const std::vector<PriorShape> shapes, PriorShapes::of(ctx));
  const auto count = static_cast<std::int64_t>(shapes.size());
  const ValueId cells = c.sizes_in(0), image = c.sizes_in(1);
  limit_elements(c, c.join({cells, c.number(count * 4)}));
  const auto size = [&](ValueId of, std::int64_t axis) { return c.gather(of, c.number(axis), 0); };
  const auto real = [&](ValueId number) { return c.cast(number, DType::f32); };
  const ValueId height = real(size(image, 0)), width = real(size(image, 1));
  const ValueId rows = real(size(cells, 0)), columns = real(size(cells, 1));
  const ValueId clipped =
      listed(c, shapes, [](const PriorShape& shape) { return shape.clipped ? 1.0F : 0.0F; });
  const ValueId is_clipped = c.less(c.scalar(0, DType::f32), clipped);
  const ValueId zero = c.scalar(0, DType::f32), one = c.scalar(1, DType::f32);
  /// Returns the low and high corners along an axis, [cell, shape].
  const auto corners = [&](std::int64_t axis, ValueId of_image, ValueId of_cells, ValueId shifts,
                           ValueId reach) {
    const CellGrid grid = grid_of(c, of_image, of_cells, height, rows);
    const ValueId numbers = real(c.count_up(size(cells, axis)));
    const ValueId centers = c.mul(c.add(numbers, c.scalar(grid.offset, DType::f32)), grid.step);
    const ValueId middle = c.add(c.unsqueeze(centers, {1}), shifts);
    const ValueId inverse = c.div(one, of_image);
    const ValueId low = c.mul(c.sub(middle, reach), inverse);
    const ValueId high = c.mul(c.add(middle, reach), inverse);
    return std::pair(c.where(is_clipped, c.max(low, zero), low),
                     c.where(is_clipped, c.min(high, one), high));
  };
  const auto x =
      corners(1, width, columns, listed(c, shapes, [](const PriorShape& s) { return s.shift_x; }),
              lengths(c, shapes, &PriorShape::half_width, height));
  const auto y =
      corners(0, height, rows, listed(c, shapes, [](const PriorShape& s) { return s.shift_y; }),
              lengths(c, shapes, &PriorShape::half_height, height));
  const ValueId shape = c.join({size(cells, 0), size(cells, 1), c.number(count)});
  const auto along = [&](ValueId of) { return c.unsqueeze(c.expand(of, shape), {3}); };
  const auto down = [&](ValueId of) { return along(c.unsqueeze(of, {1})); };
  ValueId all = c.concat({along(x.first), down(y.first), along(x.second), down(y.second)}, 3);
  if (c.flag("clip", false)) all = c.min(c.max(all, zero), one);
  const ValueId flat = c.list({1, -1});
  return c.emit(
      c.concat({c.reshape(all, flat), c.reshape(box_variances(c, c.shape(all)), flat)}, 0));
}

}  // namespace scanloom::openvino
