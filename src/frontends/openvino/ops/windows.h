// Attributes that define the windows of convolutions and pools.
#pragma once

#include <string>
#include <vector>

#include "frontends/openvino/layer_ctx.h"

namespace scanloom::openvino {

struct Windows {
  std::string padding;  ///< explicit, same_upper or same_lower; valid is explicit without pads
  std::vector<std::int64_t> strides, dilations, begin, end;  ///< empty: 1, or 0

  /// The attributes under the names used by the IR's operators.
  [[nodiscard]] std::vector<ir::NamedAttr> attributes() const;
};

/// Errors: pads at one end only, or with different lengths; an unknown auto_pad.
Expected<Windows> windows_of(LayerCtx& ctx);

/// Fills absent lists with `axes` entries. Errors: a list with another length, numbers no window
/// can have.
Expected<void> complete(Windows& windows, std::size_t axes);

}  // namespace scanloom::openvino
