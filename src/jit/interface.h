// The seam to the loop compiler, which lives in a plug-in of its own and is the only code that
// knows LLVM. The planner describes a loop, the plug-in answers with a machine-code function. No IR
// crosses the seam, so both sides share no tables. There are two forms: a loop whose body is one
// element program over equal lanes (LoopSource), whose states stay in registers; and the body of
// any loop that is stepped (BodySource), whose values lie where the stepped run puts them, so that
// machine code may take over at the beginning of any step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/expected.h"
#include "tensor/call.h"
#include "tensor/scalar.h"

namespace scanloom::jit {

/// Where one operand of the element program lies. Lane i is `lane_stride * i` elements further on;
/// 0: one element for all lanes.
struct LoopOperand {
  DType dtype = DType::f32;
  std::int64_t lane_stride = 1;
  friend bool operator==(const LoopOperand&, const LoopOperand&) = default;
};

/// Inputs of `program`: captured, carried, scanned; its results: keep_going (if any), the next
/// carried values, the stacked rows. A carried value or row with lane stride 0 depends on such
/// inputs only. With has_keep_going, lanes is 1
/// and all strides are 0.
struct LoopSource {
  std::string name;  ///< of the user's node, for the symbol table
  tensor::ScalarProgram program;
  std::vector<LoopOperand> captured, carried, scanned, stacked;
  std::int64_t lanes = 1;
  bool has_keep_going = false;
  Isa isa = active_isa();  ///< to make code for; the plug-in has no say in it
};

/// Addresses of one execution. Strides are bytes from one step to the next and may be negative;
/// scanned and stacked point at the slice of step 0. carried_in and carried_out do not overlap.
struct LoopFrame {
  const std::byte* const* captured;
  const std::byte* const* carried_in;
  std::byte* const* carried_out;
  const std::byte* const* scanned;
  const std::int64_t* scanned_strides;
  std::byte* const* stacked;
  const std::int64_t* stacked_strides;
};

/// Runs steps [first, last) and returns `last`; or -1 - n when keep_going turned false and n is the
/// index after that step. Writes carried_out at the end. Precondition: first < last.
using CompiledLoopFn = std::int64_t (*)(const LoopFrame* frame, std::int64_t first,
                                        std::int64_t last);

/// What the compiler had to translate, which its time goes by: as many instructions in all, and in
/// the longest block without jumps, where the time of some passes grows faster than the length.
struct CodeSize {
  std::size_t instructions = 0, longest_block = 0;
};

/// Owns the machine code.
struct CompiledLoop {
  CompiledLoopFn run = nullptr;
  std::string target;  ///< "x86-64-v4, 512-bit vectors": for `show`
  std::shared_ptr<void> code;
  CodeSize size;
};

/// How a source names a number that the run tells the code (BodyFrame::numbers): what differs from
/// one number of steps to the next, so that all of them share the code.
constexpr std::int64_t told_number(std::size_t index) {
  return std::numeric_limits<std::int64_t>::min() + static_cast<std::int64_t>(index);
}
inline constexpr std::size_t kMostTold = std::size_t{1} << 16;
constexpr bool is_told(std::int64_t number) { return number < told_number(kMostTold); }
constexpr std::size_t told_index(std::int64_t number) {
  return static_cast<std::size_t>(number - told_number(0));
}

/// An i32 or i64 for each element of a nest, which lies as operands do, in a slot of the run: how
/// many elements along an axis of `size`, below 0 from the end, an operand begins further on.
struct NestIndex {
  std::int32_t slot = 0;
  DType dtype = DType::i64;
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides = {};  ///< may be told
  std::int64_t size = 0;                   ///< may be told; 1 at least
  std::int64_t bytes = 0;  ///< from one element of that axis to the next; may be told
  friend bool operator==(const NestIndex&, const NestIndex&) = default;
};

/// Element (i, j, ...) of an operand lies i * strides[0] + j * strides[1] + ... elements from the
/// place that is `offset` bytes from where the slot points, and further on by its indices. Those of
/// folds have none.
struct NestOperand {
  std::int32_t slot = 0;  ///< or local_slot(index)
  DType dtype = DType::f32;
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;  ///< may be told
  std::vector<NestIndex> indices = {};
  friend bool operator==(const NestOperand&, const NestOperand&) = default;
};

/// All that `program` gives over the axes `sizes` of its own, outermost first, folded in that
/// order.
struct Fold {
  /// Sums and products begin with 0 and 1, extremes with their first element. multiply_add: the
  /// program has two results, whose product is added by the rule of base/dot.h. argmax, argmin: the
  /// index along the only axis, i64, in the order of ops/index/element_order.h.
  enum class Kind : std::uint8_t { sum, prod, max, min, multiply_add, argmax, argmin };
  Kind kind = Kind::sum;
  DType dtype = DType::f32;  ///< of the result
  std::vector<std::int64_t> sizes;
  tensor::ScalarProgram program;   ///< of the reads
  std::vector<NestOperand> reads;  ///< strides of the nest's axes, then of the fold's
  bool takes_last = false;         ///< of indices: the last among equals, not the first
  friend bool operator==(const Fold&, const Fold&) = default;
};

/// Independent elements over the axes `sizes`, of which vectors are taken along the last. A write
/// may equal a read of the same nest, element for element; otherwise no write overlaps any operand.
/// A write with indices is the only one; its elements are written in the order of the axes.
struct Nest {
  std::vector<std::int64_t> sizes;
  std::vector<NestOperand> reads;
  std::vector<Fold> folds;
  tensor::ScalarProgram program;    ///< of the reads, then of the folds' results
  std::vector<NestOperand> writes;  ///< of its results
  /// Of what lies where an index points and of the result, what is written there; without
  /// instructions: the result.
  tensor::ScalarProgram update = {};
  /// Where an index is outside, these of BodyFrame::calls, one of which fails by that index, and
  /// nothing else of the nest.
  std::vector<std::int32_t> calls = {};

  [[nodiscard]] bool may_fail() const { return !calls.empty(); }
  [[nodiscard]] bool writes_by_index() const {
    return writes.size() == 1 && !writes[0].indices.empty();
  }
  friend bool operator==(const Nest&, const Nest&) = default;
};

/// Calls f(program) for each program of the nest.
template <class F>
void for_programs(const Nest& nest, F&& f) {
  f(nest.program);
  for (const Fold& fold : nest.folds) f(fold.program);
  f(nest.update);
}

/// Whether lanes of a fold's read lie apart while neighbours of the fold's last axis lie side by
/// side.
inline bool is_across(const Nest& nest, const NestOperand& read) {
  if (nest.sizes.empty()) return false;
  const std::int64_t along = read.strides[nest.sizes.size() - 1];
  return along != 0 && along != 1 && read.strides.size() > nest.sizes.size() &&
         read.strides.back() == 1 && read.dtype != DType::boolean;
}

/// A slot that moves by so many bytes after each step.
struct SlotMove {
  std::int32_t slot = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const SlotMove&, const SlotMove&) = default;
};

/// Two slots that change places after each step: a state and its successor.
struct SlotSwap {
  std::int32_t a = 0, b = 0;
  friend bool operator==(const SlotSwap&, const SlotSwap&) = default;
};

/// A slot that begins to point `offset` bytes from where slot `from` points.
struct SlotSet {
  std::int32_t slot = 0, from = 0;
  std::int64_t offset = 0;  ///< may be told
  friend bool operator==(const SlotSet&, const SlotSet&) = default;
};

/// A state of an inner loop: after the first step its successor's place becomes `second`'s.
struct InnerState {
  std::int32_t argument = 0, next = 0;
  SlotSet second;  ///< of `next`
  friend bool operator==(const InnerState&, const InnerState&) = default;
};

/// A loop inside a step: of as many steps as is known, or as the run decides.
struct InnerLoop {
  std::int64_t trips = 1;                 ///< may be told; 1 at least, where nothing below is set
  std::optional<NestOperand> trip_count;  ///< an i64, in the place of `trips`
  /// A count that is no smaller, and `trips` where it is that, means no end: then there are as many
  /// steps as slices, if there are slices, or as BodyFrame allows.
  std::int64_t endless = std::numeric_limits<std::int64_t>::max();
  std::int64_t slices = -1;               ///< may be told; more steps are a fault; -1: none
  std::optional<NestOperand> condition;   ///< a boolean; false: no step is taken
  std::optional<NestOperand> keep_going;  ///< a boolean; false: the last step is behind us
  std::vector<SlotSet> before, after;
  std::vector<SlotSet> skipped;  ///< in the place of both where no step is taken
  std::vector<SlotMove> moves;
  std::vector<InnerState> states;
  /// Of loops whose number of steps nobody knows beforehand: what a step counts for in
  /// BodyFrame::steps_to_look, with the counted loops inside. 0: the loop is counted.
  std::int64_t weight = 0;  ///< may be told
  std::int32_t index = 0;   ///< in BodyFrame::steps_to_look; told where it is at fault

  [[nodiscard]] bool is_counted() const { return weight == 0; }
  friend bool operator==(const InnerLoop&, const InnerLoop&) = default;
};

/// What a nest reads first begins `bytes` bytes further on for each element of an axis that an
/// index names: an i32 or i64, below 0 from the end. into: not that read begins there, but what the
/// nest writes, and the reads behind the first. Unlike a NestIndex, of which each element of a nest
/// has its own, it moves the whole operand, and where it is outside the call of the kernel takes
/// over, which knows the error.
struct Pick {
  NestOperand index;
  std::int64_t size = 0;   ///< of the axis; may be told
  std::int64_t bytes = 0;  ///< from one element of that axis to the next; may be told
  bool into = false;
  friend bool operator==(const Pick&, const Pick&) = default;
};

/// One part of a step.
struct Statement {
  enum class Kind : std::uint8_t {
    nest,
    pick,    ///< `nest`, whose operands `pick` moves; where the index is outside, the call
    call,    ///< of a kernel that was bound before
    set,     ///< of a slot
    branch,  ///< `inner` where the condition is true, `otherwise` where it is not
    loop,    ///< its steps are `inner`
    spend,   ///< `nanoseconds` of BodyFrame::time_left
  };
  Kind kind = Kind::nest;
  Nest nest;
  Pick pick;
  std::int32_t call = -1;  ///< index in BodyFrame::calls
  SlotSet set;
  NestOperand condition;  ///< a boolean
  InnerLoop loop;
  std::int64_t nanoseconds = 0;
  std::vector<Statement> inner, otherwise;
  friend bool operator==(const Statement&, const Statement&) = default;
};

/// A state in the code's own memory from the first step of an execution to its last: `now`, which
/// `then` replaces after each step. Before and after it lies where `slot` points.
struct LocalState {
  std::int32_t slot = 0, now = 0, then = 0;
  friend bool operator==(const LocalState&, const LocalState&) = default;
};

/// How operands name the code's own memory: below all slots.
constexpr std::int32_t local_slot(std::size_t index) {
  return -1 - static_cast<std::int32_t>(index);
}
constexpr std::size_t local_index(std::int32_t slot) { return static_cast<std::size_t>(-1 - slot); }

/// How many blocks, branches and loops, lie around a statement at most: the compiler recurses.
inline constexpr int kMaxStatementDepth = 32;

struct BodySource {
  std::vector<Statement> statements;      ///< no deeper than kMaxStatementDepth
  std::vector<std::int64_t> locals = {};  ///< bytes of each; contents end with the step
  std::vector<LocalState> states = {};
  std::optional<NestOperand> keep_going;  ///< a boolean; false ends the loop after this step
  std::vector<SlotMove> moves;
  std::vector<SlotSwap> swaps;
  std::size_t numbers = 0;  ///< how many the run tells
  bool timed = false;       ///< whether the code adds up what each statement takes
  Isa isa = active_isa();   ///< as above; products are added by fma where it has that
  friend bool operator==(const BodySource&, const BodySource&) = default;
};

/// How many levels of loops tell the step in which a kernel has failed.
inline constexpr std::size_t kLevelsTold = 8;

/// What BodyFrame::failed_call says where no kernel has failed.
inline constexpr std::int64_t kStopped = -1;  ///< `look` said so, behind a step of a loop inside
inline constexpr std::int64_t kTooFewSlices = -2;  ///< a loop inside has fewer slices than steps
inline constexpr std::int64_t kStepLimit = -3;     ///< a loop inside has reached its limit

/// What a run lends to the code of a body.
struct BodyFrame {
  std::byte** slots;
  const tensor::HotCall* calls;
  std::int64_t failed_call;     ///< set where a kernel has found a fault, or one of the above
  const std::int64_t* numbers;  ///< see told_number
  /// By InnerLoop::index, of those that are not counted: how many steps the code may take before it
  /// looks. It counts down here.
  std::int64_t* steps_to_look = nullptr;
  /// Called by the code once there are none left, or no time, behind so many steps of that loop, in
  /// that step of the body; sets steps_to_look. Whether to go on.
  bool (*look)(BodyFrame* frame, std::int64_t loop, std::int64_t steps,
               std::int64_t body_step) = nullptr;
  /// Steps that an inner loop may take whose number the run decides: one with a trip count, and
  /// one without an end.
  std::int64_t most_counted = 0, most_endless = 0;
  std::int64_t failed_loop = 0;    ///< InnerLoop::index, where no kernel has failed
  std::int64_t failed_trips = 0;   ///< how many steps it was to take, where it is at fault
  std::uint64_t* ticks = nullptr;  ///< of each statement, where the code is timed
  /// About how long statements that are counted may take in all: the code looks behind the step of
  /// an inner loop that is not counted, or returns behind the step of the body, that goes beyond
  /// it.
  std::int64_t time_left = std::numeric_limits<std::int64_t>::max();
  /// Set along with failed_call: the step of the body, then of each loop inside around the call.
  std::int64_t failed_steps[kLevelsTold] = {};
};

/// Runs steps [first, last), leaving the slots as the next step needs them. Returns `last`, or,
/// where no time is left, the next step; or
/// -1 - n when keep_going turned false and n is the index after that step; or kBodyFault when a
/// kernel has failed. Precondition: first < last.
using CompiledBodyFn = std::int64_t (*)(BodyFrame* frame, std::int64_t first, std::int64_t last);
inline constexpr std::int64_t kBodyFault = std::numeric_limits<std::int64_t>::min();

/// Owns the machine code.
struct CompiledBody {
  CompiledBodyFn run = nullptr;
  std::string target;
  std::shared_ptr<void> code;
  CodeSize size;
};

/// Versioned entry point of the plug-in, "scanloom_jit_plugin".
struct Plugin {
  std::uint32_t version;
  /// Errors: unsupported (an instruction or dtype that has no machine code), internal.
  /// Thread safe. The same source yields code with the same results.
  Expected<CompiledLoop> (*compile)(const LoopSource& source);
  /// The same of a body.
  Expected<CompiledBody> (*compile_body)(const BodySource& source);
  /// Whether there is machine code for the program. Errors: unsupported, which says what is
  /// missing. Thread safe.
  Expected<void> (*check)(const tensor::ScalarProgram& program);
  /// Makes what the compiler keeps for as long as the process lives, which it would make with its
  /// first code. Thread safe.
  void (*prepare)();
};

/// Of what crosses the seam beside the instructions of programs, and of what these compute: the
/// formulas of base/math are in the plug-in as well.
inline constexpr std::uint32_t kSeamVersion = 13;

/// Instructions cross the seam as numbers: with others, or in another order, it is another version.
constexpr std::uint32_t plugin_version() {
  constexpr const char* kNames =
#define SCANLOOM_SCALAR(name, arguments, result) #name " "
#include "tensor/scalar_ops.inc"
#undef SCANLOOM_SCALAR
      ;
  std::uint32_t hash = 2166136261U ^ kSeamVersion;  // FNV-1a
  for (const char* at = kNames; *at != 0; ++at)
    hash = (hash ^ static_cast<unsigned char>(*at)) * 16777619U;
  return hash;
}
inline constexpr std::uint32_t kPluginVersion = plugin_version();

// What the planner weighs code by, and the compiler writes it by.

constexpr std::size_t vector_registers(Isa isa) {
  return isa == Isa::avx512 || isa == Isa::neon ? 32 : 16;
}
/// Of one of them.
constexpr unsigned vector_bytes(Isa isa) {
  return isa == Isa::avx512 ? 64 : isa == Isa::avx2 ? 32 : 16;
}
/// A function that occurs at most so often is written out everywhere, unless it is a long one: a
/// call stores all vector registers that are needed behind it.
inline constexpr int kMostWrittenOut = 4;
/// So few blocks of lanes stand one after the other rather than in a loop.
inline constexpr std::int64_t kBlocksInARow = 4;

/// To be called before code is made in another thread. What the process frees as it ends goes in
/// the reverse of the order in which it was made: what the compiler keeps has to be older than what
/// waits for the thread (base/background.h), else it would be freed while the thread reads it.
inline void prepare(const Plugin& plugin) { plugin.prepare(); }

}  // namespace scanloom::jit
