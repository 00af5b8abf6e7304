// How much boxes overlap: the area that two have in common over that of either. Shared by the
// operators that suppress boxes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace scanloom::ops {

/// The meaning of the numbers of a box. corners: two opposite ones, in any order. ordered: the
/// least and the greatest one; boxes that violate this overlap nothing. center: x, y, width,
/// height. rotated: as center, then the cosine and sine of an angle.
enum class BoxForm : std::uint8_t { corners, ordered, center, rotated };

struct OverlapRule {
  BoxForm form = BoxForm::corners;
  float margin = 0;       ///< added to each side: 1 if corners name elements
  bool touching = false;  ///< boxes that are apart without the margin do not overlap
};

/// A box, as overlap() takes it. Rotated ones keep their center, half of their sides, and the
/// cosine and sine.
struct OverlapBox {
  float v[6] = {};
  float area = 0;

  /// `at[i * step]` are the numbers of the box.
  static OverlapBox of(const OverlapRule& rule, const float* at, std::int64_t step) {
    OverlapBox box;
    const float a = at[0], b = at[step], c = at[2 * step], d = at[3 * step];
    switch (rule.form) {
      case BoxForm::corners:
        box.set_sides(std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d));
        break;
      case BoxForm::ordered:
        box.set_sides(a, b, c, d);
        break;
      case BoxForm::center:
        box.set_sides(a - c / 2, b - d / 2, a + c / 2, b + d / 2);
        break;
      case BoxForm::rotated: {
        const float values[6] = {a, b, c / 2, d / 2, at[4 * step], at[5 * step]};
        std::copy_n(values, 6, box.v);
        box.area = c > 0 && d > 0 ? c * d : 0;
        return box;
      }
    }
    const float width = box.v[2] - box.v[0], height = box.v[3] - box.v[1];
    if (width >= 0 && height >= 0) box.area = (width + rule.margin) * (height + rule.margin);
    return box;
  }

 private:
  void set_sides(float x0, float y0, float x1, float y1) {
    const float sides[4] = {x0, y0, x1, y1};
    std::copy_n(sides, 4, v);
  }
};

/// Returns the mean over the way from p to q, a straight line, of its position limited to
/// [-half, half].
inline float mean_limited(float p, float q, float half) {
  const float from = std::clamp(p, -half, half), to = std::clamp(q, -half, half);
  const float way = q - p;
  if (way == 0) return from;
  // The parts before the line enters the range and after it has left it.
  const float before = std::clamp((from - p) / way, 0.0F, 1.0F);
  const float after = std::clamp((q - to) / way, 0.0F, 1.0F);
  return from * before + (from + to) / 2 * std::max(1 - before - after, 0.0F) + to * after;
}

/// Returns the area that two rotated boxes have in common. In the frame of b it is the sum over the
/// edges of a, within the width of b, of the signed area between the edge, limited to the height of
/// b, and the lower side of b. No edge is compared with another, so that equal or aligned boxes are
/// no special cases.
inline float rotated_common(const OverlapBox& a, const OverlapBox& b) {
  const float cosine = b.v[4], sine = b.v[5];
  const float dx = a.v[0] - b.v[0], dy = a.v[1] - b.v[1];
  const float x = dx * cosine + dy * sine, y = dy * cosine - dx * sine;
  // The axes of a in the frame of b.
  const float c = a.v[4] * cosine + a.v[5] * sine, s = a.v[5] * cosine - a.v[4] * sine;
  const float wx = a.v[2] * c, wy = a.v[2] * s, hx = -a.v[3] * s, hy = a.v[3] * c;
  const float xs[4] = {x - wx - hx, x + wx - hx, x + wx + hx, x - wx + hx};
  const float ys[4] = {y - wy - hy, y + wy - hy, y + wy + hy, y - wy + hy};
  float sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t k = (i + 1) % 4;
    const float from = std::clamp(xs[i], -b.v[2], b.v[2]), to = std::clamp(xs[k], -b.v[2], b.v[2]);
    if (from == to) continue;
    // from != to implies that the edge is not vertical.
    const float slope = (ys[k] - ys[i]) / (xs[k] - xs[i]);
    const float p = ys[i] + (from - xs[i]) * slope, q = ys[i] + (to - xs[i]) * slope;
    sum += (from - to) * (mean_limited(p, q, b.v[3]) + b.v[3]);
  }
  return std::max(sum, 0.0F);
}

/// Returns the intersection over union; 0 if a box has no area.
inline float overlap(const OverlapRule& rule, const OverlapBox& a, const OverlapBox& b) {
  if (!(a.area > 0) || !(b.area > 0)) return 0;
  float common = 0;
  if (rule.form == BoxForm::rotated) {
    common = rotated_common(a, b);
  } else {
    const float width = std::min(a.v[2], b.v[2]) - std::max(a.v[0], b.v[0]);
    const float height = std::min(a.v[3], b.v[3]) - std::max(a.v[1], b.v[1]);
    if (rule.touching && (width < 0 || height < 0)) return 0;
    if (!(width + rule.margin > 0) || !(height + rule.margin > 0)) return 0;
    common = (width + rule.margin) * (height + rule.margin);
  }
  return common / (a.area + b.area - common);
}

}  // namespace scanloom::ops
