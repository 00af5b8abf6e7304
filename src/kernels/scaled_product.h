// Products with many denormal factors, such as those of masked attention: softmax of a mask of -100
// gives e^-100, which is denormal in f32. Where an instruction with such an operand takes 150
// cycles, copies of the matrices are scaled: (a * 2^64) (b * 2^-64) is a * b, so that every sum
// keeps its bits if the scaled factors are normal. Sums that are denormal themselves take as long
// as before.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernels/product.h"

namespace scanloom::kernels {

/// Whether the matrices of a batch are searched for denormals: for a while after arithmetic has met
/// some (base/denormals.h), as a search takes about as long as a small product. Thread safe.
class DenormalSearch {
 public:
  [[nodiscard]] bool is_on() const { return left_.load(std::memory_order_relaxed) > 0; }
  void start() { left_.store(kPatience, std::memory_order_relaxed); }
  /// Notes a product without denormals, or whose matrices cannot be scaled.
  void note_missed() { left_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  static constexpr int kPatience = 64;  // products
  std::atomic<int> left_ = 0;
};

/// Bytes of the copies of both matrices, which are on the stack.
inline constexpr std::int64_t kMaxScaledBytes = 64 * 1024;

/// Whether a product is so small that its matrices can be copied on the stack, and large enough to
/// be asked about.
template <class T>
bool may_scale(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kMinProducts = 4096;
  return m * n * k >= kMinProducts &&
         (m + n) * k <= kMaxScaledBytes / static_cast<std::int64_t>(sizeof(T));
}

/// Multiplies scaled copies of matrices that may_scale, on one thread. Returns false, and does
/// nothing, where neither has denormals or scaling would lose bits of the other.
template <class T>
bool multiply_scaled(const ProductFns<T>& fns, const Product<T>& product);

}  // namespace scanloom::kernels
