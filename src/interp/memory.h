// MemoryAccount: what the tensors of one interpreted run take, and the limit on it. A tensor counts
// from when it is made until nothing shares its storage; feeds and constants do not count.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/expected.h"
#include "tensor/tensor.h"

namespace scanloom::interp {

class MemoryAccount {
 public:
  explicit MemoryAccount(std::int64_t max_bytes) : max_bytes_(max_bytes) {}

  /// Whether a tensor of that many bytes may be made. Error: limit_reached.
  [[nodiscard]] Expected<void> check(std::int64_t bytes) const;
  /// The same tensor, counted. Precondition: it has storage of its own. Error: limit_reached.
  Expected<tensor::Tensor> count(tensor::Tensor tensor);

 private:
  /// Results outlive the run and are dropped by any thread.
  using Counter = std::atomic<std::int64_t>;
  struct Held;

  std::int64_t max_bytes_;
  std::shared_ptr<Counter> held_ = std::make_shared<Counter>(0);
};

}  // namespace scanloom::interp
