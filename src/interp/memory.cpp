#include "interp/memory.h"

#include <utility>

namespace scanloom::interp {
namespace {

using tensor::Tensor;

std::int64_t bytes_of(const Tensor& tensor) {
  // Loops can gather any number of rows of few bytes, so what describes one counts as well.
  std::size_t bytes = tensor.bytes() + sizeof(Tensor);
  if (tensor.dtype() == DType::string)
    for (const tensor::StringRef& element : tensor.as<tensor::StringRef>())
      bytes += static_cast<std::size_t>(element.size);
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

/// Stands between a counted tensor and its storage: goes when the last tensor that shares it does.
struct MemoryAccount::Held {
  Held(std::shared_ptr<Counter> all, std::shared_ptr<const void> memory, std::int64_t count)
      : counter(std::move(all)), storage(std::move(memory)), bytes(count) {
    counter->fetch_add(bytes, std::memory_order_relaxed);
  }
  ~Held() { counter->fetch_sub(bytes, std::memory_order_relaxed); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  std::shared_ptr<Counter> counter;
  std::shared_ptr<const void> storage;
  std::int64_t bytes;
};

Expected<void> MemoryAccount::check(std::int64_t bytes) const {
  const std::int64_t held = held_->load(std::memory_order_relaxed);
  if (bytes > max_bytes_ - held)
    return fail(Code::limit_reached, "the run needs {} bytes, the memory budget is {} bytes",
                held + bytes, max_bytes_)
        .note("raise it with the option max_memory");
  return {};
}

Expected<Tensor> MemoryAccount::count(Tensor tensor) {
  const std::int64_t bytes = bytes_of(tensor);
  SCANLOOM_CHECK_OK(check(bytes));
  auto held = std::make_shared<const Held>(held_, tensor.owner(), bytes);
  return Tensor(tensor.dtype(), tensor.shape(), std::move(held), tensor.data());
}

}  // namespace scanloom::interp
