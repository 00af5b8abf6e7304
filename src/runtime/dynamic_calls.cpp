// Calls whose sizes only the run knows: sizes are inferred, memory is reserved, and a kernel is
// prepared for them. Sizes and kernel are kept for when the same inputs' sizes come again
// (choices.h).
#include <algorithm>
#include <cstring>

#include "plan/bind/dynamic.h"
#include "runtime/state.h"

namespace scanloom::runtime {
namespace {

constexpr std::int64_t kMostAlongAxis = std::int64_t{1} << 40;
/// Preparing a kernel takes longer than the reference needs once for fewer elements than that.
constexpr std::int64_t kElementsWorthAKernel = 256;

std::int64_t elements_of(std::span<const tensor::Operand> operands) {
  std::int64_t elements = 0;
  for (const tensor::Operand& operand : operands)
    if (operand.present()) elements += operand.elements();
  return elements;
}

/// What a call on so many elements, all operands', may take; more than most do, since nothing is
/// known of the operator.
constexpr std::int64_t nanoseconds_of(std::int64_t elements) { return 2 * elements; }

/// Makes the result of a slice refer to its operand; false: the slice is at fault.
bool view_slice(std::span<const tensor::Operand> inputs, BoxedValue& slice, std::byte*& slot) {
  const auto view = plan::view_of_slice(inputs);
  if (!view) return false;
  slice.storage.reset();
  slice.lender.reset();
  slice.dims = view->dims;
  slice.strides = view->strides;
  slot = inputs[0].data<std::byte>() +
         view->offset * static_cast<std::int64_t>(dtype_bytes(inputs[0].dtype));
  return true;
}

}  // namespace

Expected<void> Run::State::run_dynamic(std::uint32_t index) {
  const plan::DynamicCall& bound = binding->dynamic_calls[index];
  const plan::BoundCall& call = bound.call;
  auto* const operand_of = operands.data() + call.first_operand;
  const plan::Spot* const spots = binding->operands.data() + call.first_operand;
  for (std::size_t i = 0; i < call.inputs; ++i)
    if (spots[i].is_dynamic()) operand_of[i] = operand(spots[i]);
  if (bound.grows_along != plan::kNone && can_grow_in_place(index)) return grow_in_place(index);
  const plan::Spot& result = spots[call.inputs];
  if (bound.views_slice && view_slice({operand_of, call.inputs}, box(result), slot(result.slot)))
    return {};
  SCANLOOM_TRY(Choice* const choice, find_choice(index));
  SCANLOOM_CHECK_OK(place_results(index, choice->results));
  choose_kernel(index, *choice);
  const tensor::HotCall& hot = dynamic_calls[index];
  if (hot.run(hot.call) != tensor::Status::ok) return fault_error(call.node);
  time_left -= nanoseconds_of(elements_of(std::span(operand_of, call.inputs + call.outputs)));
  return {};
}

Expected<Choice*> Run::State::find_choice(std::uint32_t index) {
  const plan::DynamicCall& bound = binding->dynamic_calls[index];
  DynamicState& state = dynamic_states[index];
  const std::span inputs(operands.data() + bound.call.first_operand, bound.call.inputs);
  bool may_keep = plan::describe_inputs(inputs, state.deciding, key_now);
  if (Choice* const made = may_keep ? state.choices.find(key_now) : nullptr) return made;
  SCANLOOM_TRY(plan::ResultSizes sizes,
               bound.resolve(*binding->plan, bound.call.node, inputs, state.deciding));
  if (sizes.deciding != state.deciding) {
    // Earlier keys lack elements that can decide.
    state.choices.clear();
    state.deciding = sizes.deciding;
    may_keep = plan::describe_inputs(inputs, state.deciding, key_now);
  }
  Choice choice{.results = std::move(sizes.shapes)};
  return &state.choices.add(may_keep ? &key_now : nullptr, std::move(choice),
                            most_choices(dynamic_calls.size()));
}

Expected<void> Run::State::place_results(std::uint32_t index,
                                         std::span<const tensor::Shape> sizes) {
  const plan::BoundCall& call = binding->dynamic_calls[index].call;
  const std::size_t first = call.first_operand + call.inputs;
  for (std::size_t i = 0; i < call.outputs; ++i) {
    const plan::Spot& spot = binding->operands[first + i];
    tensor::Operand& result = operands[first + i];
    if (spot.is_dynamic()) {
      SCANLOOM_CHECK_OK(reserve(spot, sizes[i], call.node));
      result = operand(spot);
    } else if (!(result.shape() == sizes[i])) {
      return fail(Code::internal, "{}: sizes {} were bound, {} came out", describe(call.node),
                  result.shape().to_string(), sizes[i].to_string());
    }
  }
  return {};
}

/// Whether the memory of the state that a concat extends is nobody else's, and all that follows in
/// it is what is appended. Operands that do not fit are left to the kernel, which says why.
bool Run::State::can_grow_in_place(std::uint32_t index) {
  const plan::BoundCall& call = binding->dynamic_calls[index].call;
  const int axis = binding->dynamic_calls[index].grows_along;
  const std::span inputs(operands.data() + call.first_operand, call.inputs);
  const BoxedValue& state = box(binding->operands[call.first_operand]);
  if (!state.storage || state.storage.use_count() != 1 ||
      inputs[0].data<std::byte>() != state.storage->bytes.get())
    return false;
  const auto fits = [&](const tensor::Operand& operand) {
    if (operand.rank != inputs[0].rank || !operand.contiguous) return false;
    for (int i = 0; i < operand.rank; ++i) {
      if (i < axis && operand.dims[i] != 1) return false;
      if (i > axis && operand.dims[i] != inputs[0].dims[i]) return false;
    }
    // Without elements it may have any size along the axis: the sum must not overflow.
    return operand.dims[axis] <= kMostAlongAxis;
  };
  return std::ranges::all_of(inputs, fits);
}

/// Appends to the memory of the first operand, which grows geometrically.
Expected<void> Run::State::grow_in_place(std::uint32_t index) {
  const plan::BoundCall& call = binding->dynamic_calls[index].call;
  const int axis = binding->dynamic_calls[index].grows_along;
  const std::span inputs(operands.data() + call.first_operand, call.inputs);
  const plan::Spot* const spots = binding->operands.data() + call.first_operand;
  const plan::Spot& result = spots[call.inputs];
  BoxedValue &from = box(spots[0]), &to = box(result);
  tensor::Shape dims = from.dims;
  for (const tensor::Operand& operand : inputs.subspan(1)) dims[axis] += operand.dims[axis];
  const auto item = static_cast<std::int64_t>(dtype_bytes(spots[0].dtype));
  std::int64_t at = inputs[0].elements() * item;
  const std::int64_t bytes = dims.elements() * item;
  Growth& growth = dynamic_states[index].growth;
  growth.note(runs, bytes);
  if (from.storage->capacity >= bytes) {
    std::swap(from.storage, to.storage);
    SCANLOOM_CHECK_OK(reserve(result, dims, call.node));
  } else {
    SCANLOOM_CHECK_OK(reserve(result, dims, call.node, growth.wish(bytes)));
    std::memcpy(to.storage->bytes.get(), from.storage->bytes.get(), static_cast<std::size_t>(at));
    time_left -= nanoseconds_of(inputs[0].elements());
  }
  for (const tensor::Operand& operand : inputs.subspan(1)) {
    const std::int64_t size = operand.elements() * item;
    if (size == 0) continue;
    std::memcpy(to.storage->bytes.get() + at, operand.data<const std::byte>(),
                static_cast<std::size_t>(size));
    at += size;
  }
  return {};
}

/// A kernel is prepared at once where there is much to compute, otherwise with the second use.
/// Where there is no room for its scratch, the reference computes the same.
void Run::State::choose_kernel(std::uint32_t index, Choice& choice) {
  const plan::DynamicCall& bound = binding->dynamic_calls[index];
  tensor::HotCall& hot = dynamic_calls[index];
  const std::span inputs(hot.call.inputs, bound.call.inputs);
  const std::span outputs(hot.call.outputs, bound.call.outputs);
  const bool again = choice.uses++ > 0;
  if (!choice.has_decided) {
    choice.run = bound.call.run;
    if (plan::makes_nothing(*binding->plan, bound, outputs)) {
      choice.run = tensor::do_nothing;
      choice.has_decided = true;
    } else if (again || elements_of(std::span(hot.call.inputs, inputs.size() + outputs.size())) >=
                            kElementsWorthAKernel) {
      kernels::Prepared prepared = plan::prepare_kernel(*binding->plan, bound, inputs, outputs);
      if (!prepared.refusal) {
        choice.run = prepared.run;
        choice.prepared = std::move(prepared.state);
        choice.scratch_bytes = prepared.scratch_bytes;
      }
      choice.has_decided = true;
    }
  }
  const bool has_scratch = reserve_scratch(choice.scratch_bytes);
  hot.run = has_scratch ? choice.run : bound.call.run;
  hot.call.prepared = has_scratch ? choice.prepared.get() : nullptr;
}

void Run::State::drop_scratch() {
  if (dynamic_scratch_bytes == 0) return;
  dynamic_scratch.reset();
  dynamic_scratch_slot = nullptr;
  budget.used -= dynamic_scratch_bytes;
  dynamic_scratch_bytes = 0;
}

bool Run::State::reserve_scratch(std::int64_t bytes) {
  if (bytes <= dynamic_scratch_bytes) return true;
  std::int64_t wanted = std::max(bytes, 2 * dynamic_scratch_bytes);
  drop_scratch();
  if (!fits(wanted)) {
    drop_kept();
    wanted = bytes;
  }
  if (!fits(wanted)) return false;
  dynamic_scratch = allocate_aligned(wanted);
  dynamic_scratch_slot = dynamic_scratch.get();
  if (!dynamic_scratch) return false;
  dynamic_scratch_bytes = wanted;
  budget.used += wanted;
  note_taken();
  return true;
}

}  // namespace scanloom::runtime
