// MemoryAccount: bytes taken by the values of one run, and their limit. A tensor counts from its
// creation until nothing shares its storage, an object as long as it exists; feeds and constants do
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
  /// Shared: results outlive the run and may be dropped by any thread.
  using Counter = std::atomic<std::int64_t>;

  explicit MemoryAccount(std::int64_t max_bytes) : max_bytes_(max_bytes) {}

  [[nodiscard]] std::int64_t held() const { return held_->load(std::memory_order_relaxed); }
  /// Returns the largest sum of all bytes of the run that a check has allowed so far. A limit of
  /// this many bytes would have allowed the same.
  [[nodiscard]] std::int64_t peak() const { return peak_; }
  /// Whether a check was refused.
  [[nodiscard]] bool was_short() const { return was_short_; }
  void set_max_bytes(std::int64_t bytes) { max_bytes_ = bytes; }
  /// Sets the bytes of the same run that are counted elsewhere.
  void set_elsewhere(std::int64_t bytes) { elsewhere_ = bytes; }
  /// Called when the budget is short: raises the limit or releases memory that is only cached, and
  /// returns the new number for set_elsewhere.
  void set_make_room(std::function<std::int64_t()> make_room) { make_room_ = std::move(make_room); }
  /// Whether this many bytes may be allocated in addition to those held. Error: limit_reached.
  [[nodiscard]] Expected<void> check(std::int64_t bytes);
  /// The same, where more may follow: the error says that `bytes` are the least that is needed.
  [[nodiscard]] Expected<void> check_at_least(std::int64_t bytes);
  /// Counts bytes that belong to no tensor or object, for as long as the returned object exists.
  /// Error: limit_reached.
  [[nodiscard]] Expected<std::shared_ptr<const void>> hold(std::int64_t bytes);
  /// Returns the same tensor, counted. Precondition: it has storage of its own. Error:
  /// limit_reached.
  Expected<Tensor> count(Tensor tensor);
  /// Counts a tensor whose storage takes `bytes`, more than its elements and texts need.
  Expected<Tensor> count(Tensor tensor, std::int64_t bytes);
  /// Counts an object and its list, without the values that it refers to. Call it again after the
  /// object has changed. Precondition: a unique reference, because counting writes to the object.
  /// Error: limit_reached.
  Expected<void> count(Object& object);

 private:
  struct Held;

  /// Whether `bytes` more fit, after making room if necessary. Updates the peak.
  bool fits(std::int64_t bytes);
  [[nodiscard]] std::int64_t left() const { return max_bytes_ - (held() + elsewhere_); }

  std::int64_t max_bytes_;
  std::int64_t elsewhere_ = 0, peak_ = 0;
  std::function<std::int64_t()> make_room_;
  std::shared_ptr<Counter> held_ = std::make_shared<Counter>(0);
  bool was_short_ = false;
};

}  // namespace scanloom::tensor
