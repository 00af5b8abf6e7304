#include "runtime/results.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace scanloom::runtime {
namespace {

/// Results below this size are copied, so that the next run can reuse their memory.
constexpr std::int64_t kMinHandedOver = 16 * 1024;

/// Hands the memory of a dynamic tensor over to the result, if nothing else refers to it and little
/// of it is unused; returns whether it did.
bool hand_over(DynamicTensor& value, DType dtype, const tensor::Operand& source,
               tensor::Tensor& result) {
  const std::int64_t bytes = source.elements() * static_cast<std::int64_t>(dtype_bytes(dtype));
  if (!value.storage || value.storage.use_count() != 1 || bytes < kMinHandedOver ||
      value.storage->capacity - bytes > bytes / 4 ||
      source.data<const std::byte>() != value.storage->bytes.get())
    return false;
  const std::shared_ptr<std::byte[]> memory = std::move(value.storage->bytes);
  value.storage.reset();
  result = tensor::Tensor(dtype, source.shape(), memory, memory.get());
  return true;
}

}  // namespace

Expected<RunResult> begin_results(Values& values, ResultMemory& memory,
                                  std::span<const std::byte* const> feeds) {
  const plan::Binding& bound = values.binding;
  RunResult result;
  for (const plan::BoundResult& output : bound.results) {
    if (output.source.is_dynamic() || output.source.is_object()) {
      result.outputs.emplace_back();
      continue;
    }
    const auto bytes =
        output.shape.elements() * static_cast<std::int64_t>(dtype_bytes(output.dtype));
    std::shared_ptr<std::byte[]> taken = memory.take(bytes);
    if (!taken) return fail(Code::out_of_memory, "out of memory: a result needs {} bytes", bytes);
    const void* data = taken.get();
    result.outputs.emplace_back(output.dtype, output.shape, std::move(taken), data);
  }
  for (std::size_t i = 0; i < bound.slots.size(); ++i) {
    const plan::SlotInit& init = bound.slots[i];
    const auto index = static_cast<std::size_t>(init.index);
    if (init.kind == plan::SlotInit::Kind::feed)
      values.slots[i] = const_cast<std::byte*>(feeds[index]);
    if (init.kind == plan::SlotInit::Kind::result)
      values.slots[i] = static_cast<std::byte*>(result.outputs[index].mutable_data());
  }
  return result;
}

Expected<void> finish_results(Values& values, RunMemory& memory, RunResult& result) {
  const std::vector<plan::BoundResult>& results = values.binding.results;
  std::int64_t copied = 0;
  result.objects.resize(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const plan::Spot& spot = results[i].source;
    if (spot.is_object()) result.objects[i] = values.object(spot);
    if (!spot.is_dynamic()) continue;
    const tensor::Operand source = values.operand(spot);
    if (hand_over(values.dynamic(spot), spot.dtype, source, result.outputs[i])) {
      copied += static_cast<std::int64_t>(result.outputs[i].bytes());
      memory.note_taken(copied);
      continue;
    }
    const std::int64_t bytes =
        source.elements() * static_cast<std::int64_t>(dtype_bytes(spot.dtype));
    if (!memory.make_room(copied + bytes))
      return fail(
                 Code::limit_reached,
                 "result {} of sizes {} needs {} bytes, but {} bytes of the memory budget are left",
                 i, source.shape().to_string(), bytes, memory.left() - copied)
          .note("raise it with the option max_memory");
    copied += bytes;
    memory.note_taken(copied);
    SCANLOOM_TRY(tensor::Tensor copy, tensor::Tensor::zeros(spot.dtype, source.shape()));
    // Results are row-major. Scanned slices of dynamic tensors only leave their loop as copies.
    if (copy.bytes() > 0)
      std::memcpy(copy.mutable_data(), source.data<const std::byte>(), copy.bytes());
    result.outputs[i] = std::move(copy);
  }
  return {};
}

}  // namespace scanloom::runtime
