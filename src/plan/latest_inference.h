// LatestInference: the sizes that the latest binding of a plan inferred. The next binding takes
// over those that are the same, which are most where only a cache has grown.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "ir/infer.h"

namespace scanloom::plan {

/// Thread safe.
class LatestInference {
 public:
  /// Returns the inference, which the caller uses up; null if another binding has it, or none was
  /// made.
  [[nodiscard]] std::unique_ptr<ir::Inference> take() {
    const std::scoped_lock lock(mutex_);
    return std::move(inference_);
  }
  void set(std::unique_ptr<ir::Inference> inference) {
    const std::scoped_lock lock(mutex_);
    inference_.swap(inference);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<ir::Inference> inference_;
};

}  // namespace scanloom::plan
