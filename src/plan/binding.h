// Binding: a plan for one combination of input sizes: a flat list of instructions over slots, with
// every kernel chosen and every static offset known. Immutable and shared by all runs of those
// sizes; each Run makes its own slots, operands and arena from it. Printed by `show --plan`.
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

/// Where a slot points when a run begins. Moving slots are set by loops, branches and dynamic
/// tensors.
struct SlotInit {
  enum class Kind : std::uint8_t { arena, constant, feed, result, moving };
  Kind kind = Kind::moving;
  std::int64_t offset = 0;  ///< arena: from its base, where every buffer has a slot of its own
  const std::byte* constant = nullptr;
  std::int32_t index = 0;  ///< of the feed, the result or the arena's buffer
  bool of_plan = false;    ///< constant: it lives as long as the plan, not only the binding
};

struct Layout {
  tensor::Shape dims, strides;  ///< strides in elements
  bool contiguous = true;
};

/// Where a value lies: static (slot, offset, layout), dynamic (dynamic >= 0: sizes live in the
/// Run), or an object (a sequence, an optional or strings: a reference in the Run).
struct Spot {
  SlotId slot = kNone;
  std::int64_t offset = 0;
  std::int32_t layout = kNone;
  DynamicId dynamic = kNone;
  ObjectId object = kNone;
  std::int32_t buffer = kNone;  ///< of the arena, which lives as long as such spots are used
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

/// The implementation of a call: a kernel, the operator's reference, or nothing if no result has
/// elements.
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

/// The part of another product that a product of a step computes (bind/pipelined_projection.h). Its
/// operands follow the two of the step's product, and its rows are the second result.
struct PipelinedRows {
  double products = 0;  ///< multiplications; 0: it makes none
  std::int64_t bytes = 0;
  ir::NodeId node;  ///< of that other one
};

struct BoundCall {
  tensor::KernelFn run = nullptr;
  CallKernel kernel;
  std::uint32_t first_operand = 0;  ///< inputs, then outputs, in Binding::operands
  std::uint16_t inputs = 0, outputs = 0;
  const tensor::Attr* attrs = nullptr;
  std::shared_ptr<const void> prepared;
  ir::NodeId node;
  bool is_random = false;         ///< it draws by the Call's draws, of which each run has its own
  std::vector<Refusal> refusals;  ///< of the kernels that were asked before, for people
  bool is_copy = false;           ///< of the operand to the result, whatever `node` is
  PipelinedRows pipelined;
};

/// Inputs of a call whose values decide sizes of its results, in addition to the sizes of all
/// inputs: bits as of ir::value_bit.
using DecidingValues = std::uint64_t;

struct ResultSizes {
  std::vector<tensor::Shape> shapes;
  DecidingValues deciding = 0;
};

/// A call whose sizes are only known when it runs: `resolve` infers them from the operands, and a
/// kernel is chosen for them, of which `call` holds the last resort.
struct DynamicCall {
  BoundCall call;
  std::shared_ptr<const tensor::ScalarProgram> program = nullptr;  ///< of pointwise operators
  /// Sizes of all outputs from the actual inputs; `deciding`: what calls before have found. Errors
  /// name the node.
  Expected<ResultSizes> (*resolve)(const Plan& plan, ir::NodeId node,
                                   std::span<const tensor::Operand> inputs,
                                   DecidingValues deciding) = nullptr;
  /// The axis along which a concat to a state that nothing else reads grows.
  std::int32_t grows_along = kNone;
  bool views_slice = false;  ///< a slice whose result is a view of its first operand
};

/// A node that reads or makes an object; it may allocate.
struct BoundObjectCall {
  ir::NodeId node;
  std::uint32_t first_operand = 0;  ///< inputs, then outputs, in Binding::operands
  std::uint16_t inputs = 0, outputs = 0;
  std::vector<bool> moved;  ///< by input: nothing reads the object again, so it is handed over
};

/// The role of a carried value in a loop with independent steps.
struct CarriedRole {
  enum class Kind : std::uint8_t { counter, appended };
  Kind kind = Kind::counter;
  std::int64_t increment = 0;  ///< per step, of a counter: one i64
};

struct BoundCarried {
  Spot initial, argument, next, final;
  bool moved = false;     ///< the initial object is handed over
  bool in_place = false;  ///< steps write to parts of it: all four are one place
  SlotId buffer_a = kNone, buffer_b = kNone;  ///< slots of two buffers; of static states only
};

/// A value that a loop's steps have rows of, as what makes a block of rows reads it.
struct BlockInput {
  SlotId slot = kNone;  ///< moves to the first of a block's rows
  Spot from;
  std::int64_t row_bytes = 0;
  bool backwards = false;  ///< the last row is the first step's
};

/// Rows that a loop scans and that are made in blocks of steps. All are made equally long; of the
/// first no more steps are taken than the others leave over.
struct BoundBlocks {
  std::int64_t rows = 0, steps = 0;  ///< in all; of a block, 0: there are none
  std::uint32_t first = 0;           ///< the instruction that making a block begins with, up to end
  std::vector<BlockInput> inputs;
  std::vector<bool> ports;            ///< by scanned value: whether it is made so
  std::vector<std::int32_t> buffers;  ///< of the arena, that it reads and writes
};

struct BoundScanned {
  Spot outer, argument;
  ir::ScannedPort slices;
  /// Static only. Of a dynamic outer value, where the first slice lies is known when running. Where
  /// rows are made in blocks, the first of a block.
  std::int64_t first_bytes = 0, step_bytes = 0;

  /// The slices of an outer axis of that size.
  [[nodiscard]] ir::ScanWindow window(std::int64_t size) const {
    return ir::scan_window(slices, size);
  }
};

struct BoundStacked {
  Spot row, result;
  std::int64_t axis = 0;
  bool reverse = false, insert = true;
  std::int64_t first_bytes = 0, step_bytes = 0;  ///< static only
  std::int64_t row_bytes = 0;  ///< dynamic only: of a row whose sizes are known and contiguous
  /// The sizes of rows are known and only their number is not: each is written where it belongs, in
  /// memory that grows.
  bool open = false;
  /// Rows are kept apart and put together when the loop has ended: strings, and rows of any length
  /// that are concatenated.
  bool apart = false;
};

/// Notes on a loop for people, printed by explain.cpp. Execution does not read them.
struct LoopNotes {
  std::string strategy;  ///< "compiled" or "stepped", and why
  std::string remarks;   ///< how else its steps are taken
  std::optional<Refusal>
      why_not_whole_loop;  ///< why no function runs all steps; nullopt: they are few
  std::string rows_made;   ///< of what it scans: where, if not before the loop
};

/// How many steps a loop takes. Without trip count as many as there are slices; without these
/// either it runs on its conditions, up to the step limit.
struct LoopControl {
  std::int64_t trip_count = -1;  ///< known when binding
  bool has_trip_count = false;
  Spot trip_operand, condition, keep_going;
};

/// The values that pass into, through and out of a loop.
struct BoundPorts {
  std::vector<BoundCarried> carried;
  std::vector<BoundScanned> scanned;
  std::vector<BoundStacked> stacked;
  /// With stacks that are dynamic or objects: all of the node, to size those of no rows.
  std::vector<Spot> operands;
};

/// The whole-loop strategy: one machine-code function runs all steps.
struct WholeLoop {
  jit::CompiledLoop code;  ///< compiled when binding; else the run decides
  /// Set where only the run knows whether it pays: compiled once an execution takes
  /// `steps_at_once`, or, with those that were stepped before, `steps_to_whole_loop`.
  std::shared_ptr<const jit::LoopSource> source;
  std::int64_t steps_at_once = 0, steps_to_whole_loop = 0;
  std::vector<Spot> captured;
  std::int64_t operations = 0;  ///< on elements, per step
  std::string work;             ///< for people: "5 nodes, each of 40 elements"
};

/// The per-step strategy: machine code for the body, or for regions of it, runs each step.
struct PerStepCode {
  /// The code of the steps after the first, which is stepped; none if the run decides or nothing
  /// compiles.
  BodyCode code;
  std::optional<Refusal> refusal;  ///< what keeps the body from becoming code
  std::vector<std::uint32_t>
      outlined_regions;          ///< that may become code then, in Binding::outlined_regions
  std::int64_t inner_steps = 0;  ///< of counted loops inside, per step
  /// Those and, of other loops inside, what a step of each holds: no limit is polled meanwhile.
  std::int64_t steps_between_polls = 0;
  std::int64_t max_inner_trips = 0;  ///< of one that is counted
  /// A loop inside may become code of its own, with its states in registers: what it takes shows
  /// which is better.
  bool decides_late = false;
  std::int64_t steps_to_compile = 0;  ///< stepped ones of the session, which show that code pays
};

/// Steps that do not depend on each other: threads may take them in parallel.
struct ParallelSteps {
  std::vector<CarriedRole> carried;  ///< by carried value
  double nanoseconds = 0;            ///< of a step, about, with all loops inside
};

/// One loop: its controls, its ports, and by strategy how its steps are run. A body that is stepped
/// may become code of the first two strategies while it runs.
struct BoundLoop : LoopControl, BoundPorts {
  ir::NodeId node;
  std::uint32_t body = 0, exit = 0;  ///< instruction indices
  BoundBlocks blocks;
  std::optional<WholeLoop> whole;  ///< where the body is one element program, and that may pay
  PerStepCode per_step;
  std::optional<ParallelSteps> parallel;
  std::shared_ptr<StepCounts::Count> stepped;  ///< steps of earlier runs of the session
  LoopNotes notes;

  /// Whether the loop was compiled as one function when binding.
  [[nodiscard]] bool is_compiled_whole() const { return whole && whole->code.run != nullptr; }
  /// Whether the run may compile it so.
  [[nodiscard]] bool may_become_whole() const { return whole && whole->source != nullptr; }
};

/// A part of a loop's body between instructions that cannot be machine code: [first, last), a run
/// of whole blocks.
struct OutlinedRegion {
  std::uint32_t loop = 0;
  std::uint32_t first = 0, last = 0;
  std::int64_t inner_steps = 0;      ///< of the loops inside
  std::int64_t max_inner_trips = 0;  ///< of one of them
  std::int64_t charged = 0;          ///< ns that Op::charge counts in it, at most
  BodyCode code;                     ///< none where the run decides or nothing compiles
};

struct BoundBranch {
  ir::NodeId node;
  Spot condition;
  std::uint32_t otherwise = 0;  ///< instruction index of the else side
};

/// Makes `to` mean `from`: copies a pointer (and, for dynamic tensors, sizes and a reference).
struct Alias {
  Spot from, to;
  bool moved = false;  ///< the object, or the storage of the dynamic tensor, is handed over
};

/// The sizes of a carried value, which must not change and which binding cannot tell.
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
  branch,           ///< branches[index]; falls through to the then side
  jump,             ///< to instruction `index`
  alias,            ///< aliases[index]
  check_sizes,      ///< size_checks[index]
  trap,             ///< traps[index]: what binding found wrong where the run may never come
  poll,             ///< at limits, after node `index`, which may have taken long
  charge,           ///< counts that what came before took about `index` ns, see cost.h
  outlined_region,  ///< outlined_regions[index] as code; in the list of a Run, over its first
                    ///< instruction
  end,              ///< of all, or of what makes a block
};

struct Instruction {
  Op op = Op::end;
  std::uint32_t index = 0;
};

struct BoundResult {
  Spot source;  ///< dynamic results and objects are taken from there at the end
  tensor::Shape shape;
  DType dtype = DType::f32;
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
  std::vector<tensor::Tensor> constants;  ///< values that sizes alone decide
  std::int32_t dynamic_count = 0;
  std::int64_t arena_bytes = 0;
  std::int64_t scratch_bytes = 0;
  std::int64_t result_bytes = 0;
  ir::NodeId largest;  ///< makes the largest value of the arena and the results, for people
  std::int64_t largest_bytes = 0;
};

/// Instructions [first, last).
struct CodeRange {
  std::uint32_t first = 0, last = 0;
};
struct BranchRegions {
  CodeRange then, otherwise;
};

/// Returns the regions of the branch that begins at `at`. Between them is the jump over the else
/// region.
inline BranchRegions regions_of(const Binding& binding, std::uint32_t at) {
  const std::uint32_t otherwise = binding.branches[binding.code[at].index].otherwise;
  const std::uint32_t jump = otherwise - 1;
  return {{at + 1, jump}, {otherwise, binding.code[jump].index}};
}

/// Returns the end of the branch (both regions) or loop that begins at `at`; for other
/// instructions, the next one.
inline std::uint32_t end_of_block(const Binding& binding, std::uint32_t at) {
  const Instruction& instruction = binding.code[at];
  if (instruction.op == Op::branch) return regions_of(binding, at).otherwise.last;
  if (instruction.op == Op::loop_begin) return binding.loops[instruction.index].exit;
  return at + 1;
}

}  // namespace scanloom::plan
