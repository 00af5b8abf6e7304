// Sizes that a model computes with 32 bits: ShapeOf with output_type i32 and what follows. They are
// computed with 64 instead, and narrowed where a layer hands them out; the next layer takes the
// wide ones. Inference can follow these, but no narrowing, which a size above 2^31 - 1 would not
// survive. Where all sizes fit, the elements are the same.
#pragma once

#include <deque>
#include <string_view>
#include <vector>

#include "frontends/openvino/layer_ctx.h"

namespace scanloom::openvino {

/// The i64 value that `value`, an i32, is narrowed from, if its elements are followed as sizes;
/// else an invalid id.
[[nodiscard]] ir::ValueId wide_size(ir::Builder& builder, ir::ValueId value);

/// The wide size if there is one, else `value` itself.
[[nodiscard]] ir::ValueId widest(ir::Builder& builder, ir::ValueId value);

/// The operands of a layer, those that are sizes of 32 bits widened if it computes sizes of them.
class WideOperands {
 public:
  /// Precondition: no operand is poisoned.
  explicit WideOperands(std::vector<Binding*> operands) : operands_(std::move(operands)) {}

  Expected<void> widen(std::string_view type, ir::Builder& builder);
  [[nodiscard]] const std::vector<Binding*>& operands() const { return operands_; }
  /// Gives the layer's results the element type that they have by its operands as they were.
  Expected<void> narrow(LayerCtx& ctx) const;

 private:
  std::vector<Binding*> operands_;
  std::deque<Binding> widened_;  // stays where it is while it grows
  bool narrows_ = false;
};

}  // namespace scanloom::openvino
