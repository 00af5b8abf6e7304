// Quantized convolutions line by line over bytes (byte_taps.h).
#pragma once

#include "kernels/qlinear_conv_schedule.h"

namespace scanloom::kernels::qlinear_conv {

/// Whether prepare_byte_lines() is fastest here, and can run the node at all.
[[nodiscard]] bool sums_byte_lines(const PrepareCtx& ctx, const QLinearConvSchedule& plan);
/// Precondition: sums_byte_lines().
[[nodiscard]] Prepared prepare_byte_lines(const PrepareCtx& ctx, QLinearConvSchedule plan);

}  // namespace scanloom::kernels::qlinear_conv
