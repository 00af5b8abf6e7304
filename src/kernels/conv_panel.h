// The vector functions of convolutions with many filters (conv_planes.cpp): windows of adjacent
// positions are packed as panels, a group of which meets all filters while it is in the L2 cache.
#pragma once

#include <cstdint>

#include "base/cpu.h"

namespace scanloom::kernels {

/// Adjacent columns of a panel whose windows are adjacent in the planes.
struct ConvRun {
  std::int64_t from = 0;  ///< offset of the first window's first tap, if that is at 0
  std::int64_t to = 0;    ///< offset of the first column's first tap in the panels
  std::int64_t count = 0;
};

/// Packs windows as panels, each k rows of a panel's columns. Nothing is read after a run.
template <class T>
struct ConvPack {
  const T* planes = nullptr;
  const std::int64_t* taps = nullptr;  ///< offsets, of k taps
  std::int64_t k = 0;
  const ConvRun* runs = nullptr;  ///< ascending, each within a panel
  std::int64_t run_count = 0;
  std::int64_t columns = 0;  ///< of all panels; what is left of the last one becomes 0
  T* to = nullptr;           ///< whole panels
};

/// Products of all filters with a group of panels, one after another. Every element is the sum over
/// k in order of multiply-adds (base/dot.h) from 0, or from what y holds; the bias is added last.
template <class T>
struct ConvPanels {
  const T* windows = nullptr;
  std::int64_t k = 0, count = 0;     ///< taps of each panel; columns of all that are stored
  std::int64_t step = 0, panel = 0;  ///< elements from a tap to the next, and between panels
  const T* weights = nullptr;        ///< k adjacent elements per filter
  std::int64_t w_filter = 0, filters = 0;
  T* y = nullptr;
  std::int64_t y_filter = 0;
  bool resume = false;
  const T* bias = nullptr;  ///< per filter, or null
  std::int64_t bias_step = 0;
};

template <class T>
struct ConvPanelFns {
  std::int64_t columns = 0;  ///< of a panel
  void (*pack)(const ConvPack<T>&) = nullptr;
  void (*multiply)(const ConvPanels<T>&) = nullptr;
};

/// The functions of one instruction set.
struct ConvPanelTables {
  ConvPanelFns<float> f32;
  ConvPanelFns<double> f64;
};

/// The table that `isa` permits.
const ConvPanelTables& conv_panel_tables(Isa isa);

}  // namespace scanloom::kernels
