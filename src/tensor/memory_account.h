// MemoryAccount: what the values of one run take, and the limit on it. A tensor counts from when it
// is made until nothing shares its storage, an object as long as it lives; feeds and constants do
// not count.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/expected.h"
#include "tensor/tensor.h"

namespace scanloom::tensor {

class Object;

class MemoryAccount {
 public:
  /// Results outlive the run and are dropped by any thread.
  using Counter = std::atomic<std::int64_t>;

  explicit MemoryAccount(std::int64_t max_bytes) : max_bytes_(max_bytes) {}

  [[nodiscard]] std::int64_t held() const { return held_->load(std::memory_order_relaxed); }
  /// Bytes of the same run that are counted elsewhere.
  void set_elsewhere(std::int64_t bytes) { elsewhere_ = bytes; }
  /// Asked where the budget is short: lets go what is only kept, and says what set_elsewhere would
  /// be told then.
  void set_make_room(std::function<std::int64_t()> make_room) { make_room_ = std::move(make_room); }
  /// Whether a tensor of that many bytes may be made. Error: limit_reached.
  [[nodiscard]] Expected<void> check(std::int64_t bytes);
  /// Counts bytes that are none of a tensor or box, for as long as what it returns lives. Error:
  /// limit_reached.
  [[nodiscard]] Expected<std::shared_ptr<const void>> hold(std::int64_t bytes);
  /// The same tensor, counted. Precondition: it has storage of its own. Error: limit_reached.
  Expected<Tensor> count(Tensor tensor);
  /// Counts an object and its list, not what it refers to; again after it has changed.
  /// Precondition: one reference to the object, for counting writes to it. Error: limit_reached.
  Expected<void> count(Object& object);

 private:
  struct Held;

  std::int64_t max_bytes_;
  std::int64_t elsewhere_ = 0;
  std::function<std::int64_t()> make_room_;
  std::shared_ptr<Counter> held_ = std::make_shared<Counter>(0);
};

}  // namespace scanloom::tensor
