// TailRows: the rows of a loop's last steps, which the loop carries if nothing reads the other
// rows. A few rows are states, each of which passes its value on to the next. More rows are stored
// in a ring: a tensor of that many rows, one of which every step overwrites.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/builder.h"

namespace scanloom::passes {

class TailRows {
 public:
  /// Keeps the last `count` rows of one stacked result. The sizes of its rows must be known
  /// (sizes_are_sure).
  TailRows(ir::Module& module, ir::RegionId region, ir::NodeId loop, std::size_t stacked,
           std::int64_t count);

  /// Whether there is an initial value for a state of a row's sizes.
  [[nodiscard]] bool can_be_carried() const;
  /// Makes the loop carry the rows, and count its steps if `counts`. The region's list must end
  /// before the loop. Precondition: can_be_carried(). Errors: internal.
  Expected<void> carry(bool counts);

  /// Returns the row of the step that is `back` steps before the end of the loop, 1 being the last
  /// step; nullopt if rows are stored in a ring. Preconditions: carry(); the loop takes that many
  /// steps.
  [[nodiscard]] std::optional<ir::ValueId> row(std::int64_t back) const;
  /// Returns all rows in the order of the stack; fewer if there are fewer steps. Built once. The
  /// region's list must end after the loop. Precondition: carry(). Errors: internal.
  Expected<ir::ValueId> together();
  /// Returns what a dim or shape node of the whole stack gives. The region's list must end after
  /// the loop. Precondition: carry(true). Errors: internal.
  Expected<ir::ValueId> sizes_for(ir::NodeId reader);

 private:
  /// A carried value whose next value is not set yet.
  struct NewState {
    ir::ValueId argument, last;
    std::uint32_t port = 0;
  };
  NewState add_state(ir::ValueId initial);
  void set_next(const NewState& state, ir::ValueId next);
  [[nodiscard]] ir::ValueId argument_of(std::uint32_t port) const;

  [[nodiscard]] ir::ValueId value_like_a_row() const;
  Expected<ir::ValueId> zeros(ir::Builder& builder, std::optional<std::int64_t> rows);
  [[nodiscard]] std::optional<std::uint32_t> port_that_hands_on(ir::ValueId value,
                                                                bool further) const;
  [[nodiscard]] bool belong_into_ring() const;
  Expected<void> carry_states();
  Expected<void> carry_ring();
  Expected<void> count_steps();
  Expected<ir::ValueId> ordered_ring(ir::Builder& builder);
  Expected<ir::ValueId> joined_states(ir::Builder& builder);
  Expected<ir::ValueId> rows_that_are_there(ir::Builder& builder, ir::ValueId rows);

  ir::Module& module_;
  const ir::RegionId region_;
  const ir::NodeId loop_;
  const ir::StackedPort port_;
  const std::int64_t count_;
  const ir::ValueId row_;  ///< the value in the body
  const ir::Type type_;    ///< the type of a row
  bool are_all_there_ = false;
  std::vector<ir::ValueId> states_;  ///< the final values, the last step's first
  ir::ValueId ring_, oldest_;  ///< the final values; oldest_: the position of the oldest row in the
                               ///< ring
  ir::ValueId steps_;  ///< the number of steps taken, if rows may be missing or sizes are read
  ir::ValueId together_;
};

}  // namespace scanloom::passes
