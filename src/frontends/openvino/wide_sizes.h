// Sizes that a model computes with 32 bits: ShapeOf with output_type i32 and what depends on it.
// They are computed with 64 bits instead and narrowed when a layer outputs them; the next layer
// uses the wide values. Inference can follow those, but not a narrowing, which a size above 2^31 -
// 1 would not survive. If all sizes fit, the elements are the same.
#pragma once

#include <deque>
#include <string_view>
#include <vector>

#include "frontends/openvino/layer_ctx.h"

namespace scanloom::openvino {

/// Returns the i64 value from which `value`, an i32, is narrowed, if its elements are tracked as
/// sizes; otherwise an invalid id.
[[nodiscard]] ir::ValueId wide_size(ir::Builder& builder, ir::ValueId value);

/// Returns the wide size if there is one, otherwise `value`.
[[nodiscard]] ir::ValueId widest(ir::Builder& builder, ir::ValueId value);

/// The operands of a layer. If the layer computes sizes, its 32-bit size operands are widened.
class WideOperands {
 public:
  /// Precondition: no operand is poisoned.
  explicit WideOperands(std::vector<Binding*> operands) : operands_(std::move(operands)) {}

  Expected<void> widen(std::string_view type, ir::Builder& builder);
  [[nodiscard]] const std::vector<Binding*>& operands() const { return operands_; }
  /// Gives the layer's results the element type they would have with the original operands.
  Expected<void> narrow(LayerCtx& ctx) const;

 private:
  std::vector<Binding*> operands_;
  std::deque<Binding> widened_;  // references stay valid while it grows
  bool narrows_ = false;
};

}  // namespace scanloom::openvino
