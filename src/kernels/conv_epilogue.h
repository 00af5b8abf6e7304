// What the call of a convolution computes from its result: an element program, such as an
// activation or the sum with a residual, over parts of the result that are still in the cache. The
// bits are those of the nodes one by one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "kernels/kernel.h"
#include "kernels/pointwise_plan.h"

namespace scanloom::kernels {

/// The operands of a convolution proper: x, w, b. Those of its epilogue follow.
inline constexpr int kConvOperands = 3;
/// Operands of an epilogue, the result of the convolution included.
inline constexpr std::size_t kMaxEpilogueOperands = 8;

/// A part of the result in row-major order: elements [first, first + count) of so many filters.
struct ConvPartOfResult {
  std::int64_t image = 0, filter = 0, filters = 0, first = 0, count = 0;
};

/// The epilogue of a convolution, prepared for its sizes.
class ConvEpilogue {
 public:
  /// Prepares PrepareCtx::program, if there is one. Its first operand is the convolution's result,
  /// in whose place its own result is stored; the others are inputs from kConvOperands on. Returns
  /// why it cannot be computed.
  std::optional<Refusal> prepare(const PrepareCtx& ctx);

  [[nodiscard]] bool present() const { return present_; }
  /// Scratch of a thread, in whole cache lines.
  [[nodiscard]] std::int64_t scratch_bytes() const { return present_ ? plan_.slot_bytes() : 0; }

  /// The epilogue of one call.
  class Run {
   public:
    Run(const ConvEpilogue& epilogue, const tensor::Call& call);
    /// Computes a part whose convolution is complete, with a thread's scratch. Does nothing if
    /// there is no epilogue.
    void operator()(const ConvPartOfResult& part, std::byte* scratch) const;

   private:
    const ConvEpilogue& epilogue_;
    tensor::Call call_;
    std::array<tensor::Operand, kMaxEpilogueOperands> inputs_;
  };

 private:
  bool present_ = false;
  PointwisePlan plan_;
  std::int64_t filters_ = 0, positions_ = 1;  ///< of an image of the result
};

}  // namespace scanloom::kernels
