// Quantized convolutions of groups that have few filters, such as depthwise ones: line by line,
// from a padded image of the group (qlinear_conv_lines.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/qlinear_conv_schedule.h"

namespace scanloom::kernels::qlinear_conv {

/// Where lines of results are computed.
struct LineResults {
  std::vector<std::int64_t> starts;    ///< of the lines in the image of a group
  std::int64_t step = 1;               ///< from one result of a line to the next, in the image
  std::int64_t length = 0;             ///< results of a line that count
  std::int64_t pitch = 0, folded = 1;  ///< lines of the results that a line holds, so far apart

  /// Results of a line with those that do not count.
  [[nodiscard]] std::int64_t computed() const { return folded > 1 ? folded * pitch : length; }
};
/// Finds where lines begin. The lines of a plane are joined to one of up to `most` results if that
/// is faster: `together` results take as long as one.
[[nodiscard]] LineResults line_results(const QLinearConvSchedule& plan, std::int64_t together,
                                       std::int64_t most);

/// The spatial axis whose positions are lines.
inline std::size_t last_axis(const ConvGeometry& g) {
  return static_cast<std::size_t>(g.spatial - 1);
}
/// The axes of x that lines of one group go through: its channels, and all spatial axes but the
/// last.
[[nodiscard]] tensor::Shape line_axes(const Operand& x, const ConvGeometry& g);
/// The offset in the padded image of a group of the line with this index of line_axes().
[[nodiscard]] std::int64_t line_in_image(const QLinearConvSchedule& plan,
                                         const tensor::Shape& index);

/// Whether lines take less time than unfolded windows.
[[nodiscard]] bool sums_lines(const QLinearConvSchedule& plan);
/// Precondition: sums_lines(plan).
[[nodiscard]] Prepared prepare_lines(const PrepareCtx& ctx, QLinearConvSchedule plan);

}  // namespace scanloom::kernels::qlinear_conv
