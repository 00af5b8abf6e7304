// The LSTM kernel's description of a layer, and its weights in the order in which steps read them.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/kernel.h"
#include "kernels/simd.h"

namespace scanloom::kernels {

enum LstmInput : int { kX, kW, kR, kB, kLens, kInitialH, kInitialC, kP };
enum LstmAttribute : std::size_t {
  kDirection,
  kHidden,
  kLayout,
  kInputForget,
  kClip,
  kActivations
};

/// Weights of one step from which threads share its units.
inline constexpr std::int64_t kSharedFloats = 100'000;
/// The most rows of the batch that one task takes through all steps.
inline constexpr std::int64_t kMaxLstmTaskRows = 16;

/// One direction's weights as a step reads them: W and R in panels, Wb + Rb.
struct LstmWeights {
  const float *w = nullptr, *r = nullptr, *bias = nullptr;
};

struct LstmSchedule {
  const SimdTables* simd = nullptr;
  bool batch_first = false, reverse = false, has_lengths = false;
  std::int64_t steps = 0, batch = 0, input = 0, hidden = 0, directions = 1;
  std::int64_t units = 0;           ///< hidden, rounded up to whole vectors
  std::int64_t product_rows = 1;    ///< rows of x whose products are computed together
  bool pipelined = false;           ///< whether these products are pipelined with the steps before
  std::int64_t weights_floats = 0;  ///< of one direction
  std::shared_ptr<const void> packed;  ///< null: weights are packed at the start of every call

  /// Whether several threads that compute one task share its units.
  [[nodiscard]] bool shares_units() const { return 4 * units * hidden >= kSharedFloats; }
  /// How many tasks share the rows of one direction: enough to occupy that many threads equally.
  [[nodiscard]] std::int64_t tasks_per_direction(int threads) const;
  /// The scratch of one task with that many rows.
  [[nodiscard]] std::int64_t task_floats(std::int64_t rows) const;
  /// Steps whose products with x a task with that many rows computes together.
  [[nodiscard]] std::int64_t chunk(std::int64_t rows) const;
  [[nodiscard]] LstmWeights weights(const float* all, std::int64_t direction) const {
    const float* w = all + direction * weights_floats;
    return {w, w + 4 * units * input, w + 4 * units * (input + hidden)};
  }
};

/// Returns the smallest multiple of `unit` that is at least `count`.
constexpr std::int64_t round_up(std::int64_t count, std::int64_t unit) {
  return (count + unit - 1) / unit * unit;
}

/// An operand and its data; null if absent.
struct LstmSource {
  const float* data = nullptr;
  const tensor::Operand* operand = nullptr;
};

/// Packs the weights of all directions, plan.weights_floats apart.
void pack_lstm_weights(const LstmSchedule& plan, const LstmSource& w, const LstmSource& r,
                       const LstmSource& b, float* to);

/// Whether W, R and, if there is one, B are constants that may be packed once.
bool weights_are_constant(const PrepareCtx& ctx);

/// Packs constant weights, which may be at any address, once for all calls; null if they are not
/// constant.
std::shared_ptr<const void> constant_lstm_weights(const PrepareCtx& ctx, const LstmSchedule& plan);

}  // namespace scanloom::kernels
