#include "runtime/dynamic_calls.h"

#include <algorithm>
#include <cstring>

#include "plan/bind/dynamic.h"

namespace scanloom::runtime {
namespace {

constexpr std::int64_t kMaxAlongAxis = std::int64_t{1} << 40;
/// Below this number of elements, preparing a kernel takes longer than one call of the reference.
constexpr std::int64_t kElementsWorthAKernel = 256;

std::int64_t elements_of(std::span<const tensor::Operand> operands) {
  std::int64_t elements = 0;
  for (const tensor::Operand& operand : operands)
    if (operand.present()) elements += operand.elements();
  return elements;
}

/// Returns an estimate for a call on `elements` elements in total. It is high for most operators,
/// since it applies to all of them.
constexpr std::int64_t nanoseconds_of(std::int64_t elements) { return 2 * elements; }

/// Makes the result of a slice refer to its operand; returns false where the slice is invalid.
bool view_slice(std::span<const tensor::Operand> inputs, DynamicTensor& slice, std::byte*& slot) {
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

DynamicCalls::DynamicCalls(Values& values, RunMemory& memory, DynamicTensors& tensors,
                           KernelCalls& kernels, RunProgress& progress)
    : values_(values),
      memory_(memory),
      tensors_(tensors),
      kernels_(kernels),
      progress_(progress),
      calls_(values.binding.dynamic_calls.size()) {
  for (std::uint32_t i = 0; i < calls_.size(); ++i) {
    calls_[i].hot = kernels.make(bound(i).call);
    calls_[i].hot.call.scratch = &scratch_slot_;
  }
}

void DynamicCalls::forget_growth() {
  for (State& call : calls_) call.growth = {};
}

Expected<void> DynamicCalls::run(std::uint32_t index) {
  const plan::DynamicCall& dynamic = bound(index);
  const plan::BoundCall& call = dynamic.call;
  auto* const operand_of = values_.operands.data() + call.first_operand;
  const plan::Spot* const spots = values_.binding.operands.data() + call.first_operand;
  for (std::size_t i = 0; i < call.inputs; ++i)
    if (spots[i].is_dynamic()) operand_of[i] = values_.operand(spots[i]);
  if (dynamic.grows_along != plan::kNone && can_grow_in_place(index)) return grow_in_place(index);
  const plan::Spot& result = spots[call.inputs];
  if (dynamic.views_slice &&
      view_slice({operand_of, call.inputs}, values_.dynamic(result), values_.slot(result.slot)))
    return {};
  SCANLOOM_TRY(CachedCall* const cached, find_cached(index));
  SCANLOOM_CHECK_OK(place_results(index, cached->results));
  choose_kernel(index, *cached);
  const tensor::HotCall& hot = calls_[index].hot;
  if (hot.run(hot.call) != tensor::Status::ok) return kernels_.error(call.node);
  progress_.charge(nanoseconds_of(elements_of(std::span(operand_of, call.inputs + call.outputs))));
  return {};
}

Expected<CachedCall*> DynamicCalls::find_cached(std::uint32_t index) {
  const plan::DynamicCall& dynamic = bound(index);
  State& state = calls_[index];
  const std::span inputs(values_.operands.data() + dynamic.call.first_operand, dynamic.call.inputs);
  bool may_keep = plan::describe_inputs(inputs, state.deciding, key_);
  if (CachedCall* const made = may_keep ? state.cache.find(key_) : nullptr) return made;
  SCANLOOM_TRY(plan::ResultSizes sizes,
               dynamic.resolve(*values_.binding.plan, dynamic.call.node, inputs, state.deciding));
  if (sizes.deciding != state.deciding) {
    // Earlier keys lack elements that may decide sizes.
    state.cache.clear();
    state.deciding = sizes.deciding;
    may_keep = plan::describe_inputs(inputs, state.deciding, key_);
  }
  CachedCall cached{.results = std::move(sizes.shapes)};
  return &state.cache.add(may_keep ? &key_ : nullptr, std::move(cached),
                          max_cached_calls(calls_.size()));
}

Expected<void> DynamicCalls::place_results(std::uint32_t index,
                                           std::span<const tensor::Shape> sizes) {
  const plan::BoundCall& call = bound(index).call;
  const std::size_t first = call.first_operand + call.inputs;
  for (std::size_t i = 0; i < call.outputs; ++i) {
    const plan::Spot& spot = values_.binding.operands[first + i];
    tensor::Operand& result = values_.operands[first + i];
    if (spot.is_dynamic()) {
      SCANLOOM_CHECK_OK(tensors_.reserve(spot, sizes[i], call.node));
      result = values_.operand(spot);
    } else if (!(result.shape() == sizes[i])) {
      return fail(Code::internal, "{}: sizes {} were bound, but {} were computed",
                  values_.describe(call.node), result.shape().to_string(), sizes[i].to_string());
    }
  }
  return {};
}

/// Whether the state that a concat extends owns its memory alone, so that the appended elements can
/// follow it there. Mismatched operands are left to the kernel, which reports the error.
bool DynamicCalls::can_grow_in_place(std::uint32_t index) {
  const plan::BoundCall& call = bound(index).call;
  const int axis = bound(index).grows_along;
  const std::span inputs(values_.operands.data() + call.first_operand, call.inputs);
  const DynamicTensor& state = values_.dynamic(values_.binding.operands[call.first_operand]);
  if (!state.storage || state.storage.use_count() != 1 ||
      inputs[0].data<std::byte>() != state.storage->bytes.get())
    return false;
  const auto fits = [&](const tensor::Operand& operand) {
    if (operand.rank != inputs[0].rank || !operand.contiguous) return false;
    for (int i = 0; i < operand.rank; ++i) {
      if (i < axis && operand.dims[i] != 1) return false;
      if (i > axis && operand.dims[i] != inputs[0].dims[i]) return false;
    }
    // An operand without elements may have any size along the axis; the sum must not overflow.
    return operand.dims[axis] <= kMaxAlongAxis;
  };
  return std::ranges::all_of(inputs, fits);
}

Expected<void> DynamicCalls::grow_in_place(std::uint32_t index) {
  const plan::BoundCall& call = bound(index).call;
  const int axis = bound(index).grows_along;
  const std::span inputs(values_.operands.data() + call.first_operand, call.inputs);
  const plan::Spot* const spots = values_.binding.operands.data() + call.first_operand;
  DynamicTensor& to = values_.dynamic(spots[call.inputs]);
  tensor::Shape dims = values_.dynamic(spots[0]).dims;
  for (const tensor::Operand& operand : inputs.subspan(1)) dims[axis] += operand.dims[axis];
  const auto item = static_cast<std::int64_t>(dtype_bytes(spots[0].dtype));
  std::int64_t at = inputs[0].elements() * item;
  SCANLOOM_CHECK_OK(extend(index, dims, dims.elements() * item));
  for (const tensor::Operand& operand : inputs.subspan(1)) {
    const std::int64_t size = operand.elements() * item;
    if (size == 0) continue;
    std::memcpy(to.storage->bytes.get() + at, operand.data<const std::byte>(),
                static_cast<std::size_t>(size));
    at += size;
  }
  return {};
}

Expected<void> DynamicCalls::extend(std::uint32_t index, const tensor::Shape& dims,
                                    std::int64_t bytes) {
  const plan::BoundCall& call = bound(index).call;
  const plan::Spot* const spots = values_.binding.operands.data() + call.first_operand;
  const plan::Spot& result = spots[call.inputs];
  DynamicTensor &from = values_.dynamic(spots[0]), &to = values_.dynamic(result);
  Growth& growth = calls_[index].growth;
  growth.note(tensors_.run_number(), bytes);
  if (from.storage->capacity >= bytes) {
    std::swap(from.storage, to.storage);
    return tensors_.reserve(result, dims, call.node);
  }
  SCANLOOM_CHECK_OK(tensors_.reserve(result, dims, call.node, growth.wish(bytes)));
  const std::int64_t elements = values_.operands[call.first_operand].elements();
  std::memcpy(to.storage->bytes.get(), from.storage->bytes.get(),
              static_cast<std::size_t>(elements) * dtype_bytes(spots[0].dtype));
  progress_.charge(nanoseconds_of(elements));
  return {};
}

/// Large calls prepare a kernel at once, small ones at their second use. If there is no room for
/// its scratch, the reference computes the same result.
void DynamicCalls::choose_kernel(std::uint32_t index, CachedCall& cached) {
  const plan::DynamicCall& dynamic = bound(index);
  tensor::HotCall& hot = calls_[index].hot;
  const std::span inputs(hot.call.inputs, dynamic.call.inputs);
  const std::span outputs(hot.call.outputs, dynamic.call.outputs);
  const bool again = cached.uses++ > 0;
  if (!cached.is_decided) {
    cached.run = dynamic.call.run;
    if (plan::makes_nothing(*values_.binding.plan, dynamic, outputs)) {
      cached.run = tensor::do_nothing;
      cached.is_decided = true;
    } else if (again || elements_of(std::span(hot.call.inputs, inputs.size() + outputs.size())) >=
                            kElementsWorthAKernel) {
      kernels::Prepared prepared = plan::prepare_kernel(values_.binding, dynamic, inputs, outputs);
      if (!prepared.refusal) {
        cached.run = prepared.run;
        cached.prepared = std::move(prepared.state);
        cached.scratch_bytes = prepared.scratch_bytes;
      }
      cached.is_decided = true;
    }
  }
  const bool has_scratch = reserve_scratch(cached.scratch_bytes);
  hot.run = has_scratch ? cached.run : dynamic.call.run;
  hot.call.prepared = has_scratch ? cached.prepared.get() : nullptr;
}

void DynamicCalls::release_scratch() {
  if (scratch_bytes_ == 0) return;
  scratch_.reset();
  scratch_slot_ = nullptr;
  memory_.budget().used -= scratch_bytes_;
  scratch_bytes_ = 0;
}

bool DynamicCalls::reserve_scratch(std::int64_t bytes) {
  if (bytes <= scratch_bytes_) return true;
  std::int64_t wanted = std::max(bytes, 2 * scratch_bytes_);
  release_scratch();
  if (!memory_.fits(wanted)) {
    memory_.release_kept();
    wanted = bytes;
  }
  if (!memory_.fits(wanted)) return false;
  scratch_ = allocate_aligned(wanted);
  scratch_slot_ = scratch_.get();
  if (!scratch_) return false;
  scratch_bytes_ = wanted;
  memory_.budget().used += wanted;
  memory_.note_taken();
  return true;
}

}  // namespace scanloom::runtime
