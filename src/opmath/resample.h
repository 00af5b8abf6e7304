// The mathematics of resample: which elements of x an element of the result is made of. Weights and
// coordinates are computed in f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace scanloom {

/// One axis, and how it is resampled: the attributes and scalar operands of the operator. The texts
/// must outlive it.
struct Resampling {
  std::string_view mode, coordinates;
  double cubic = -0.75;
  bool antialias = false, exclude_outside = false;
  std::int64_t in = 0, out = 0;  ///< sizes
  double scale = 1, start = 0, end = 1;

  /// Whether the scale is one that a filter can be made for.
  [[nodiscard]] bool has_valid_scale() const {
    // No sensible image needs a filter over more elements.
    constexpr double kMaxTaps = 1 << 24;
    return scale * kMaxTaps > 1 && scale < 1e15;
  }
};

/// Maps elements of the result to coordinates in x, in elements of the axis.
class ResampleCoordinates {
 public:
  explicit ResampleCoordinates(const Resampling& of)
      : mode_(of.coordinates),
        in_(static_cast<double>(of.in)),
        out_(static_cast<double>(of.out)),
        scale_(of.scale),
        target_(scale_ * in_),
        start_(of.start),
        end_(of.end) {}

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
  double in_, out_, scale_, target_, start_, end_;
};

/// Returns the element that a nearest_ mode takes.
inline std::int64_t nearest_element(std::string_view mode, double x, std::int64_t size) {
  const bool down = mode == "nearest_round_prefer_floor";
  if (mode == "nearest_floor")
    x = std::floor(x);
  else if (mode == "nearest_ceil")
    x = std::ceil(x);
  else
    x = down ? std::ceil(x - 0.5) : std::floor(x + 0.5);
  if (!(x > 0)) return 0;
  return x < static_cast<double>(size - 1) ? static_cast<std::int64_t>(x) : size - 1;
}

/// The filter of one element of the result: element base + i of x has weight(i), first <= i < last.
class ResampleFilter {
 public:
  ResampleFilter(const Resampling& of, double x)
      : cubic_(of.mode == "cubic"), exclude_(of.exclude_outside), a_(of.cubic), size_(of.in) {
    stretch_ = of.antialias ? std::min(of.scale, 1.0) : 1;
    const double low = std::ceil(x) - 1;
    ratio_ = x - low;
    base_ = static_cast<std::int64_t>(std::clamp(low, -1e15, 1e15));
    first_ = static_cast<std::int64_t>(std::floor(-(cubic_ ? 2 : 1) / stretch_)) + 1;
    if (!of.antialias && !exclude_) return;
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

}  // namespace scanloom
