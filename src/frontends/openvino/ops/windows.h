// The attributes that say where the windows of convolutions and pools lie.
#pragma once

#include <string>
#include <vector>

#include "frontends/openvino/layer_ctx.h"

namespace scanloom::openvino {

struct Windows {
  std::string padding;  ///< explicit, same_upper or same_lower; valid is explicit without pads
  std::vector<std::int64_t> strides, dilations, begin, end;  ///< empty: 1, or 0

  /// As the IR's operators name them.
  [[nodiscard]] std::vector<ir::NamedAttr> attributes() const;
};

/// Errors: pads at one side alone, or of different lengths; an auto_pad that is not known.
Expected<Windows> windows_of(LayerCtx& ctx);

/// Lists that are left out get `axes` entries. Errors: one of another length, numbers that no
/// window has.
Expected<void> complete(Windows& windows, std::size_t axes);

}  // namespace scanloom::openvino
