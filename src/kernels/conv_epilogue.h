// What the call of a convolution computes from its result: an element program, such as an
// activation or the sum with a residual, over parts of the result that are still in the cache. The
// bits are those of the nodes one by one.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/conv_activation.h"
#include "kernels/conv_blocks.h"
#include "kernels/kernel.h"
#include "kernels/pointwise_plan.h"

namespace scanloom::kernels {

/// The operands of a convolution proper: x, w, b. Those of its epilogue follow.
inline constexpr int kConvOperands = 3;
/// Operands of an epilogue, the result of the convolution included.
inline constexpr std::size_t kMaxEpilogueOperands = 16;

/// A part of the result: positions [first, first + count), in row-major order, of so many filters.
struct ConvPartOfResult {
  std::int64_t image = 0, filter = 0, filters = 0, first = 0, count = 0;
};

/// The epilogue of a convolution, prepared for its sizes.
class ConvEpilogue {
 public:
  /// Prepares PrepareCtx::program, if there is one. Its first operand is the convolution's result,
  /// in whose place its own result is stored; the others are inputs from kConvOperands on. Returns
  /// why it cannot be computed.
  /// `in_blocks`: the convolution is computed in blocks of filters, which can finish what they sum.
  std::optional<Refusal> prepare(const PrepareCtx& ctx, bool in_blocks = false);
  /// Returns what the blocks finish: nothing, or all of the epilogue, after which Run does nothing.
  /// For results from `filter` on, at so many elements from the beginning of y.
  template <class T>
  [[nodiscard]] ConvFinish<T> finish(const tensor::Call& call, std::int64_t filter,
                                     std::int64_t offset) const {
    ConvFinish<T> left;
    if (!finishes_) return left;
    const auto of_filters = [&](const std::shared_ptr<const std::byte>& data) {
      return data == nullptr ? nullptr : reinterpret_cast<const T*>(data.get()) + filter;
    };
    left.scale = of_filters(scale_);
    left.shift = of_filters(shift_);
    left.rescale = of_filters(rescale_);
    left.reshift = of_filters(reshift_);
    if (residual_ >= 0) left.residual = call.in(residual_).data<const T>() + offset;
    left.clamps = clamps_;
    left.high = static_cast<T>(high_);
    left.activation = activation_.template as<T>();
    return left;
  }

  /// Whether what blocks finish reads an operand with the sizes of the result.
  [[nodiscard]] bool reads_residual() const { return residual_ >= 0; }

  /// Whether the result is the same for sums of 0 and of -0, where blocks finish all of it.
  [[nodiscard]] bool hides_sign_of_zero(DType dtype) const;

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
  /// The contents of an operand where the channels come last: an element per element of the result,
  /// a single one, or one per channel.
  enum class Holds : std::uint8_t { all, one, channels };
  struct OperandLast {
    Holds holds = Holds::all;
    std::shared_ptr<const std::byte> repeated;  ///< constants of all channels, for a whole chunk
  };

  std::optional<Refusal> prepare_last(const PrepareCtx& ctx);
  /// Whether blocks can finish the program; sets what they do.
  bool find_finish(const PrepareCtx& ctx);
  /// Describes an operand that follows the convolution's; nullopt if chunks cannot read it.
  [[nodiscard]] std::optional<OperandLast> describe(const tensor::Operand& input,
                                                    const tensor::Operand& y,
                                                    const void* constant) const;
  void run_last(const tensor::Call& call, const ConvPartOfResult& part, std::byte* scratch) const;

  std::int64_t filters_ = 0, positions_ = 1;  ///< of an image of the result
  // Where the channels come last, the program is that of a chunk of several positions, so that
  // operands with an element per channel are as long as the others. 0 positions: they come first.
  std::int64_t chunk_ = 0;
  std::int64_t chunk_elements_ = 0, element_bytes_ = 0;
  std::vector<OperandLast> operands_last_;  ///< the result of the convolution first
  // What blocks finish.
  bool finishes_ = false, clamps_ = false;
  /// Constants of all filters, and zeros for a vector.
  std::shared_ptr<const std::byte> scale_, shift_, rescale_, reshift_;
  int residual_ = -1;  ///< the operand of the call
  double high_ = std::numeric_limits<double>::infinity();
  ConvActivation<double> activation_;
};

}  // namespace scanloom::kernels
