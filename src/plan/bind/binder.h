// Binder: makes a Binding by walking the module once, in order, with an explicit stack of regions
// (bodies may nest a thousand deep). Split over bind.cpp (the walk), bind_value.cpp (where values
// lie, copies), bind_node.cpp (kernels, views), bind_object.cpp (sequences, optionals, strings),
// bind_loop.cpp, bind_branch.cpp, bind_blocks.cpp (inputs that are made in blocks of steps),
// bind_beside.cpp (products of inputs that steps make),
// bind_whole.cpp (loops that are one element program), bind_body.cpp (what of other bodies may
// become machine code), bind_time.cpp (how long steps take) and body_code.cpp (machine code that is
// made at once).
//
// Time: emit() ends an instruction, and with it a moment of the ArenaPlanner. What an instruction
// reads must be touched, and what it writes be made, after everything before it was emitted: copies
// that it needs come first. Otherwise memory that it still reads would be given away.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "ir/infer.h"
#include "ir/last_uses.h"
#include "ir/op_def.h"
#include "kernels/contract_beside.h"
#include "plan/bind/arena.h"
#include "plan/bind/block_plan.h"
#include "plan/bind/in_place.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {

/// Where a value lies while binding, and which arena buffers a read of it may touch.
struct Location {
  Spot spot;
  std::vector<BufferId> buffers;  ///< ascending, each once

  void add_buffers(const std::vector<BufferId>& more);
};

std::vector<Spot> spots_of(const std::vector<Location>& locations);

/// Of one element.
inline std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(dtype_bytes(dtype)); }

class Binder {
 public:
  Binder(std::shared_ptr<const Plan> plan, std::span<const tensor::Shape> feed_shapes,
         const MayGoOn& may_go_on);
  Expected<std::shared_ptr<const Binding>> bind();

 private:
  enum class Side : std::uint8_t { top, loop_body, then_side, else_side, only_side };

  struct Frame {
    ir::RegionId region;
    std::size_t next = 0;
    Side side = Side::top;
    ir::NodeId node;
    std::uint32_t index = 0;             ///< of the loop or branch
    std::uint32_t jump = 0;              ///< then_side: the jump over the else side
    std::uint32_t first = 0;             ///< instruction of a side
    std::vector<Location> results;       ///< where the results of a branch go
    bool certain = true;                 ///< it runs whenever the whole does
    bool faulty = false;                 ///< what follows a node that cannot be bound is left out
    std::vector<ir::NodeId> order = {};  ///< of the nodes, where it is not the region's own
  };

  // bind.cpp
  Expected<std::vector<tensor::Type>> argument_types();
  void bind_arguments();
  Expected<void> walk();
  Expected<void> bind_node(ir::NodeId id);
  Expected<void> finish_region(Frame& frame);
  void push_frame(Frame frame);
  void give_up_region(Error error);
  Expected<void> finish_top();
  Expected<void> place_buffers();
  [[nodiscard]] bool is_static(ir::ValueId id) const { return type(id).is_static(); }
  [[nodiscard]] const tensor::Type& type(ir::ValueId id) const {
    return inference_.types[id.index];
  }
  /// Whether the value is what no arena can hold: a sequence, an optional, strings.
  [[nodiscard]] bool is_object(ir::ValueId id) const {
    return !type(id).is_tensor() || type(id).dtype == DType::string;
  }

  // bind_value.cpp
  Location location(ir::ValueId id);
  void set_location(ir::ValueId id, Location location) {
    locations_[id.index] = std::move(location);
  }
  Location constant_location(const tensor::Tensor& value, bool of_plan);
  Location new_buffer(DType dtype, const tensor::Shape& shape);
  Location new_dynamic(DType dtype);
  Location new_object(DType dtype, ObjectInit init = {});
  Location output_location(ir::ValueId id);
  /// A result that nothing reads, of which there is one row only (OpDef::rows_axis).
  std::optional<Location> unread_rows(const ir::Node& node, std::size_t output);
  /// The bytes of a value of known sizes; the largest is named where memory does not suffice.
  std::int64_t account_for(ir::ValueId id);
  SlotId new_slot(SlotInit init = {});
  [[nodiscard]] BufferId buffer_of(SlotId slot) const {
    return out_->slots[static_cast<std::size_t>(slot)].index;
  }
  std::int32_t add_layout(const tensor::Shape& dims, const tensor::Shape& strides);
  std::int32_t contiguous_layout(const tensor::Shape& dims);
  [[nodiscard]] const Layout& layout(const Spot& spot) const {
    return out_->layouts[static_cast<std::size_t>(spot.layout)];
  }
  void touch(const Location& location);
  std::uint32_t emit(Op op, std::uint32_t index);
  void emit_copy(const Location& from, const Location& to, ir::NodeId node);
  /// Whether the one reader of a boxed value may take what is in its box.
  [[nodiscard]] bool may_take_box(ir::ValueId id) const {
    return has_own_box_[id.index] && uses_[id.index] == 1;
  }
  void emit_alias(const Location& from, const Location& to, bool moved = false);
  /// Row-major, with sizes that are known: where it is, or a copy that is emitted here.
  Location straight(const Location& location, const tensor::Shape& dims, ir::NodeId node);
  std::uint32_t add_operands(const std::vector<Location>& inputs,
                             const std::vector<Location>& outputs);
  [[nodiscard]] std::vector<tensor::Operand> operands_of(std::span<const Spot> spots) const;
  /// The data of those that are constant; of_plan: they live as long as the plan does.
  [[nodiscard]] std::vector<const void*> constants_of(std::span<const Spot> spots,
                                                      bool& of_plan) const;
  void want(ir::RegionId region, ir::ValueId value, const Location& destination);
  void want_source(ir::RegionId region, ir::ValueId value, Location destination);

  // bind_node.cpp
  bool bind_view(ir::NodeId id);
  Location result_location(const ir::Node& node, std::size_t output);
  void copy_overlapping(const ir::Node& node, std::vector<Location>& inputs);
  [[nodiscard]] bool views_when_run(ir::NodeId id);
  Expected<void> bind_kernel(ir::NodeId id);
  Expected<void> bind_dynamic(ir::NodeId id);
  std::optional<Refusal> try_kernel(ir::NodeId id, const kernels::KernelDef& def,
                         const std::vector<Location>& inputs, const std::vector<Location>& outputs);
  [[nodiscard]] std::int32_t growing_axis(const ir::Node& node) const;
  void emit_call(BoundCall call);

  // bind_object.cpp
  [[nodiscard]] bool touches_objects(const ir::Node& node) const;
  Expected<void> bind_object(ir::NodeId id);
  /// Whether the object that the operand or yield reads may be handed over there.
  [[nodiscard]] bool hands_over(ir::NodeId node, std::size_t operand) const;
  [[nodiscard]] bool hands_over_yield(ir::RegionId region, std::size_t yield) const;
  void bind_carried_object(ir::NodeId id, std::uint32_t port, BoundLoop& loop);

  // bind_loop.cpp
  Expected<void> begin_loop(ir::NodeId id);
  [[nodiscard]] std::shared_ptr<StepCounts::Count> count_of(ir::NodeId id) const;
  Expected<BoundLoop> bind_controls(ir::NodeId id);
  Expected<Location> control(ir::NodeId loop, ir::ValueId id, std::string_view what);
  std::vector<Location> straight_states(ir::NodeId id, const std::optional<InPlaceStates>& kept);
  void bind_in_place(ir::NodeId id, std::uint32_t port, const std::vector<ir::ValueId>& values,
                     const Location& state, BoundLoop& loop);
  Expected<void> finish_loop(Frame& frame);
  void bind_captured(ir::NodeId id);
  void bind_carried(ir::NodeId id, BoundLoop& loop, const std::vector<Location>& initial,
                    const std::optional<InPlaceStates>& kept = std::nullopt);
  BoundCarried bind_boxed_state(const ir::Node& node, std::uint32_t port, const Location& initial);
  BoundCarried bind_swapped_state(const ir::Node& node, std::uint32_t port,
                                  const Location& initial);
  Expected<void> bind_scanned(ir::NodeId id, BoundLoop& loop);
  Location bind_boxed_slices(ir::ValueId id, BoundScanned& scanned);
  Expected<Location> bind_slices(ir::NodeId id, ir::ValueId outer, const BoundLoop& loop,
                                 BoundScanned& scanned);
  Expected<void> check_slices(ir::NodeId id, ir::ValueId outer, const BoundLoop& loop,
                              const BoundScanned& scanned, const tensor::Shape& dims) const;
  [[nodiscard]] bool has_known_rows(const ir::Node& node, std::size_t i,
                                    const BoundLoop& loop) const;
  [[nodiscard]] bool has_open_rows(const ir::Node& node, std::size_t i) const;
  void open_rows(ir::RegionId body, ir::ValueId yield, BoundStacked& stacked);
  void bind_stacked(ir::NodeId id, BoundLoop& loop);
  void place_rows(ir::RegionId body, ir::ValueId yield, const Location& result,
                  BoundStacked& stacked);
  void bind_operands(const ir::Node& node, BoundLoop& loop);
  [[nodiscard]] bool sizes_fit(const ir::Node& node, std::uint32_t i) const;
  void find_independent_steps(BoundLoop& loop);
  void finish_carried(const ir::Node& node, std::uint32_t index, BoundLoop& loop);
  void finish_stacked(const ir::Node& node, BoundLoop& loop);

  // bind_blocks.cpp
  void leave_to_loops();
  bool reads_are_bound(const RowMakers& makers);
  Expected<void> begin_blocks(ir::NodeId id, BoundLoop& loop);
  Expected<void> bind_block(const RowMakers& makers, BoundLoop& loop);
  void touch_blocks(const BoundLoop& loop);
  void end_blocks(BoundLoop& loop);

  // bind_beside.cpp
  struct AllSteps;
  struct Question;
  [[nodiscard]] std::optional<std::uint32_t> call_of(ir::NodeId node,
                                                     std::string_view kernel) const;
  [[nodiscard]] std::optional<std::uint32_t> product_call(ir::ValueId rows) const;
  const float* bias_of(ir::ValueId value, ir::ValueId rows);
  std::optional<AllSteps> all_steps(const BoundLoop& loop, std::size_t port);
  [[nodiscard]] Question question_of(std::uint32_t call);
  /// Products of the loop's inputs that its steps make, as far as there are such.
  void make_beside(BoundLoop& loop);
  bool make_beside(BoundLoop& loop, std::size_t port, const AllSteps& all);
  [[nodiscard]] const BlockInput* input_of_block(const BoundLoop& loop,
                                                 std::uint32_t product) const;
  void make_first_rows(const AllSteps& all, const kernels::BesideCall& with, const Location& whole,
                       const Location& rows);
  static void replace_call(BoundCall& call, const kernels::BesideCall& with);

  // bind_branch.cpp
  Expected<void> begin_branch(ir::NodeId id);
  void enter_side(ir::NodeId id, int side, Frame frame);
  void finish_side(Frame& frame);
  void finish_then_side(Frame& frame);

  // bind_whole.cpp
  /// Whether the loop was bound as one machine-code call; otherwise `refusal` says what prevents
  /// it, if anything does.
  bool bind_compiled(ir::NodeId id, BoundLoop& loop, const std::vector<Location>& initial,
                     std::optional<Refusal>& refusal);
  std::optional<Refusal> describe_reads(ir::NodeId id, BoundLoop& loop, jit::LoopSource& source,
                                        const std::vector<ir::ValueId>& constants);
  [[nodiscard]] std::string when_compiled(const BoundLoop& loop, const jit::LoopSource& source,
                                          bool pays, const std::string& what) const;
  std::optional<Refusal> compile_whole(const jit::LoopSource& source, BoundLoop& loop);
  void emit_compiled(ir::NodeId id, BoundLoop loop, const std::vector<Location>& initial);
  [[nodiscard]] std::optional<jit::LoopOperand> lanes_of(const Spot& spot) const;
  std::optional<Refusal> describe_states(ir::NodeId id, const std::vector<Location>& initial,
                                         jit::LoopSource& source);
  std::optional<Refusal> describe_rows(ir::NodeId id, const BoundLoop& loop,
                                       jit::LoopSource& source);

  // bind_body.cpp
  void judge_body(BoundLoop& loop, std::uint32_t index);
  [[nodiscard]] std::int64_t bytes_touched(const std::vector<Spot>& spots,
                                           const BoundLoop& loop) const;
  [[nodiscard]] std::int64_t bytes_of_values(const std::vector<Spot>& spots,
                                             const BoundLoop& loop) const;
  /// What code would read and make, and how much of that it may.
  struct BytesOfCode {
    std::int64_t all, most;
  };
  [[nodiscard]] BytesOfCode bytes_of_code(const std::vector<Spot>& spots, bool has_loops,
                                          const BoundLoop& loop) const;
  [[nodiscard]] std::vector<BufferId> buffers_of_spot(const Spot& spot) const;
  void keep_buffers(const std::vector<Spot>& spots, const std::vector<SlotId>& state_buffers,
                    std::uint32_t last);
  void add_section(BoundLoop& loop, std::uint32_t index, std::uint32_t first, std::uint32_t last);
  void find_sections(BoundLoop& loop, std::uint32_t index);

  // bind_time.cpp
  /// About how long a step takes that is stepped.
  [[nodiscard]] double step_nanoseconds(const BoundLoop& loop) const;
  /// As above, every loop inside with its own number of steps, as far as they are known.
  [[nodiscard]] double whole_step_nanoseconds(const BoundLoop& loop) const;
  /// Of the calls in instructions [first, last), each once.
  [[nodiscard]] double nanoseconds_of(std::uint32_t first, std::uint32_t last) const;
  [[nodiscard]] double call_nanoseconds(const BoundCall& call) const;
  [[nodiscard]] double most_nanoseconds(const BoundCall& call) const;
  void emit_spend(double nanoseconds);
  void spend_side(std::uint32_t first);

  // body_code.cpp
  void compile_bodies();
  /// What is between what cannot be code, where its steps are known to pay for that.
  void compile_sections(BoundLoop& loop);

  std::shared_ptr<const Plan> plan_;
  const ir::Module& module_;
  std::shared_ptr<Binding> out_;
  tensor::DimTable dims_;
  ir::Inference inference_;
  ArenaPlanner arena_;
  std::vector<std::int32_t> moments_;  ///< of each instruction, as the arena counts them
  /// Of values that are read through a slot that moves: slices, states, what loops end with.
  std::map<SlotId, std::set<BufferId>> buffers_behind_;
  std::vector<Location> locations_;              // by ValueId
  std::vector<std::optional<Location>> wanted_;  // by ValueId: where a value should be made
  ir::LastUses last_uses_;
  std::vector<std::uint32_t> uses_;              // by ValueId
  std::vector<std::uint32_t> uses_of_elements_;  // by ValueId, of block_plan.h
  std::vector<bool> has_own_box_;                // by ValueId: no other value lies there
  std::vector<bool> owned_;  // by ValueId: an object that no other value's spot refers to
  std::vector<bool> updates_in_place_;  // by ValueId: it lies where its node's first operand does
  std::vector<Frame> frames_;
  std::vector<Refusal> refusals_;               // of kernels for the node that is being bound
  std::map<std::uint32_t, BlockPlan> block_plans_;  // by NodeId, of loops that are to be bound
  std::vector<bool> is_made_in_blocks_;             // by NodeId: bound with the loop that reads it
  std::vector<Instruction> block_code_;             // of the loop that is being bound
  std::optional<std::vector<BufferId>> touched_in_blocks_;  // while it is bound
  int loop_depth_ = 0;
  const MayGoOn& may_go_on_;
  std::optional<Error> stopped_;  // by that, while a loop was compiled
};

}  // namespace scanloom::plan
