// The mutable half of a Run, shared by the files that implement it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/memory_budget.h"
#include "plan/binding.h"
#include "plan/plan.h"
#include "runtime/limits.h"
#include "runtime/run.h"
#include "runtime/shape_cache.h"
#include "tensor/boxed.h"
#include "tensor/call.h"
#include "tensor/memory_account.h"

namespace scanloom::runtime {

/// Bytes that the boxed values of a Run hold and may hold.
struct Budget {
  std::int64_t used = 0;
  std::int64_t limit = 0;
};

/// Memory of a boxed value; shared between values until one of them is written again. It counts
/// for as long as it lives.
struct Storage {
  Storage(std::unique_ptr<std::byte[]> memory, std::int64_t size, Budget& from)
      : bytes(std::move(memory)), capacity(size), budget(from) {
    budget.used += capacity;
  }
  ~Storage() { budget.used -= capacity; }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::unique_ptr<std::byte[]> bytes;
  std::int64_t capacity;
  Budget& budget;
  std::uint64_t run = 0;  ///< of this Run: the last that wrote here; storage outlives runs
};

/// A value whose sizes only the run knows. Without storage it refers to memory of someone else,
/// which `lender`, if set, keeps alive.
struct BoxedValue {
  std::shared_ptr<Storage> storage;
  std::shared_ptr<const void> lender;
  tensor::Shape dims, strides;
};

struct LoopState {
  // What the end of each step reads, in a line or two of the cache:
  std::int64_t trip = 0;  ///< steps to run, or the step limit where there is no trip count
  std::int64_t step = 0;
  std::int64_t stepped = 0;  ///< steps of this run that were stepped
  std::int64_t room = 0;     ///< steps whose rows have memory already
  /// Steps whose slices are made, see BoundBlocks; without such, no end is reached.
  std::int64_t block_end = std::numeric_limits<std::int64_t>::max();
  PollInterval pace;
  bool body_decided = false;  ///< compiled, or it never will be
  bool body_allowed = true;   ///< by the limits of this run
  bool limited = false;       ///< reaching `trip` is an error
  plan::BodyCode body;        ///< runs the steps that are left
  std::int64_t block_first = 0;
  std::int64_t shown = -1;                        ///< trip count for progress; -1: not known
  std::vector<std::vector<tensor::Tensor>> rows;  ///< those kept apart, by stacked port
  std::int64_t granted = 0;  ///< of Run::State::steps_to_look, those that are not counted yet
  plan::TimedBody timed;     ///< the body's code in profiled runs
  bool timed_decided = false;
  std::int64_t before = 0;   ///< steps that earlier runs of the session stepped
  std::int64_t longest = 0;  ///< steps of one execution, of those by this Run
  // Of compiled loops, so that nothing is allocated when one begins:
  jit::CompiledLoop compiled;
  bool refused = false;  ///< the compiler did not take it
  std::vector<const std::byte*> captured, carried_in, scanned;
  std::vector<std::byte*> carried_out, stacked;
  std::vector<std::int64_t> scanned_strides, stacked_strides;
};

/// How many bytes a value that grows came to: in the run before, and in this one.
class Growth {
 public:
  void note(std::uint64_t run, std::int64_t bytes) {
    if (run_ != run) before_ = std::exchange(now_, 0);
    run_ = run;
    now_ = std::max(now_, bytes);
  }
  /// Where memory for `bytes` is short: what is likely to suffice, without taking much more than
  /// there is yet.
  [[nodiscard]] std::int64_t wish(std::int64_t bytes) const {
    return before_ >= bytes ? std::min(before_, 16 * bytes) : 2 * bytes;
  }

 private:
  std::int64_t before_ = 0, now_ = 0;
  std::uint64_t run_ = 0;
};

/// Of a call whose sizes only the run knows.
struct DynamicState {
  ShapeCache cache;
  plan::DecidingValues deciding = 0;  ///< as found so far
  Growth growth;                      ///< of a concat that grows in place
};

struct AlignedDelete {
  void operator()(std::byte* data) const;
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete>;
/// 64-byte aligned, not zeroed; null when there is no memory.
AlignedBytes allocate_aligned(std::int64_t bytes);

/// Of a clock that never goes back, from some moment on.
double seconds_now();

/// What one thread's share of steps that are taken side by side has made, by port of the loop.
struct StepResults {
  std::vector<tensor::BoxRef> appended;           ///< by carried value
  std::vector<std::vector<tensor::Tensor>> rows;  ///< those kept apart, by stacked value
  std::int64_t steps = 0;                         ///< with those of loops inside
};

struct Run::State {
  static constexpr std::uint32_t kNoLoop = ~std::uint32_t{0};
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  static constexpr std::int64_t kUnknownStep = -1;

  std::shared_ptr<const plan::Binding> binding;
  AlignedBytes arena;
  std::shared_ptr<ResultMemory> result_memory;
  std::vector<std::byte*> slots;
  std::vector<tensor::Operand> operands;
  std::vector<tensor::HotCall> calls, dynamic_calls;
  std::vector<LoopState> loops;
  std::vector<plan::BodyCode> sections;  // by section: its code, once there is some
  std::vector<plan::Instruction> code;   // the binding's, with these in it; empty: no sections
  MemoryBudget total;                    // of the run at hand
  std::int64_t raised = 0;               // by how much, since it began
  std::int64_t data_bytes = 0;           // of the run at hand: see RunResult
  Budget budget;                         // outlives the values that count on it
  std::vector<BoxedValue> boxed;
  std::vector<tensor::BoxRef> objects;                        // by ObjectId; empty between runs
  tensor::MemoryAccount account{0};                           // of objects; a new one for each run
  std::vector<tensor::BoxRef> object_inputs, object_outputs;  // of the call at hand
  std::vector<DynamicState> dynamic_states;                   // by dynamic call
  plan::CallKey key_now;         // of the call at hand; kept for its memory
  AlignedBytes dynamic_scratch;  // of kernels of dynamic calls
  std::byte* dynamic_scratch_slot = nullptr;
  std::int64_t dynamic_scratch_bytes = 0;
  tensor::Fault fault;
  KernelWatch stop;
  std::vector<tensor::Draws> draws;  // of the random calls; they point here
  std::int64_t steps = 0;
  std::vector<std::int64_t> steps_to_look;  // by loop, of those that code of a body runs
  std::int64_t time_left = 0;               // ns until the next look, of what is counted: Op::spend
  Profile* profiled = nullptr;              // where the times of nodes go
  std::uint32_t failed_at = kNowhere;  // the call that machine code was at when it found a fault
  std::uint64_t runs = 0;              // begun
  std::uint32_t outermost = kNoLoop;   // the outermost loop whose steps are running
  std::uint32_t only_loop = kNoLoop;   // of a worker: whose steps it takes, and nothing else
  int max_threads = 1;
  std::vector<std::unique_ptr<State>> workers;  // for steps side by side; kept for later runs
  std::unique_ptr<Storage> workers_memory;      // counts theirs; it holds none
  std::int64_t elsewhere = 0;                   // of a worker: boxed values of the others
  double began = 0;  // when that, or one without instructions, began; less what compiling took
  std::vector<LoopTime> times;

  [[nodiscard]] std::byte*& slot(plan::SlotId id) { return slots[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::byte* address(const plan::Spot& spot) { return slot(spot.slot) + spot.offset; }
  [[nodiscard]] BoxedValue& box(const plan::Spot& spot) {
    return boxed[static_cast<std::size_t>(spot.dynamic)];
  }
  [[nodiscard]] tensor::BoxRef& object(const plan::Spot& spot) {
    return objects[static_cast<std::size_t>(spot.object)];
  }
  /// What is left for boxed values.
  [[nodiscard]] std::int64_t budget_left() const {
    return budget.limit - budget.used - account.held();
  }
  /// Whether so many more bytes may be taken; measures what the system has left where that decides.
  bool fits(std::int64_t bytes) {
    return bytes <= budget_left() || (raise_budget() && bytes <= budget_left());
  }
  /// Call when boxed values or objects have taken memory. `copied`: bytes beside what they hold.
  void note_taken(std::int64_t copied = 0) {
    data_bytes = std::max(data_bytes, budget.used + account.held() + copied);
  }
  /// MemoryBudget::measure, for all that the run holds; whether there is more now.
  bool raise_budget(bool recent = false);
  /// Returns the bytes_elsewhere that are reported to `account`: less `raised`, as its limit stays
  /// that of the beginning.
  [[nodiscard]] std::int64_t counted_elsewhere() const { return bytes_elsewhere() - raised; }
  /// What the run holds beside its objects.
  [[nodiscard]] std::int64_t bytes_elsewhere() const {
    return binding->arena_bytes + binding->scratch_bytes + binding->result_bytes + budget.used +
           elsewhere;
  }
  /// An operand with the sizes that the spot has now.
  [[nodiscard]] tensor::Operand operand(const plan::Spot& spot);
  [[nodiscard]] std::string describe(ir::NodeId node) const {
    return plan::describe(*binding->plan, node);
  }
  /// Of a call that has returned a status that is not ok.
  [[nodiscard]] Error fault_error(ir::NodeId node);

  // run.cpp
  void materialise(int threads);
  /// Adds the draws of a random one, for which there must be room: the calls point there.
  tensor::HotCall hot_call(const plan::BoundCall& call);
  static void make_loop(const plan::BoundLoop& loop, LoopState& state);
  Expected<RunResult> take_results(std::span<const std::byte* const> feeds);
  Expected<RunResult> run(std::span<const std::byte* const> feeds, const Limits& limits,
                          Profile* profile);
  Expected<void> copy_boxed_results(RunResult& result);
  bool hand_over(const plan::Spot& spot, const tensor::Operand& source, tensor::Tensor& result);

  // execute.cpp
  Expected<void> execute(const Limits& limits, Watch& watch, Profile* profile);
  /// From instruction `at` on, which becomes the one that has failed, if one does.
  Expected<void> execute_from(std::uint32_t& at, const Limits& limits, Watch& watch,
                              Profile* profile);
  /// An instruction behind which the list goes on.
  Expected<void> execute_one(plan::Instruction instruction, Watch& watch, Profile* profile);
  Expected<void> leave_loop(std::uint32_t index, Profile* profile);
  Expected<void> execute_compiled(std::uint32_t index, const Limits& limits, Watch& watch,
                                  Profile* profile);
  /// Watch::poll behind that node, which may have taken long; errors name it.
  Expected<void> look_behind(ir::NodeId node, Watch& watch) const;
  /// Returns the instruction to go on with.
  Expected<std::uint32_t> come_to_loop(std::uint32_t index, const Limits& limits, Watch& watch,
                                       Profile* profile);
  /// Comes to a loop: takes all of its steps at once where that is possible, or begins it. Whether
  /// steps follow, one after the other.
  Expected<bool> arrive(std::uint32_t index, const Limits& limits, Watch& watch);
  /// An outermost loop has ended.
  void add_time(std::uint32_t loop);

  // failed_steps.cpp
  [[nodiscard]] std::vector<std::uint32_t> loops_around(std::uint32_t at) const;
  /// Where the code of a body has called a kernel that failed: sets failed_at, and the steps of
  /// that loop and of those inside.
  void find_fault(std::uint32_t index, const jit::BodyFrame& frame);
  /// With a note for each loop around the instruction, the innermost first.
  [[nodiscard]] Error in_steps(Error error, std::uint32_t at) const;

  // boxed.cpp: values whose sizes only the run knows
  /// `wish`: so many bytes will be wanted soon, if the budget allows.
  Expected<void> reserve(const plan::Spot& spot, const tensor::Shape& dims, ir::NodeId node,
                         std::int64_t wish = 0);
  /// Lets go what earlier runs have left for later ones: storage that this run has not written, and
  /// scratch. Not while a kernel is being prepared.
  void drop_kept();
  Expected<void> assign(const plan::Spot& from, const plan::Spot& to, ir::NodeId node,
                        bool moved = false);
  Expected<void> append_row(const plan::BoundStacked& port, std::uint32_t loop);
  Expected<void> begin_gathering(const plan::BoundStacked& port, std::uint32_t loop,
                                 const tensor::Shape& dims);
  /// Whether its sizes are those of the rows before.
  Expected<void> check_row(const plan::BoundStacked& port, std::uint32_t loop,
                           const tensor::Shape& dims);
  Expected<void> finish_rows(const plan::BoundStacked& port, std::int64_t steps, ir::NodeId node);
  Expected<void> empty_rows(const plan::BoundLoop& loop);
  /// Whether a loop that was entered is known to take its steps, all of them.
  [[nodiscard]] bool is_counted(std::uint32_t loop) const;
  /// Of a counted loop that was entered: limit_reached where rows of all steps are too many.
  Expected<void> check_rows(std::uint32_t loop);
  /// Memory for the first rows of open stacks: all, where it is known how many there will be.
  Expected<void> begin_rows(std::uint32_t index);
  [[nodiscard]] std::int64_t rows_that_fit(const plan::BoundStacked& port);
  /// Memory for the next row at least.
  Expected<void> grow_rows(std::uint32_t index);
  void begin_slice(const plan::BoundScanned& port, std::int64_t step);
  Expected<std::byte*> first_slice(const plan::BoundScanned& port, ir::NodeId node);

  // objects.cpp: sequences, optionals, strings
  void begin_objects(std::span<const tensor::BoxRef> fed);
  void drop_objects();
  Expected<void> run_object(std::uint32_t index);
  Expected<tensor::BoxRef> boxed_operand(const plan::Spot& spot, const tensor::Operand& bound,
                                         bool moved);
  Expected<void> unbox(const tensor::BoxRef& value, const plan::Spot& spot, ir::NodeId node);
  Expected<tensor::Tensor> tensor_at(const plan::Spot& spot);
  Expected<std::int64_t> slice_count(const plan::BoundScanned& port, ir::NodeId node);
  Expected<void> slice_object(const plan::BoundScanned& port, std::int64_t step, ir::NodeId node);
  Expected<tensor::BoxRef> counted_box(tensor::Tensor tensor);
  Expected<void> keep_row(std::uint32_t index, std::size_t port);
  Expected<void> join_rows(std::uint32_t index, std::size_t port);

  // dynamic_calls.cpp
  Expected<void> run_dynamic(std::uint32_t index);
  [[nodiscard]] bool can_grow_in_place(std::uint32_t index);
  Expected<void> grow_in_place(std::uint32_t index);
  /// What is known of the call for its inputs as they are; infers sizes where nothing is.
  Expected<CachedCall*> find_cached(std::uint32_t index);
  /// Memory of those sizes for the results.
  Expected<void> place_results(std::uint32_t index, std::span<const tensor::Shape> sizes);
  void choose_kernel(std::uint32_t index, CachedCall& cached);
  void drop_scratch();
  /// False: there is no room for that.
  bool reserve_scratch(std::int64_t bytes);

  // loops.cpp
  /// What earlier runs of the session have stepped, and, afterwards, this one's as well.
  void begin_counts();
  void add_counts();
  [[nodiscard]] std::int64_t stepped(std::uint32_t index) const {
    return loops[index].before + loops[index].stepped;
  }
  Expected<bool> enter(std::uint32_t index, const Limits& limits);
  /// Watch::poll, its errors naming the loop.
  Expected<void> look(std::uint32_t index, Watch& watch);
  /// The same in a step, where so much time was spent that waiting for its end may be too long.
  Expected<void> look_in_step(Watch& watch);
  /// The one element of a trip count or condition. Errors: invalid_argument (another number of
  /// elements).
  template <class T>
  Expected<T> single(const plan::Spot& spot, ir::NodeId node);
  Expected<bool> begin_loop(std::uint32_t index, Watch& watch);
  Expected<void> check_sizes(const plan::SizeCheck& check);
  Expected<void> check_slices(const plan::BoundLoop& loop, std::int64_t& steps);
  /// Those of that step.
  Expected<void> begin_slices(const plan::BoundLoop& loop, std::int64_t step);
  Expected<void> next_slices(std::uint32_t index);
  /// Makes the slices of the next steps, those that are made in blocks.
  Expected<void> make_block(std::uint32_t index, Watch& watch);
  void swap_states(const plan::BoundLoop& loop, bool first_step);
  Expected<bool> end_step(std::uint32_t index, Watch& watch);
  Expected<void> finish_loop(std::uint32_t index);
  /// The error of a loop that has taken all the steps it may take, if it is one.
  [[nodiscard]] Expected<void> check_limit(std::uint32_t index) const;

  // loop_code.cpp
  /// Looks at limits while a loop is compiled; nothing where they are none.
  [[nodiscard]] plan::MayGoOn while_compiling(std::uint32_t index, Watch& watch);
  /// Whether so many steps pay for one function, or those that were stepped before.
  [[nodiscard]] bool pays_whole(std::uint32_t index, std::int64_t steps) const;
  /// Runs the loop as one compiled call if it is one that pays for that now; whether it did.
  Expected<bool> run_whole(std::uint32_t index, const Limits& limits, Watch& watch);
  Expected<void> run_compiled(std::uint32_t index, const Limits& limits, Watch& watch);
  [[nodiscard]] bool holds_long_loop(std::uint32_t index) const;
  Expected<void> prepare_body(std::uint32_t index, Watch& watch);
  Expected<void> compile_body(std::uint32_t index, const plan::MayGoOn& may_go_on);
  Expected<void> prepare_timed_body(std::uint32_t index, Watch& watch);
  class BodyRun;
  Expected<void> run_body(std::uint32_t index, Watch& watch);
  template <class F>
  Expected<void> run_chunks(std::uint32_t index, Watch& watch, F&& run_steps);

  // sections.cpp: sections of bodies that are code
  void begin_sections();
  void set_section(std::size_t index, const plan::BodyCode& made);
  /// Whether the limits allow all steps of the loops inside at once.
  [[nodiscard]] bool sections_allowed(const Limits& limits) const;
  /// Compiles those of the loop. Error: that of limits.
  Expected<void> compile_sections(std::uint32_t loop, const plan::MayGoOn& may_go_on);
  Expected<void> run_section(std::uint32_t index, Watch& watch);

  // side_by_side.cpp
  /// Takes the steps that are left on several threads, if they do not depend on each other and are
  /// long enough; whether it did. If one fails, none was taken. Error: cancelled.
  Expected<bool> take_side_by_side(std::uint32_t index, double step_seconds, const Watch& watch);
  class Shares;  ///< of its steps
  /// Whether it did so before the first step: where binding could tell that it pays.
  Expected<bool> begin_side_by_side(std::uint32_t index, const Watch& watch);
  /// One: the steps are taken in order. `step_seconds`: what each takes, about.
  [[nodiscard]] int worthwhile_threads(std::uint32_t index, double step_seconds) const;
  bool make_workers(std::size_t count);
  void begin_worker(State& worker, std::uint32_t index);
  Expected<StepResults> take_steps(const State& main, std::int64_t first, std::int64_t last,
                                   Watch& watch);
  void end_worker();
  Expected<void> adopt(std::uint32_t index, std::vector<StepResults> results);
};

template <class T>
Expected<T> Run::State::single(const plan::Spot& spot, ir::NodeId node) {
  // Sizes that are known were looked at when binding.
  if (spot.is_dynamic())
    if (const std::int64_t elements = box(spot).dims.elements(); elements != 1)
      return fail(Code::invalid_argument,
                  "{}: its trip count or condition has {} elements, 1 is needed", describe(node),
                  elements);
  // A byte that is neither 0 nor 1 is no bool.
  if constexpr (std::is_same_v<T, bool>) return *address(spot) != std::byte{0};
  T value;
  std::memcpy(&value, address(spot), sizeof value);
  return value;
}

}  // namespace scanloom::runtime
