#include "plan/codegen/step_extents.h"

#include <cstdlib>

namespace scanloom::plan {
namespace {

/// Adds the extent of the step axis. Adjacent indices of an outer axis are at least that far apart.
void add_extent(const Binding& binding, SlotId slot, const Spot& whole, std::int64_t axis,
                loopnest::StepExtents& extents) {
  if (!whole.present() || whole.is_dynamic() || whole.is_object()) return;
  const Layout& layout = binding.layouts[static_cast<std::size_t>(whole.layout)];
  const int at = static_cast<int>(axis);
  extents[slot] = std::abs(layout.dims[at] * layout.strides[at]);
}

}  // namespace

loopnest::StepExtents step_extents(const Binding& binding, const BoundLoop& loop) {
  loopnest::StepExtents extents;
  for (const BoundLoop& inner : binding.loops) {
    if (inner.body < loop.body || inner.exit > loop.exit) continue;
    for (const BoundScanned& port : inner.scanned)
      add_extent(binding, port.argument.slot, port.outer, port.slices.axis, extents);
    for (const BoundStacked& port : inner.stacked)
      add_extent(binding, port.row.slot, port.result, port.axis, extents);
  }
  return extents;
}

}  // namespace scanloom::plan
