// BindingBuilder: the Binding that is being made, and the arena of its buffers. InstructionScope:
// one instruction of it, with all that it reads and writes.
//
// The arena counts moments, one for each instruction. A buffer lives from the moment in which it is
// made to the last in which an instruction uses it. An InstructionScope is such a moment: what the
// instruction reads and writes is said while the scope is open, and its end appends the instruction
// and ends the moment. No two are open at once, so copies that an instruction needs are emitted,
// and whatever may be refused is decided, before its scope opens.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "plan/bind/arena.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {

/// Where a value is while binding, and which arena buffers a read of it may touch.
struct Location {
  Spot spot;
  std::vector<BufferId> buffers;  ///< ascending, each once

  void add_buffers(const std::vector<BufferId>& more);
};

std::vector<Spot> spots_of(const std::vector<Location>& locations);

/// The bytes of one element.
inline std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(dtype_bytes(dtype)); }

/// Whether the spot is memory of sizes that binding knows.
inline bool is_static_tensor(const Spot& spot) {
  return spot.present() && !spot.is_dynamic() && !spot.is_object();
}

/// Operands as kernels see them when they are asked; their addresses are not known yet.
std::vector<tensor::Operand> operands_of(const Binding& binding, std::span<const Spot> spots);
/// The data of those that are constant, null for the others; of_plan: all of them live as long as
/// the plan does.
std::vector<const void*> constants_of(const Binding& binding, std::span<const Spot> spots,
                                      bool& of_plan);

/// Instructions that are kept apart, with the buffers that they touch.
struct BlockCode {
  std::vector<Instruction> code;
  std::vector<BufferId> buffers;
};

/// Not thread safe: each bind() has its own.
class BindingBuilder {
 public:
  BindingBuilder(const std::shared_ptr<const Plan>& plan,
                 std::span<const tensor::Shape> feed_shapes);

  [[nodiscard]] Binding& binding() { return *out_; }
  [[nodiscard]] const Binding& binding() const { return *out_; }
  [[nodiscard]] std::shared_ptr<const Binding> shared() const { return out_; }
  /// The index of the instruction that is emitted next.
  [[nodiscard]] std::uint32_t next() const { return static_cast<std::uint32_t>(out_->code.size()); }
  /// How many loops are open.
  [[nodiscard]] int loop_depth() const { return loop_depth_; }

  SlotId new_slot(SlotInit init = {});
  std::int32_t add_layout(const tensor::Shape& dims, const tensor::Shape& strides);
  std::int32_t contiguous_layout(const tensor::Shape& dims);
  [[nodiscard]] const Layout& layout(const Spot& spot) const {
    return out_->layouts[static_cast<std::size_t>(spot.layout)];
  }

  /// A buffer that is born in this moment.
  Location new_buffer(DType dtype, const tensor::Shape& shape);
  Location new_dynamic(DType dtype);
  Location new_object(DType dtype, ObjectInit init = {});
  /// `of_plan`: the data live as long as the plan does.
  Location new_constant(const tensor::Tensor& value, bool of_plan);
  [[nodiscard]] BufferId buffer_of(SlotId slot) const {
    return out_->slots[static_cast<std::size_t>(slot)].index;
  }
  /// The buffer that the spot is in, or those that it may be in.
  [[nodiscard]] std::vector<BufferId> buffers_of(const Spot& spot) const;

  /// An instruction that reads and writes nothing in the arena. Returns its place.
  std::uint32_t emit(Op op, std::uint32_t index);
  /// Sets the call's operands. A poll follows where it may take long. Returns the call's index.
  std::uint32_t emit_call(BoundCall call, const std::vector<Location>& inputs,
                          const std::vector<Location>& outputs);
  void emit_dynamic_call(DynamicCall dynamic, const std::vector<Location>& inputs,
                         const std::vector<Location>& outputs);
  void emit_object_call(BoundObjectCall call, const std::vector<Location>& inputs,
                        const std::vector<Location>& outputs);
  /// Charges an estimate, in nanoseconds.
  void emit_charge(double nanoseconds);

  /// After the instruction of the loop, before its body; its steps use these buffers.
  void open_loop(const std::vector<BufferId>& used);
  /// After the body.
  void close_loop();

  /// Begins code that end_block_code() takes out of the list.
  void begin_block_code();
  BlockCode end_block_code();
  void append(const BlockCode& block);

  /// Keeps the buffer to the moment of that instruction, at least.
  void keep_until(BufferId buffer, std::uint32_t instruction);
  /// Nothing reads or writes the buffer after all.
  void drop(BufferId buffer) { arena_.drop(buffer); }
  /// Gives buffers their offsets; call once, at the end. Errors: limit_reached.
  Expected<void> place_buffers();

 private:
  friend class InstructionScope;
  void touch(const Location& location);

  std::shared_ptr<Binding> out_;
  ArenaPlanner arena_;
  std::vector<std::int32_t> moments_;  ///< of each instruction, as the arena counts them
  /// The buffers that a moving slot may point to: of slices, states and final values of loops.
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
  /// Appends to Binding::operands what the instruction reads and writes. Returns the first's index.
  std::uint32_t operands(const std::vector<Location>& inputs, const std::vector<Location>& outputs);

 private:
  BindingBuilder& builder_;
  Instruction instruction_;
};

}  // namespace scanloom::plan
