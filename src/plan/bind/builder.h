// BindingBuilder: the Binding under construction and the arena of its buffers. InstructionScope:
// one of its instructions, with everything it reads and writes.
//
// The arena counts moments, one per instruction. A buffer lives from the moment it is created to
// the last moment an instruction uses it. An InstructionScope is one moment: reads and writes are
// declared while it is open, and closing it appends the instruction. Only one is open at a time, so
// copies that an instruction needs are emitted, and refusals decided, before its scope opens.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "plan/bind/arena.h"
#include "plan/bind/location.h"
#include "plan/bind/unaligned.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {

/// Returns a call of the node. The caller chooses what runs it.
BoundCall call_of_node(const ir::Node& node, ir::NodeId id);

std::vector<Spot> spots_of(const std::vector<Location>& locations);

/// Returns the size of one element in bytes.
inline std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(dtype_bytes(dtype)); }

/// Whether the spot is a tensor of sizes that binding knows.
inline bool is_static_tensor(const Spot& spot) {
  return spot.present() && !spot.is_dynamic() && !spot.is_object();
}

/// Returns an operand for asking kernels whether they accept it. Its address is not known yet.
/// Refers to the layout.
tensor::Operand operand_of(const Layout& layout, DType dtype, std::int64_t offset = 0);
/// Returns operands for asking kernels whether they accept them. Addresses are not known yet.
std::vector<tensor::Operand> operands_of(const Binding& binding, std::span<const Spot> spots);
/// Returns the data of constant operands, null for the others. Sets `of_plan`: whether the plan
/// owns all of these constants.
std::vector<const void*> constants_of(const Binding& binding, std::span<const Spot> spots,
                                      bool& of_plan);
/// Returns the data of the constants that are passed to a kernel. Sets `of_plan` as above.
std::vector<const void*> constants_for(const kernels::KernelDef& kernel, const Binding& binding,
                                       std::span<const Spot> spots, bool& of_plan);

/// Instructions outside the main list, with the buffers that they touch.
struct BlockCode {
  std::vector<Instruction> code;
  std::vector<BufferId> buffers;
};

class BindingBuilder;

/// Moves the data of constants to aligned addresses, as UnalignedConstants::align. Call before
/// these are read, or a kernel is asked about them that does not pack them.
bool align(BindingBuilder& builder, std::span<const Location> constants, std::uint32_t packed = 0);

/// Not thread safe; each bind() has its own.
class BindingBuilder {
 public:
  BindingBuilder(const std::shared_ptr<const Plan>& plan,
                 std::span<const tensor::Shape> feed_shapes);

  [[nodiscard]] Binding& binding() { return *out_; }
  [[nodiscard]] const Binding& binding() const { return *out_; }
  [[nodiscard]] std::shared_ptr<const Binding> shared() const { return out_; }
  /// Returns the index of the next instruction.
  [[nodiscard]] std::uint32_t next() const { return static_cast<std::uint32_t>(out_->code.size()); }
  /// Returns the number of open loops.
  [[nodiscard]] int loop_depth() const { return loop_depth_; }

  SlotId new_slot(SlotInit init = {});
  std::int32_t add_layout(const tensor::Shape& dims, const tensor::Shape& strides);
  std::int32_t contiguous_layout(const tensor::Shape& dims);
  [[nodiscard]] const Layout& layout(const Spot& spot) const {
    return out_->layouts[static_cast<std::size_t>(spot.layout)];
  }

  /// Adds a buffer that is born now.
  Location new_buffer(DType dtype, const tensor::Shape& shape);
  Location new_dynamic(DType dtype);
  Location new_object(DType dtype, ObjectInit init = {});
  /// `of_plan`: the plan owns the data. `readers`: all of them. Outside of loops the data may be at
  /// any address until align() is called.
  Location new_constant(const tensor::Tensor& value, bool of_plan, std::uint32_t readers);
  [[nodiscard]] BufferId buffer_of(SlotId slot) const {
    return out_->slots[static_cast<std::size_t>(slot)].index;
  }
  /// Returns the buffer that holds the spot, or all those that may.
  [[nodiscard]] std::vector<BufferId> buffers_of(const Spot& spot) const;

  /// Emits an instruction that touches nothing in the arena. Returns its index.
  std::uint32_t emit(Op op, std::uint32_t index);
  /// Emits a call with these operands, followed by a poll if it may take long. Returns the call's
  /// index. `packed`: as in kernels::Prepared.
  std::uint32_t emit_call(BoundCall call, const std::vector<Location>& inputs,
                          const std::vector<Location>& outputs, std::uint32_t packed = 0);
  void emit_dynamic_call(DynamicCall dynamic, const std::vector<Location>& inputs,
                         const std::vector<Location>& outputs);
  void emit_object_call(BoundObjectCall call, const std::vector<Location>& inputs,
                        const std::vector<Location>& outputs);
  /// Emits an instruction that charges an estimate, in nanoseconds.
  void emit_charge(double nanoseconds);

  /// Call after the loop's instruction and before its body. Its steps use these buffers.
  void open_loop(const std::vector<BufferId>& used);
  /// Call after the body.
  void close_loop();

  /// Diverts the instructions emitted up to end_block_code() from the main list.
  void begin_block_code();
  BlockCode end_block_code();
  void append(const BlockCode& block);

  /// Keeps the buffer alive at least up to that instruction.
  void keep_until(BufferId buffer, std::uint32_t instruction);
  /// Marks the buffer as unused after all.
  void drop(BufferId buffer) { arena_.drop(buffer); }
  /// Assigns all buffers their offsets, and aligns constants that are read; call once, at the end.
  /// Errors: limit_reached.
  Expected<void> place_buffers();

 private:
  friend class InstructionScope;
  friend bool align(BindingBuilder& builder, std::span<const Location> constants,
                    std::uint32_t packed);
  void touch(const Location& location);

  std::shared_ptr<Binding> out_;
  UnalignedConstants unaligned_;
  ArenaPlanner arena_;
  std::vector<std::int32_t> moments_;  ///< of each instruction, as the arena counts them
  /// The buffers that a moving slot may point into: slices, states, final values of loops.
  std::map<SlotId, std::set<BufferId>> buffers_behind_;
  std::size_t block_begin_ = 0;
  std::optional<std::vector<BufferId>> touched_in_block_;
  int loop_depth_ = 0;
  bool in_instruction_ = false;
};

class InstructionScope {
 public:
  /// Precondition: no other scope of the builder is open.
  InstructionScope(BindingBuilder& builder, Op op, std::size_t index);
  /// Appends the instruction and ends its moment.
  ~InstructionScope();
  InstructionScope(const InstructionScope&) = delete;
  InstructionScope& operator=(const InstructionScope&) = delete;

  void read(const Location& location) { builder_.touch(location); }
  void write(const Location& location) { builder_.touch(location); }
  void use(BufferId buffer) { builder_.arena_.use(buffer); }
  /// Declares what the instruction reads and writes, and appends it to Binding::operands. Returns
  /// the index of the first operand.
  std::uint32_t operands(const std::vector<Location>& inputs, const std::vector<Location>& outputs);

 private:
  BindingBuilder& builder_;
  Instruction instruction_;
};

}  // namespace scanloom::plan
