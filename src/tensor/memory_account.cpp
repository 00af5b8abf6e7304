#include "tensor/memory_account.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "tensor/object.h"

namespace scanloom::tensor {
namespace {

Error no_room(std::string_view bytes, std::int64_t left) {
  return fail(Code::limit_reached,
              "the run needs {} more bytes, but {} bytes of the memory budget are left", bytes,
              std::max<std::int64_t>(left, 0))
      .note("raise it with the option max_memory");
}

}  // namespace

/// Owner between a counted tensor and its storage: destroyed with the last tensor that shares it.
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

bool MemoryAccount::fits(std::int64_t bytes) {
  // Two attempts: make_room may raise the limit, and then release caches.
  for (int i = 0; i < 2 && make_room_ && bytes > left(); ++i) elsewhere_ = make_room_();
  was_short_ |= bytes > left();
  if (bytes > left()) return false;
  peak_ = std::max(peak_, held() + elsewhere_ + bytes);
  return true;
}

Expected<void> MemoryAccount::check(std::int64_t bytes) {
  if (!fits(bytes)) return no_room(std::to_string(bytes), left());
  return {};
}

Expected<void> MemoryAccount::check_at_least(std::int64_t bytes) {
  if (!fits(bytes)) return no_room("at least " + std::to_string(bytes), left());
  return {};
}

Expected<std::shared_ptr<const void>> MemoryAccount::hold(std::int64_t bytes) {
  SCANLOOM_CHECK_OK(check(bytes));
  return std::shared_ptr<const void>(std::make_shared<const Held>(held_, nullptr, bytes));
}

Expected<Tensor> MemoryAccount::count(Tensor tensor) {
  const std::int64_t bytes = bytes_with_text(tensor);
  return count(std::move(tensor), bytes);
}

Expected<Tensor> MemoryAccount::count(Tensor tensor, std::int64_t bytes) {
  // A loop can collect any number of tiny rows, so the Tensor object counts as well.
  bytes += static_cast<std::int64_t>(sizeof(Tensor));
  SCANLOOM_CHECK_OK(check(bytes));
  auto held = std::make_shared<const Held>(held_, tensor.owner(), bytes);
  return Tensor(tensor.dtype(), tensor.shape(), std::move(held), tensor.data());
}

Expected<void> MemoryAccount::count(Object& object) {
  SCANLOOM_ASSERT(object.owners_.load(std::memory_order_acquire) == 1);
  const std::int64_t bytes = object.own_bytes();
  if (object.counter_ == held_ && bytes == object.counted_) return {};
  const std::int64_t counted = object.counter_ == held_ ? object.counted_ : 0;
  SCANLOOM_CHECK_OK(check(bytes - counted));
  if (object.counter_ && object.counter_ != held_)
    object.counter_->fetch_sub(object.counted_, std::memory_order_relaxed);
  object.counter_ = held_;
  object.counted_ = bytes;
  held_->fetch_add(bytes - counted, std::memory_order_relaxed);
  return {};
}

}  // namespace scanloom::tensor
