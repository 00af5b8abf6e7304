// Binding: a plan for one combination of input sizes. It is a flat list of instructions over slots,
// with every kernel chosen and every static offset known. Immutable, and shared by all runs of
// those sizes; each Run builds its own slots, operands and arena from it. Printed by `show --plan`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/refusal.h"
#include "ir/ids.h"
#include "ir/scan_window.h"
#include "jit/interface.h"
#include "kernels/kernel.h"
#include "plan/plan.h"
#include "tensor/call.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace scanloom::plan {

using SlotId = std::int32_t;
using DynamicId = std::int32_t;
using ObjectId = std::int32_t;
inline constexpr std::int32_t kNone = -1;
inline constexpr SlotId kScratchSlot = 0;

/// The memory that a slot points to when a run begins. Moving slots are set later, by loops,
/// branches and dynamic tensors.
struct SlotInit {
  enum class Kind : std::uint8_t { arena, constant, feed, result, moving };
  Kind kind = Kind::moving;
  std::int64_t offset = 0;  ///< arena: from its base; every buffer has its own slot
  const std::byte* constant = nullptr;
  std::int32_t index = 0;  ///< of the feed, the result or the arena buffer
  bool of_plan = false;    ///< constant: owned by the plan, not the binding
};

struct Layout {
  tensor::Shape dims, strides;  ///< strides in elements
  bool contiguous = true;
};

/// Where a value is stored: a static tensor (slot, offset, layout), a dynamic tensor (dynamic >= 0;
/// the Run holds its sizes), or an object (a sequence, an optional or strings; the Run holds a
/// reference).
struct Spot {
  SlotId slot = kNone;
  std::int64_t offset = 0;
  std::int32_t layout = kNone;
  DynamicId dynamic = kNone;
  ObjectId object = kNone;
  std::int32_t buffer = kNone;  ///< in the arena; live while the spot is in use
  DType dtype = DType::f32;

  [[nodiscard]] bool present() const { return slot != kNone || object != kNone; }
  [[nodiscard]] bool is_dynamic() const { return dynamic != kNone; }
  [[nodiscard]] bool is_object() const { return object != kNone; }
};

/// The initial value of an object when a run begins.
struct ObjectInit {
  enum class Kind : std::uint8_t { nothing, constant, feed };
  Kind kind = Kind::nothing;
  tensor::Tensor constant;
  std::int32_t feed = 0;
};

/// The code that runs a call: a kernel, the operator's reference, or nothing if all results are
/// empty.
class CallKernel {
 public:
  CallKernel() = default;
  CallKernel(kernels::KernelId id) : kind_(Kind::kernel), id_(id) {}
  static CallKernel reference() { return CallKernel(Kind::reference); }
  static CallKernel nothing() { return CallKernel(Kind::nothing); }

  [[nodiscard]] const char* name() const {
    return kind_ == Kind::kernel      ? kernels::kernel(id_).name
           : kind_ == Kind::reference ? "reference"
                                      : "nothing";
  }
  friend bool operator==(const CallKernel&, const CallKernel&) = default;

 private:
  enum class Kind : std::uint8_t { nothing, reference, kernel };
  explicit CallKernel(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::nothing;
  kernels::KernelId id_ = {};
};

/// The part of another product that a step's product also computes
/// (bind/pipelined_projection.h). Its operands follow the call's own inputs and results.
struct PipelinedRows {
  double products = 0;  ///< multiplications; 0: no such part
  std::int64_t bytes = 0;
  ir::NodeId node;  ///< the other product
  std::uint16_t inputs = 0, outputs = 0;
};

struct BoundCall {
  tensor::KernelFn run = nullptr;
  CallKernel kernel;
  std::uint32_t first_operand = 0;  ///< inputs, then outputs, in Binding::operands
  std::uint16_t inputs = 0, outputs = 0;
  const tensor::Attr* attrs = nullptr;
  std::shared_ptr<const void> prepared;
  ir::NodeId node;
  bool is_random = false;         ///< draws from the Call's draws, which belong to the run
  std::vector<Refusal> refusals;  ///< why kernels declined what the reference runs
  bool is_copy = false;           ///< copies the operand to the result, whatever `node` is
  PipelinedRows pipelined;
  std::vector<ir::NodeId> fused_before;  ///< nodes that the call computes in addition to `node`

  /// Whether an operand, counted from the first input, belongs to the call's own computation.
  [[nodiscard]] bool is_own(std::size_t operand) const {
    const std::size_t at = operand < inputs ? operand : operand - inputs;
    return operand < inputs ? at + pipelined.inputs < inputs : at + pipelined.outputs < outputs;
  }
};

/// The inputs of a call whose values, not only their sizes, determine sizes of its results. Bits
/// are those of ir::value_bit.
using DecidingValues = std::uint64_t;

struct ResultSizes {
  std::vector<tensor::Shape> shapes;
  DecidingValues deciding = 0;
};

/// A call whose sizes are only known when it runs. `resolve` infers them from the operands, and the
/// run then chooses a kernel. `call` holds the fallback.
struct DynamicCall {
  BoundCall call;
  std::shared_ptr<const tensor::ScalarProgram> program = nullptr;  ///< pointwise operators only
  /// Returns the sizes of all outputs for the actual inputs. `deciding` is what earlier calls
  /// returned. Errors name the node.
  Expected<ResultSizes> (*resolve)(const Plan& plan, ir::NodeId node,
                                   std::span<const tensor::Operand> inputs,
                                   DecidingValues deciding) = nullptr;
  /// The axis along which a concat extends a state that nothing else reads.
  std::int32_t grows_along = kNone;
  bool views_slice = false;  ///< a slice whose result is a view of its first operand
};

/// A node that reads or produces an object. It may allocate.
struct BoundObjectCall {
  ir::NodeId node;
  std::uint32_t first_operand = 0;  ///< inputs, then outputs, in Binding::operands
  std::uint16_t inputs = 0, outputs = 0;
  std::vector<bool> moved;  ///< by input: the last use, so the object is moved in
};

/// The role of a carried value in a loop with independent steps.
struct CarriedRole {
  enum class Kind : std::uint8_t { counter, appended };
  Kind kind = Kind::counter;
  std::int64_t increment = 0;  ///< of a counter (one i64), per step
};

struct BoundCarried {
  Spot initial, argument, next, final;
  bool moved = false;     ///< the initial object is moved in
  bool in_place = false;  ///< steps write into it: all four spots are the same memory
  SlotId buffer_a = kNone, buffer_b = kNone;  ///< the two buffers; static states only
};

/// A value with one row per step, as read by the code that computes a block of rows.
struct BlockInput {
  SlotId slot = kNone;  ///< points to the first row of the block
  Spot from;
  std::int64_t row_bytes = 0;
  bool backwards = false;  ///< the last row is the first step's
};

/// Scanned rows that are computed in blocks of steps. All blocks have the same length. The first is
/// used only for the steps that remain: 10 rows in blocks of 4 are used as 2, 4 and 4.
struct BoundBlocks {
  std::int64_t rows = 0, steps = 0;  ///< in total; per block (0: no blocks)
  std::uint32_t first = 0;  ///< the first instruction of a block's code; it ends at Op::end
  std::vector<BlockInput> inputs;
  std::vector<bool> ports;            ///< by scanned value: whether it is computed in blocks
  std::vector<std::int32_t> buffers;  ///< arena buffers that the code reads and writes
};

struct BoundScanned {
  Spot outer, argument;
  ir::ScannedPort slices;
  /// Static outer values only; for a dynamic one the run finds the first slice. If rows are
  /// computed in blocks, the first slice is that of a block.
  std::int64_t first_bytes = 0, step_bytes = 0;

  /// Returns the slices of an outer axis of that size.
  [[nodiscard]] ir::ScanWindow window(std::int64_t size) const {
    return ir::scan_window(slices, size);
  }
};

struct BoundStacked {
  Spot row, result;
  std::int64_t axis = 0;
  bool reverse = false, insert = true;
  std::int64_t first_bytes = 0, step_bytes = 0;  ///< static only
  std::int64_t row_bytes = 0;  ///< dynamic only: of a contiguous row of known size
  /// Rows have known sizes but their number is unknown: each is written to its final position, in
  /// memory that grows.
  bool open = false;
  /// Rows are kept separate and joined after the loop: strings, and concatenated rows of any
  /// length.
  bool apart = false;
};

/// The remarks that `explain` reports about a loop (explain.cpp). Nothing that runs reads them.
struct LoopNotes {
  std::string strategy;  ///< "compiled" or "stepped", and why
  std::string remarks;   ///< other facts about how its steps run
  std::optional<Refusal>
      why_not_whole_loop;  ///< why no function runs all steps; nullopt: too few steps
  std::string rows_made;   ///< where scanned rows are computed, if not before the loop
  /// Why its steps are not speculated; nullopt: they may be, or are too few to ask.
  std::optional<Refusal> why_not_speculated;
};

/// How many steps a loop takes. Without a trip count, one per slice; without slices, until its
/// condition is false or the step limit is reached.
struct LoopControl {
  std::int64_t trip_count = -1;  ///< known when binding
  bool has_trip_count = false;
  Spot trip_operand, condition, keep_going;
};

/// The values that pass through a loop.
struct BoundPorts {
  std::vector<BoundCarried> carried;
  std::vector<BoundScanned> scanned;
  std::vector<BoundStacked> stacked;
  /// All operands of the node if a stack is dynamic or an object; they size a stack of no rows.
  std::vector<Spot> operands;
};

/// The whole-loop strategy: one machine-code function runs all steps.
struct WholeLoop {
  jit::CompiledLoop code;  ///< compiled when binding; otherwise the run decides
  /// Without code, only the run knows whether compiling pays. The loop is compiled once an
  /// execution takes `steps_at_once` steps, or once earlier executions and this one take
  /// `steps_to_whole_loop`.
  std::shared_ptr<const jit::LoopSource> source;
  std::int64_t steps_at_once = 0, steps_to_whole_loop = 0;
  std::vector<Spot> captured;
  std::int64_t operations = 0;  ///< element operations per step
  std::string work;             ///< for `explain`: "5 nodes, each of 40 elements"
};

/// The per-step strategy: machine code for the body, or for regions of it, runs each step.
struct PerStepCode {
  /// Runs the steps after the first, which is stepped. Empty if the run decides or nothing
  /// compiles.
  BodyCode code;
  std::optional<Refusal> refusal;  ///< why the body cannot be compiled
  std::vector<std::uint32_t>
      outlined_regions;          ///< compilable regions then, in Binding::outlined_regions
  std::int64_t inner_steps = 0;  ///< of counted inner loops, per step
  /// `inner_steps`, plus the inner steps within one step of each other inner loop. No limit is
  /// polled during these steps.
  std::int64_t steps_between_polls = 0;
  std::int64_t max_inner_trips = 0;  ///< of one counted inner loop
  /// An inner loop may be compiled separately, with its states in registers. The trip counts of the
  /// first steps show which is better.
  bool decides_late = false;
  std::int64_t steps_to_compile = 0;  ///< steps of the session after which compiling pays
};

/// Independent steps, which threads may run in parallel.
struct ParallelSteps {
  std::vector<CarriedRole> carried;  ///< by carried value
  double nanoseconds = 0;            ///< estimate for a step with all inner loops
};

/// One loop: its controls, its ports, and its strategies. A stepped body may become whole-loop or
/// per-step code while it runs.
struct BoundLoop : LoopControl, BoundPorts {
  ir::NodeId node;
  std::uint32_t body = 0, exit = 0;  ///< instruction indices
  BoundBlocks blocks;
  std::optional<WholeLoop> whole;  ///< set if the body is one element program and that may pay
  PerStepCode per_step;
  std::optional<ParallelSteps> parallel;
  std::optional<Speculation> speculation;
  std::shared_ptr<StepCounts::Count> stepped;  ///< steps of earlier runs of the session
  std::shared_ptr<SpeculationRecord> speculated;
  LoopNotes notes;

  /// Whether binding compiled the loop as one function.
  [[nodiscard]] bool is_compiled_whole() const { return whole && whole->code.run != nullptr; }
  /// Whether the run may still compile it as one function.
  [[nodiscard]] bool may_become_whole() const { return whole && whole->code.run == nullptr; }
};

/// A part of a loop's body between instructions that cannot be machine code: [first, last), made of
/// complete blocks.
struct OutlinedRegion {
  std::uint32_t loop = 0;
  std::uint32_t first = 0, last = 0;
  std::int64_t inner_steps = 0;      ///< of counted inner loops
  std::int64_t max_inner_trips = 0;  ///< of one counted inner loop
  std::int64_t charged = 0;          ///< ns that its Op::charge count, at most
  BodyCode code;                     ///< empty if the run decides or nothing compiles
};

struct BoundBranch {
  ir::NodeId node;
  Spot condition;
  std::uint32_t otherwise = 0;  ///< instruction index of the else region
};

/// Makes `to` refer to `from`: copies a pointer (and, for dynamic tensors, sizes and a reference).
struct Alias {
  Spot from, to;
  bool moved = false;  ///< the object, or the storage of the dynamic tensor, is moved
};

/// A run-time check that the sizes of a carried value, unknown to binding, stay the same.
struct SizeCheck {
  std::uint32_t loop = 0, carried = 0;
  Spot argument, next;
};

enum class Op : std::uint8_t {
  call,             ///< calls[index]
  dynamic_call,     ///< dynamic_calls[index]
  object_call,      ///< object_calls[index]
  loop_begin,       ///< loops[index]; jumps to its body, or to its exit when no step runs
  loop_end,         ///< loops[index]; jumps to its body for another step
  compiled_loop,    ///< loops[index]; jumps to its exit
  branch,           ///< branches[index]; falls through to the then region
  jump,             ///< to instruction `index`
  alias,            ///< aliases[index]
  check_sizes,      ///< size_checks[index]
  trap,             ///< traps[index]: an error found by binding in code that may not run
  poll,             ///< checks limits after node `index`, which may have taken long
  charge,           ///< charges about `index` ns for the instructions before it, see cost.h
  outlined_region,  ///< outlined_regions[index] as code; a Run replaces the region's first
                    ///< instruction with it
  end,              ///< of all code, or of a block's
};

struct Instruction {
  Op op = Op::end;
  std::uint32_t index = 0;
};

struct BoundResult {
  Spot source;  ///< where a dynamic result or an object is at the end
  tensor::Shape shape;
  DType dtype = DType::f32;
};

/// When the buffers of the arena are alive, for reports. Nothing that runs reads it. Time is
/// counted in moments, as the arena counts them: about one per instruction.
struct ArenaHistory {
  struct Buffer {
    std::int64_t bytes = 0, offset = 0;
    std::int32_t born = 0, dies = 0;  ///< both inclusive
  };
  std::vector<Buffer> buffers;        ///< by the number that Spot::buffer has
  std::vector<std::int32_t> moments;  ///< of each instruction
};

struct Binding {
  std::shared_ptr<const Plan> plan;  ///< owns attributes and constants
  std::vector<tensor::Shape> feed_shapes;
  std::vector<SlotInit> slots;
  std::vector<Layout> layouts;
  std::vector<Spot> operands;
  std::vector<BoundCall> calls;
  std::vector<DynamicCall> dynamic_calls;
  std::vector<ObjectInit> objects;  ///< by ObjectId
  std::vector<BoundObjectCall> object_calls;
  std::vector<BoundLoop> loops;
  std::vector<OutlinedRegion> outlined_regions;
  std::vector<BoundBranch> branches;
  std::vector<Alias> aliases;
  std::vector<SizeCheck> size_checks;
  std::vector<Error> traps;
  std::vector<Instruction> code;
  std::vector<BoundResult> results;
  std::vector<tensor::Tensor> constants;  ///< values that follow from sizes alone
  std::int32_t dynamic_count = 0;
  ArenaHistory history;
  std::int64_t arena_bytes = 0;
  std::int64_t scratch_bytes = 0;
  std::int64_t result_bytes = 0;
  ir::NodeId largest;  ///< produces the largest value, for messages
  std::int64_t largest_bytes = 0;
};

/// Instructions [first, last).
struct CodeRange {
  std::uint32_t first = 0, last = 0;
};
struct BranchRegions {
  CodeRange then, otherwise;
};

/// Returns the regions of the branch at instruction `at`. Between them is the jump over the else
/// region.
inline BranchRegions regions_of(const Binding& binding, std::uint32_t at) {
  const std::uint32_t otherwise = binding.branches[binding.code[at].index].otherwise;
  const std::uint32_t jump = otherwise - 1;
  return {{at + 1, jump}, {otherwise, binding.code[jump].index}};
}

/// Returns the index after the branch (both regions) or loop that begins at instruction `at`, or
/// after the instruction itself.
inline std::uint32_t end_of_block(const Binding& binding, std::uint32_t at) {
  const Instruction& instruction = binding.code[at];
  if (instruction.op == Op::branch) return regions_of(binding, at).otherwise.last;
  if (instruction.op == Op::loop_begin) return binding.loops[instruction.index].exit;
  return at + 1;
}

}  // namespace scanloom::plan
