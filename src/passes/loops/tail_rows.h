// TailRows: the rows of a loop's last steps, which it carries from step to step where nothing reads
// those of the other steps. A few rows are states, each of which passes its value on to the next;
// more are stored in a ring, a tensor of that many rows into which every step writes one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/builder.h"

namespace scanloom::passes {

class TailRows {
 public:
  /// Keeps the last `count` rows of one stacked result, whose rows have sizes that are sure.
  TailRows(ir::Module& module, ir::RegionId region, ir::NodeId loop, std::size_t stacked,
           std::int64_t count);

  /// Whether a state can begin as something of a row's sizes.
  [[nodiscard]] bool can_be_carried() const;
  /// Makes the loop carry them, and count its steps if `counts`. The region's list ends before the
  /// loop. Precondition: can_be_carried(). Errors: internal.
  Expected<void> carry(bool counts);

  /// The row of the step that is `back` steps before the end of the loop, 1 being the last step;
  /// nullopt where rows are stored in a ring. Preconditions: carry(); there are so many steps.
  [[nodiscard]] std::optional<ir::ValueId> row(std::int64_t back) const;
  /// Returns all of them in the order of the stack; fewer where there are fewer steps. Made once.
  /// The region's list ends after the loop. Precondition: carry(). Errors: internal.
  Expected<ir::ValueId> together();
  /// Returns what a dim or shape of the whole stack gives. The region's list ends after the loop.
  /// Precondition: carry(true). Errors: internal.
  Expected<ir::ValueId> sizes_for(ir::NodeId reader);

 private:
  /// A carried value whose next value is not said yet.
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
  const ir::ValueId row_;  ///< of the body
  const ir::Type type_;    ///< of a row
  bool are_all_there_ = false;
  std::vector<ir::ValueId> states_;  ///< the last values, that of the last step first
  ir::ValueId ring_, oldest_;        ///< the last values; oldest_: where in the ring
  ir::ValueId steps_;  ///< how many the loop has taken, where rows may be missing or sizes are read
  ir::ValueId together_;
};

}  // namespace scanloom::passes
