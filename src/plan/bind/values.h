// ValueLocations: where the module's values are stored while binding, where they should be
// computed, and which of them own their memory or object.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/infer.h"
#include "ir/last_uses.h"
#include "ir/op_def.h"
#include "plan/bind/builder.h"

namespace scanloom::plan {

/// Not thread safe; each bind() has its own.
class ValueLocations {
 public:
  /// Keeps references to all arguments.
  ValueLocations(const ir::Module& module, const ir::Inference& inference, BindingBuilder& builder);

  [[nodiscard]] const tensor::Type& type(ir::ValueId id) const {
    return inference_.types[id.index];
  }
  [[nodiscard]] bool is_static(ir::ValueId id) const { return type(id).is_static(); }
  /// Whether the value is an object, which the arena cannot hold: a sequence, an optional, strings.
  [[nodiscard]] bool is_object(ir::ValueId id) const {
    return !type(id).is_tensor() || type(id).dtype == DType::string;
  }

  /// Returns the value's location, absent if it has not been bound. A constant gets its location on
  /// first use.
  Location at(ir::ValueId id);
  /// Returns the value's location, absent if it has not been bound. Unlike at(), leaves a constant
  /// that nothing has read yet without one.
  [[nodiscard]] const Location& bound(ir::ValueId id) const { return locations_[id.index]; }
  /// Whether the data of a constant belong to the plan, not to the binding.
  [[nodiscard]] bool is_of_plan(ir::ValueId id) const;
  /// Returns the locations of a node's inputs, absent for omitted optional inputs.
  std::vector<Location> of_inputs(const ir::Node& node);
  void set(ir::ValueId id, Location location) { locations_[id.index] = std::move(location); }
  /// Chooses where a result of known sizes is computed: in place, at its wanted location, or in a
  /// new buffer.
  Location result(ir::ValueId id);
  /// Returns the layout of such a result: row-major, or with its channels last.
  std::int32_t result_layout(ir::ValueId id);
  /// Sets which results are stored with their channels last, by ValueId.
  void set_channels_last(std::vector<bool> values) { channels_last_ = std::move(values); }
  /// Returns a location of a single row for a result that nothing reads (OpDef::rows_axis).
  std::optional<Location> unread_rows(const ir::Node& node, std::size_t output);
  /// Returns the bytes of a value of known sizes. Records the largest, which the out-of-memory
  /// error names.
  std::int64_t account_for(ir::ValueId id);

  /// Requests that the value be computed at `destination`, if its producer can do that: an ordinary
  /// node of the same region whose result is not wanted elsewhere already.
  void want(ir::RegionId region, ir::ValueId value, const Location& destination);
  /// Same as `want`, also for the source of which the value is a reshaped view, so that the view is
  /// at the destination too.
  void want_source(ir::RegionId region, ir::ValueId value, Location destination);
  [[nodiscard]] const std::optional<Location>& wanted(ir::ValueId id) const {
    return wanted_[id.index];
  }

  /// Returns the number of operands and yields that read the value.
  [[nodiscard]] std::uint32_t uses(ir::ValueId id) const { return uses_[id.index]; }
  [[nodiscard]] const std::vector<std::uint32_t>& uses() const { return uses_; }

  /// Records whether the value is an object that no other value's spot refers to.
  void set_owned(ir::ValueId id, bool owned = true) { owned_[id.index] = owned; }
  /// Records whether the dynamic value shares its storage with no other value.
  void set_own_storage(ir::ValueId id, bool own = true) { has_own_storage_[id.index] = own; }
  /// Records that the value is stored in place of its node's first operand.
  void set_in_place(ir::ValueId id) { updates_in_place_[id.index] = true; }
  [[nodiscard]] bool is_in_place(ir::ValueId id) const { return updates_in_place_[id.index]; }

  /// Whether the object that the operand or yield reads may be moved there.
  [[nodiscard]] bool hands_over(ir::NodeId node, std::size_t operand) const;
  [[nodiscard]] bool hands_over_yield(ir::RegionId region, std::size_t yield) const;
  /// Whether the only reader of a dynamic value may take its storage.
  [[nodiscard]] bool may_take_storage(ir::ValueId id) const {
    return has_own_storage_[id.index] && uses_[id.index] == 1;
  }

 private:
  const ir::Module& module_;
  const ir::Inference& inference_;
  BindingBuilder& builder_;
  ir::LastUses last_uses_;
  // By ValueId:
  std::vector<Location> locations_;
  std::vector<std::optional<Location>> wanted_;
  std::vector<std::uint32_t> uses_;
  std::vector<bool> has_own_storage_, owned_, updates_in_place_, channels_last_;
};

}  // namespace scanloom::plan
