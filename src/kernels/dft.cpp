// dft: lines in vectors. A line is vectorized along its elements, or several lines are interleaved
// where that is faster; both give the bits of the reference (opmath/fourier_plan.h). Threads share
// the lines.
#include <algorithm>
#include <array>
#include <concepts>
#include <memory>

#include "base/thread_pool.h"
#include "kernels/kernel.h"
#include "kernels/simd.h"
#include "opmath/dft_lines.h"

namespace scanloom::kernels {
namespace {
namespace dft {

using tensor::Call;
using tensor::DftForm;
using tensor::DftLines;
using tensor::FourierPlans;
using tensor::Operand;
using tensor::Status;

/// Interleaved lines must fit in the L2 cache, with their scratch.
constexpr std::int64_t kMaxLanesBytes = 256 * 1024;
/// Up to this length vectors along a line are too short.
constexpr std::int64_t kShortLine = 64;
/// Elements that are worth another thread.
constexpr std::int64_t kElementsPerTask = 16 * 1024;
constexpr std::int64_t kMaxSlots = 64;

template <class T>
struct DftState {
  DftForm form;
  const tensor::FourierFns<T>* fns = nullptr;
  /// Of the length, or of the two lengths that the sizes of a one-sided spectrum leave open.
  std::array<std::shared_ptr<const FourierPlans<T>>, 2> plans;
  std::int64_t lanes = 1, lines_per_task = 1, slots = 1, slot_elements = 0;

  [[nodiscard]] const FourierPlans<T>* plans_of(std::int64_t length) const {
    for (const auto& one : plans)
      if (one && one->length == length) return one.get();
    return nullptr;
  }
};

template <class T>
Status run_dft(const Call& call) noexcept {
  const auto& state = *static_cast<const DftState<T>*>(call.prepared);
  const std::int64_t length = tensor::dft_length(call, state.form);
  const Status status = tensor::check_dft(call, state.form, length);
  if (status != Status::ok || call.out(0).empty()) return status;
  const FourierPlans<T>* const plans = state.plans_of(length);
  if (plans == nullptr)
    return call.fail("the length of the transform is {}, which is not that of the result", length);
  const DftLines<T> lines(call, state.form, *plans, *state.fns);
  T* const scratch = reinterpret_cast<T*>(*call.scratch);
  const std::int64_t tasks = (lines.count() + state.lines_per_task - 1) / state.lines_per_task;
  const auto run_task = [&](std::int64_t task, T* own) {
    std::int64_t line = task * state.lines_per_task;
    const std::int64_t end = std::min(line + state.lines_per_task, lines.count());
    for (; line + state.lanes <= end; line += state.lanes) lines.run(line, state.lanes, own);
    for (; line < end; ++line) lines.run(line, 1, own);
  };
  const std::int64_t slots = call.max_threads > 1 ? std::min(state.slots, tasks) : 1;
  const auto run_slot = [&](std::int64_t slot) {
    for (std::int64_t task = slot; task < tasks && !call.stop_requested(); task += slots)
      run_task(task, scratch + slot * state.slot_elements);
  };
  if (slots > 1)
    parallel_for(slots, call.max_threads, run_slot);
  else
    run_slot(0);
  return call.ok_or_stopped();
}

/// Whether neighbouring lines are neighbours in memory, pairs of parts counting as one element.
bool lines_adjoin(const Operand& operand, int axis) {
  const std::int64_t parts = operand.dims[operand.rank - 1];
  if (parts == 2 && operand.strides[operand.rank - 1] != 1) return false;
  int last = operand.rank - 2;
  while (last >= 0 && (last == axis || operand.dims[last] == 1)) --last;
  return last >= 0 && operand.strides[last] == parts;
}

template <class T>
void choose_lanes(DftState<T>& state, const PrepareCtx& ctx, std::int64_t lines) {
  const FourierPlans<T>& plans = *state.plans[0];
  constexpr auto kLanes = static_cast<std::int64_t>(64 / sizeof(T));
  const std::int64_t bytes =
      DftLines<T>::scratch_elements(plans, kLanes) * static_cast<std::int64_t>(sizeof(T));
  const bool adjoin =
      lines_adjoin(ctx.inputs[0], state.form.axis) && lines_adjoin(ctx.outputs[0], state.form.axis);
  if (lines >= kLanes && bytes <= kMaxLanesBytes && (adjoin || plans.length <= kShortLine))
    state.lanes = kLanes;
  state.lines_per_task = std::max(state.lanes, kElementsPerTask / plans.length);
  state.lines_per_task -= state.lines_per_task % state.lanes;
  const std::int64_t tasks = (lines + state.lines_per_task - 1) / state.lines_per_task;
  state.slots =
      std::clamp<std::int64_t>(tasks, 1, std::min<std::int64_t>(pool_threads(), kMaxSlots));
  for (const auto& one : state.plans)
    if (one)
      state.slot_elements =
          std::max(state.slot_elements, DftLines<T>::scratch_elements(*one, state.lanes));
}

/// The lengths that the result may have been made with.
std::array<std::int64_t, 2> possible_lengths(const PrepareCtx& ctx, const DftForm& form) {
  const std::int64_t size = ctx.outputs[0].dims[form.axis];
  if (!form.onesided || form.inverse) return {size, 0};
  const bool has_length = ctx.inputs.size() > 1 && ctx.inputs[1].present();
  if (!has_length) return {ctx.inputs[0].dims[form.axis], 0};
  if (ctx.constants[1] != nullptr) {
    const void* const given = ctx.constants[1];
    return {ctx.inputs[1].dtype == DType::i32 ? *static_cast<const std::int32_t*>(given)
                                              : *static_cast<const std::int64_t*>(given),
            0};
  }
  return {2 * (size - 1), 2 * (size - 1) + 1};
}

template <class T>
Prepared prepare_dft_of(const PrepareCtx& ctx, const DftForm& form,
                        const tensor::FourierFns<T>& fns) {
  auto state = std::make_shared<DftState<T>>();
  state->form = form;
  state->fns = &fns;
  const bool real = DftLines<T>::real(ctx.inputs[0], form);
  std::size_t found = 0;
  for (const std::int64_t length : possible_lengths(ctx, form))
    if (length >= 1 && length <= tensor::kMaxFourierLength)
      state->plans[found++] = tensor::fourier_plans<T>(length, real);
  if (found == 0) return Prepared::no("a length that no transform has");
  std::int64_t lines = 1;
  for (int axis = 0; axis < ctx.outputs[0].rank - 1; ++axis)
    if (axis != form.axis) lines *= ctx.outputs[0].dims[axis];
  choose_lanes(*state, ctx, lines);
  const std::int64_t bytes =
      state->slots * state->slot_elements * static_cast<std::int64_t>(sizeof(T));
  return {.state = std::move(state), .scratch_bytes = bytes, .run = run_dft<T>};
}

Prepared prepare_dft(const PrepareCtx& ctx) {
  const auto form = tensor::dft_form(ctx.attrs.data(), ctx.inputs[0].rank);
  if (!form) return Prepared::no("an axis outside of the signal");
  if (ctx.outputs[0].empty()) return Prepared::no("no elements");
  const SimdTables& tables = simd_tables(ctx.isa);
  if (ctx.outputs[0].dtype == DType::f32)
    return prepare_dft_of<float>(ctx, *form, tables.f32_fourier);
  return prepare_dft_of<double>(ctx, *form, tables.f64_fourier);
}

}  // namespace dft
}  // namespace

extern constinit const KernelDef dft_kernel{
    .name = "dft",
    .doc = "Passes in vectors, along a line or over several lines.",
    .prepare = dft::prepare_dft,
    .run = nullptr,
};

}  // namespace scanloom::kernels
