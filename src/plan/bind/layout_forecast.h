// LayoutForecast: how values of a loop's body will be laid out, before anything of the body is
// bound. A decision that the form of the body's calls depends on can thus be made first.
#pragma once

#include <cstddef>
#include <optional>

#include "plan/bind/context.h"

namespace scanloom::plan {

/// The layout of a tensor of known sizes, and its data if these are constant.
struct LaidOut {
  Layout layout;
  DType dtype = DType::f32;
  const std::byte* constant = nullptr;
  bool of_plan = false;  ///< constant: owned by the plan

  /// Whether a location that has been bound is as forecast.
  [[nodiscard]] bool agrees_with(const Binding& binding, const Spot& spot) const;
};

/// Returns how a tensor of known sizes has been laid out.
[[nodiscard]] LaidOut laid_out_at(const Binding& binding, const Spot& spot);

/// Returns how binding lays out a result of known sizes that is no view: in row-major order.
[[nodiscard]] LaidOut contiguous_result(const BindContext& ctx, ir::ValueId value);

/// Follows a value back to what determines its layout. Relies on binding placing each result of
/// known sizes in row-major order, except for views. Keeps references to all arguments.
class LayoutForecast {
 public:
  /// Precondition: the loop's controls are bound, `loop.blocks` says which ports are computed in
  /// blocks, and no block is being bound.
  LayoutForecast(const BindContext& ctx, const BoundLoop& loop) : ctx_(ctx), loop_(loop) {}

  /// Returns the layout of a value that a node of the body reads; nullopt for an object, and for a
  /// tensor whose size or address only the run knows.
  [[nodiscard]] std::optional<LaidOut> of(ir::ValueId value) const;

 private:
  [[nodiscard]] std::optional<ir::ValueId> source_of(ir::ValueId value) const;
  [[nodiscard]] std::optional<LaidOut> origin(ir::ValueId value) const;
  [[nodiscard]] std::optional<LaidOut> bound(ir::ValueId value) const;
  [[nodiscard]] std::optional<LaidOut> slice(std::size_t port) const;
  [[nodiscard]] bool is_placed(ir::ValueId value) const;

  const BindContext& ctx_;
  const BoundLoop& loop_;
};

}  // namespace scanloom::plan
