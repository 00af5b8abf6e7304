// The part of a convolution over padded planes that multiplies panel by panel (conv_panel.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/conv_band.h"
#include "kernels/conv_panel.h"
#include "kernels/isa_tables.h"

namespace scanloom::kernels {

template <class T>
const ConvPanelFns<T>& conv_panel_fns(Isa isa) {
  return functions_for<T>(conv_panel_tables(isa));
}

/// Taps of a panel at most, so that a group of several takes a part of a small L2 cache: all taps
/// are split evenly.
template <class T>
std::int64_t panel_taps(const ConvPanelFns<T>& fns, std::int64_t k) {
  constexpr std::int64_t kPanelBytes = 32 * 1024;
  const std::int64_t most = kPanelBytes / (fns.columns * static_cast<std::int64_t>(sizeof(T)));
  const std::int64_t blocks = std::max<std::int64_t>((k + most - 1) / most, 1);
  return (k + blocks - 1) / blocks;
}

inline constexpr std::int64_t kMaxGroupColumns = 512;

/// Panels of a group: as many as leave room in the L2 cache, and few enough that little is idle.
template <class T>
std::int64_t panels_together(const ConvPanelFns<T>& fns, std::int64_t taps) {
  constexpr std::int64_t kGroupBytes = 128 * 1024;
  const std::int64_t panel = taps * fns.columns * static_cast<std::int64_t>(sizeof(T));
  return std::clamp<std::int64_t>(kGroupBytes / panel, 1, kMaxGroupColumns / fns.columns);
}

/// Elements of a group of panels of so many taps.
template <class T>
std::int64_t panel_elements(const ConvPanelFns<T>& fns, std::int64_t taps) {
  return panels_together(fns, taps) * taps * fns.columns;
}

/// The runs of a group's panels.
using PanelRuns = std::array<ConvRun, kMaxGroupColumns>;

/// Finds the runs of `count` positions of the band from `first` on, numbered without gaps, for
/// panels of so many columns and taps. Returns how many there are.
template <class T>
std::int64_t panel_runs(const ConvBand<T>& s, std::int64_t first, std::int64_t count,
                        std::int64_t columns, std::int64_t taps, PanelRuns& runs) {
  std::int64_t line = first / s.width, at = first % s.width, found = 0;
  for (std::int64_t column = 0; column < count;) {
    const std::int64_t in_panel = column % columns;
    ConvRun& run = runs[static_cast<std::size_t>(found++)];
    run = {s.lines[line].start + at, column / columns * columns * taps + in_panel,
           std::min({count - column, columns - in_panel, s.width - at})};
    column += run.count;
    at += run.count;
    if (at == s.width) ++line, at = 0;
  }
  return found;
}

/// Packs `count` positions of the band from `first` on as panels of taps, and sets them.
template <class T>
void pack_windows(const ConvPanelFns<T>& fns, const ConvBand<T>& s, std::int64_t tap,
                  std::int64_t first, std::int64_t count, T* memory, ConvPanels<T>& panels) {
  PanelRuns runs;
  fns.pack({.planes = s.planes,
            .taps = s.taps + tap,
            .k = panels.k,
            .runs = runs.data(),
            .run_count = panel_runs(s, first, count, fns.columns, panels.k, runs),
            .columns = count,
            .to = memory});
  panels.windows = memory;
  panels.count = count;
  panels.step = fns.columns;
  panels.panel = fns.columns * panels.k;
  panels.y = s.y + first;
}

/// Multiplies whole panels of a single line, whose taps are `step` apart, without packing them.
/// Returns how many positions they have.
template <class T>
std::int64_t multiply_in_place(const ConvPanelFns<T>& fns, const ConvBand<T>& s, std::int64_t step,
                               std::int64_t first, std::int64_t count, ConvPanels<T>& panels) {
  panels.windows = s.planes + s.taps[0] + s.lines[0].start + first;
  panels.count = count / fns.columns * fns.columns;
  panels.step = step;
  panels.panel = fns.columns;
  panels.y = s.y + first;
  if (panels.count > 0) fns.multiply(panels);
  return panels.count;
}

/// Computes a band whose lines are adjacent in y. Groups of panels of `taps` taps go to `memory`,
/// except where the band is one line whose taps are `in_place` apart, or 0. Calls finished(first,
/// count) for positions that are complete, a group at a time.
template <class T, class Finished>
void multiply_panels(const ConvPanelFns<T>& fns, const ConvBand<T>& s, std::int64_t taps,
                     std::int64_t in_place, T* memory, Finished&& finished) {
  const std::int64_t positions = s.line_count * s.width;
  const std::int64_t group = panels_together(fns, taps) * fns.columns;
  for (std::int64_t tap = 0; tap < s.k; tap += taps) {
    const bool last = tap + taps >= s.k;
    for (std::int64_t first = 0; first < positions; first += group) {
      const std::int64_t count = std::min(group, positions - first);
      ConvPanels<T> panels{.k = std::min(taps, s.k - tap)};
      panels.weights = s.weights + tap;
      panels.w_filter = s.w_filter;
      panels.filters = s.filters;
      panels.y_filter = s.y_filter;
      panels.resume = tap > 0;
      panels.bias = last ? s.bias : nullptr;
      panels.bias_step = s.bias_step;
      const std::int64_t done =
          in_place == 0 ? 0 : multiply_in_place(fns, s, in_place, first, count, panels);
      if (done < count) {
        pack_windows(fns, s, tap, first + done, count - done, memory, panels);
        fns.multiply(panels);
      }
      if (last) finished(first, count);
    }
  }
}

}  // namespace scanloom::kernels
