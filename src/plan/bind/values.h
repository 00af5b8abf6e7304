// ValueLocations: where the module's values are while binding, where they should be made, and which
// of them own what they refer to.
#pragma once

#include <optional>
#include <vector>

#include "ir/infer.h"
#include "ir/last_uses.h"
#include "ir/op_def.h"
#include "plan/bind/builder.h"

namespace scanloom::plan {

/// Not thread safe: each bind() has its own.
class ValueLocations {
 public:
  /// Keeps references to all of them.
  ValueLocations(const ir::Module& module, const ir::Inference& inference, BindingBuilder& builder);

  [[nodiscard]] const tensor::Type& type(ir::ValueId id) const {
    return inference_.types[id.index];
  }
  [[nodiscard]] bool is_static(ir::ValueId id) const { return type(id).is_static(); }
  /// Whether the value is what no arena can hold: a sequence, an optional, strings.
  [[nodiscard]] bool is_object(ir::ValueId id) const {
    return !type(id).is_tensor() || type(id).dtype == DType::string;
  }

  /// Constants get their place when they are first asked for. An absent location where the value
  /// has not been bound.
  Location at(ir::ValueId id);
  /// The locations of a node's inputs, absent ones for those that it leaves out.
  std::vector<Location> of_inputs(const ir::Node& node);
  void set(ir::ValueId id, Location location) { locations_[id.index] = std::move(location); }
  /// Where a result of known sizes is made: in place, where it is wanted, or in a new buffer.
  Location result(ir::ValueId id);
  /// A result that nothing reads, of which there is one row only (OpDef::rows_axis).
  std::optional<Location> unread_rows(const ir::Node& node, std::size_t output);
  /// The bytes of a value of known sizes; the largest is named where memory does not suffice.
  std::int64_t account_for(ir::ValueId id);

  /// Asks that the value be made at `destination`, where its producer can do that: an ordinary node
  /// of the region itself whose result is not wanted elsewhere already.
  void want(ir::RegionId region, ir::ValueId value, const Location& destination);
  /// The same, and what the value is a view of under other sizes, so that the view is there, too.
  void want_source(ir::RegionId region, ir::ValueId value, Location destination);
  [[nodiscard]] const std::optional<Location>& wanted(ir::ValueId id) const {
    return wanted_[id.index];
  }

  /// How many operands and yields read the value.
  [[nodiscard]] std::uint32_t uses(ir::ValueId id) const { return uses_[id.index]; }
  [[nodiscard]] const std::vector<std::uint32_t>& uses() const { return uses_; }

  /// Says whether the value is an object that no other value's spot refers to.
  void set_owned(ir::ValueId id, bool owned = true) { owned_[id.index] = owned; }
  /// Says whether no other value has the storage of the dynamic value.
  void set_own_storage(ir::ValueId id, bool own = true) { has_own_storage_[id.index] = own; }
  /// The value is where its node's first operand is.
  void set_in_place(ir::ValueId id) { updates_in_place_[id.index] = true; }
  [[nodiscard]] bool is_in_place(ir::ValueId id) const { return updates_in_place_[id.index]; }

  /// Whether the object that the operand or yield reads may be handed over there.
  [[nodiscard]] bool hands_over(ir::NodeId node, std::size_t operand) const;
  [[nodiscard]] bool hands_over_yield(ir::RegionId region, std::size_t yield) const;
  /// Whether the one reader of a dynamic value may take its storage.
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
  std::vector<bool> has_own_storage_, owned_, updates_in_place_;
};

}  // namespace scanloom::plan
