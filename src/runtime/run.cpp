#include "runtime/run.h"

#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "base/checked.h"
#include "base/fp_environment.h"
#include "base/large_pages.h"
#include "base/memory_budget.h"
#include "runtime/state.h"

namespace scanloom::runtime {
namespace {

constexpr std::align_val_t kAlignment{64};
/// Bytes of a result below which it is copied, so that its memory serves the next run.
constexpr std::int64_t kLeastHandedOver = 16 * 1024;

/// What the run needs whatever its data are. Error: limit_reached, naming the largest value.
Expected<std::int64_t> fixed_bytes(const plan::Binding& binding) {
  const auto bytes = checked_sum(binding.arena_bytes, binding.scratch_bytes);
  const auto all = bytes ? checked_sum(*bytes, binding.result_bytes) : std::nullopt;
  if (!all) return fail(Code::limit_reached, "the run needs more than 2^63 bytes");
  return *all;
}

/// `held`: of these bytes, those that are there already.
Expected<void> check_fixed(const plan::Binding& binding, MemoryBudget& budget, std::int64_t held) {
  SCANLOOM_TRY(const std::int64_t bytes, fixed_bytes(binding));
  if (bytes > budget.bytes()) budget.measure(held);
  if (bytes <= budget.bytes()) return {};
  Error error = fail(Code::limit_reached,
                     "the run needs {} bytes ({} for results), the memory budget is {} bytes",
                     bytes, binding.result_bytes, budget.bytes());
  if (binding.largest.valid())
    error.note(fmt::format("{} makes the largest value, of {} bytes",
                           plan::describe(*binding.plan, binding.largest), binding.largest_bytes));
  error.note("raise it with the option max_memory");
  return error;
}

}  // namespace

void AlignedDelete::operator()(std::byte* data) const { ::operator delete[](data, kAlignment); }

AlignedBytes allocate_aligned(std::int64_t bytes) {
  const std::size_t size = static_cast<std::size_t>((bytes + 127) / 64 * 64);
  void* const memory = ::operator new[](size, kAlignment, std::nothrow);
  prefer_large_pages(memory, size);
  return AlignedBytes(static_cast<std::byte*>(memory));
}

double seconds_now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

bool Run::State::raise_budget(bool recent) {
  const std::int64_t before = total.bytes();
  if (!total.measure(bytes_elsewhere() + account.held(), recent)) return false;
  budget.limit += total.bytes() - before;
  raised += total.bytes() - before;
  return true;
}

Error Run::State::fault_error(ir::NodeId node) {
  if (stop.stopped()) return stop.take_error().at(describe(node));
  const tensor::Fault told = std::exchange(fault, {});
  // The kernels found nothing where machine code did.
  if (*told.text == '\0')
    return fail(Code::invalid_argument, "{}: an input changed while it was read", describe(node));
  return tensor::to_error(told).at(describe(node));
}

void Run::State::materialise(int threads) {
  max_threads = threads;
  const plan::Binding& bound = *binding;
  slots.assign(bound.slots.size(), nullptr);
  for (std::size_t i = 0; i < bound.slots.size(); ++i) {
    const plan::SlotInit& init = bound.slots[i];
    if (init.kind == plan::SlotInit::Kind::arena) slots[i] = arena.get() + init.offset;
    if (init.kind == plan::SlotInit::Kind::constant)
      slots[i] = const_cast<std::byte*>(init.constant);
  }
  boxed.resize(static_cast<std::size_t>(bound.dynamic_count));
  operands.reserve(bound.operands.size());
  for (const plan::Spot& spot : bound.operands) operands.push_back(operand(spot));
  draws.reserve(bound.calls.size() + bound.dynamic_calls.size());
  for (const plan::BoundCall& call : bound.calls) calls.push_back(hot_call(call));
  for (const plan::DynamicCall& call : bound.dynamic_calls) {
    dynamic_calls.push_back(hot_call(call.call));
    dynamic_calls.back().call.scratch = &dynamic_scratch_slot;
  }
  dynamic_states.resize(dynamic_calls.size());
  begin_sections();
  loops.resize(bound.loops.size());
  steps_to_look.resize(bound.loops.size());
  times.resize(bound.loops.size());
  for (std::size_t i = 0; i < loops.size(); ++i) make_loop(bound.loops[i], loops[i]);
}

tensor::HotCall Run::State::hot_call(const plan::BoundCall& call) {
  tensor::HotCall made;
  made.run = call.run;
  made.call.inputs = operands.data() + call.first_operand;
  made.call.outputs = made.call.inputs + call.inputs;
  made.call.input_count = call.inputs;
  made.call.output_count = call.outputs;
  made.call.max_threads = static_cast<std::uint16_t>(max_threads);
  made.call.attrs = call.attrs;
  made.call.prepared = call.prepared.get();
  made.call.scratch = &slots[plan::kScratchSlot];
  made.call.fault = &fault;
  made.call.stop = &stop;
  if (call.is_random) made.call.draws = &draws.emplace_back();
  return made;
}

void Run::State::make_loop(const plan::BoundLoop& loop, LoopState& state) {
  state.rows.resize(loop.stacked.size());
  state.body = loop.per_step.code;
  state.body_decided = loop.per_step.code.code.run != nullptr;
  if (!loop.whole) return;
  state.compiled = loop.whole->code;
  state.captured.resize(loop.whole->captured.size());
  state.carried_in.resize(loop.carried.size());
  state.carried_out.resize(loop.carried.size());
  state.scanned.resize(loop.scanned.size());
  state.stacked.resize(loop.stacked.size());
  for (const plan::BoundScanned& port : loop.scanned)
    state.scanned_strides.push_back(port.step_bytes);
  for (const plan::BoundStacked& port : loop.stacked)
    state.stacked_strides.push_back(port.step_bytes);
}

Run::Run(std::unique_ptr<State> state) : state_(std::move(state)) {}
Run::~Run() = default;

const std::shared_ptr<const plan::Binding>& Run::binding() const { return state_->binding; }
const std::vector<LoopTime>& Run::loop_times() const { return state_->times; }

Expected<std::unique_ptr<Run>> Run::make(std::shared_ptr<const plan::Binding> binding,
                                         std::int64_t max_memory, int max_threads,
                                         std::shared_ptr<ResultMemory> results) {
  MemoryBudget budget(max_memory);
  SCANLOOM_CHECK_OK(check_fixed(*binding, budget, 0));
  const std::int64_t bytes = binding->arena_bytes + binding->scratch_bytes;
  auto state = std::make_unique<State>();
  state->arena = allocate_aligned(bytes);
  if (!state->arena) return fail(Code::out_of_memory, "no memory for an arena of {} bytes", bytes);
  state->result_memory = results ? std::move(results) : std::make_shared<ResultMemory>();
  state->binding = std::move(binding);
  state->materialise(max_threads);
  return std::unique_ptr<Run>(new Run(std::move(state)));
}

Expected<RunResult> Run::execute(std::span<const std::byte* const> feeds, const Limits& limits,
                                 Profile* profile, std::span<const tensor::BoxRef> objects,
                                 std::uint64_t number) {
  State& state = *state_;
  const plan::Binding& bound = *state.binding;
  const FpEnvironment environment;
  state.total = MemoryBudget(limits.max_memory);
  state.raised = 0;
  // Memory that no run has written yet the system has not given yet.
  const std::int64_t held = state.runs == 0 ? 0 : bound.arena_bytes + bound.scratch_bytes;
  SCANLOOM_CHECK_OK(check_fixed(bound, state.total, held));
  state.budget.limit =
      state.total.bytes() - bound.arena_bytes - bound.scratch_bytes - bound.result_bytes;
  ++state.runs;
  // Within a given budget a run neither fails nor goes through by what an earlier one left or grew.
  const bool is_given = limits.max_memory > 0;
  state.account = tensor::MemoryAccount(state.total.bytes());
  if (is_given || !state.fits(0)) state.drop_kept();
  if (is_given)
    for (DynamicState& call : state.dynamic_states) call.growth = {};
  state.steps = 0;
  state.data_bytes = 0;
  state.note_taken();  // what earlier runs left
  state.profiled = profile;
  state.outermost = State::kNoLoop;
  for (tensor::Draws& draws : state.draws) draws = {.run = number, .execution = 0};
  if (profile != nullptr) {
    profile->calls.resize(bound.calls.size());
    profile->dynamic_calls.resize(bound.dynamic_calls.size());
    profile->object_calls.resize(bound.object_calls.size());
    profile->loops.resize(bound.loops.size());
    profile->bodies.resize(bound.loops.size());
  }
  state.begin_objects(objects);
  Expected<RunResult> result = state.run(feeds, limits, profile);
  state.drop_objects();
  return result;
}

Expected<RunResult> Run::State::run(std::span<const std::byte* const> feeds, const Limits& limits,
                                    Profile* profile) {
  SCANLOOM_TRY(RunResult result, take_results(feeds));
  Watch watch(limits);
  for (LoopState& loop : loops) loop.pace.start(watch.start());
  begin_counts();
  Expected<void> executed = execute(limits, watch, profile);
  add_counts();
  if (!executed) return std::move(executed).error();
  SCANLOOM_CHECK_OK(copy_boxed_results(result));
  result.steps = steps;
  result.data_bytes = data_bytes;
  return result;
}

Expected<RunResult> Run::State::take_results(std::span<const std::byte* const> feeds) {
  const plan::Binding& bound = *binding;
  RunResult result;
  for (const plan::BoundResult& output : bound.results) {
    if (output.source.is_dynamic() || output.source.is_object()) {
      result.outputs.emplace_back();
      continue;
    }
    const auto bytes =
        output.shape.elements() * static_cast<std::int64_t>(dtype_bytes(output.dtype));
    std::shared_ptr<std::byte[]> memory = result_memory->take(bytes);
    if (!memory) return fail(Code::out_of_memory, "no memory for a result of {} bytes", bytes);
    const void* data = memory.get();
    result.outputs.emplace_back(output.dtype, output.shape, std::move(memory), data);
  }
  for (std::size_t i = 0; i < bound.slots.size(); ++i) {
    const plan::SlotInit& init = bound.slots[i];
    const auto index = static_cast<std::size_t>(init.index);
    if (init.kind == plan::SlotInit::Kind::feed) slots[i] = const_cast<std::byte*>(feeds[index]);
    if (init.kind == plan::SlotInit::Kind::result)
      slots[i] = static_cast<std::byte*>(result.outputs[index].mutable_data());
  }
  return result;
}

/// Makes the memory of a boxed value the result's, where nobody else refers to it and little of it
/// is empty; whether it did.
bool Run::State::hand_over(const plan::Spot& spot, const tensor::Operand& source,
                           tensor::Tensor& result) {
  BoxedValue& value = box(spot);
  const std::int64_t bytes = source.elements() * static_cast<std::int64_t>(dtype_bytes(spot.dtype));
  if (!value.storage || value.storage.use_count() != 1 || bytes < kLeastHandedOver ||
      value.storage->capacity - bytes > bytes / 4 ||
      source.data<const std::byte>() != value.storage->bytes.get())
    return false;
  const std::shared_ptr<std::byte[]> memory = std::move(value.storage->bytes);
  value.storage.reset();
  result = tensor::Tensor(spot.dtype, source.shape(), memory, memory.get());
  return true;
}

Expected<void> Run::State::copy_boxed_results(RunResult& result) {
  std::int64_t copied = 0;
  result.objects.resize(binding->results.size());
  for (std::size_t i = 0; i < binding->results.size(); ++i) {
    const plan::BoundResult& output = binding->results[i];
    if (output.source.is_object()) result.objects[i] = object(output.source);
    if (!output.source.is_dynamic()) continue;
    const tensor::Operand source = operand(output.source);
    if (hand_over(output.source, source, result.outputs[i])) {
      copied += static_cast<std::int64_t>(result.outputs[i].bytes());
      note_taken(copied);
      continue;
    }
    const std::int64_t bytes =
        source.elements() * static_cast<std::int64_t>(dtype_bytes(output.source.dtype));
    if (!fits(copied + bytes)) drop_kept();
    if (!fits(copied + bytes))
      return fail(Code::limit_reached,
                  "result {} of sizes {} needs {} bytes, {} bytes of the memory budget are left", i,
                  source.shape().to_string(), bytes, budget_left() - copied)
          .note("raise it with the option max_memory");
    copied += bytes;
    note_taken(copied);
    SCANLOOM_TRY(tensor::Tensor copy, tensor::Tensor::zeros(output.source.dtype, source.shape()));
    // Boxed values are row-major; scanned slices of boxed values never leave their loop uncopied.
    if (copy.bytes() > 0)
      std::memcpy(copy.mutable_data(), source.data<const std::byte>(), copy.bytes());
    result.outputs[i] = std::move(copy);
  }
  return {};
}

}  // namespace scanloom::runtime
