// The distributions of random numbers: they turn blocks of 128 bits into elements. Uniform numbers
// are multiples of 2^-24 or 2^-53. Normal ones come in pairs by the Box-Muller transform, computed
// in f64 without fused multiply-add, so that they are the same on all machines. The operators
// differ in where their blocks come from.
#pragma once

#include <cmath>
#include <span>
#include <string_view>

#include "base/math/log.h"
#include "base/math/scalar_domain.h"
#include "base/math/trig.h"
#include "base/philox.h"
#include "ir/infer_ctx.h"
#include "ops/sizes.h"
#include "tensor/call.h"
#include "tensor/for_each.h"

namespace scanloom::ops {

/// Returns a number in [0, 1) with 53 bits.
inline double unit(std::uint32_t first, std::uint32_t second) {
  return static_cast<double>((std::uint64_t{first} << 32 | second) >> 11) * 0x1p-53;
}

struct Pair {
  double first, second;
};

/// Returns two independent normal numbers from two uniform ones in [0, 1).
inline Pair box_muller(double a, double b) {
  constexpr double kTwoPi = 6.28318530717958647692;
  const math::ScalarDomain<double, false> m;
  const double radius = std::sqrt(-2 * math::log(m, 1 - a));
  return {radius * math::cos(m, kTwoPi * b), radius * math::sin(m, kTwoPi * b)};
}

// The elements of one block: four of f32, two of f64.

struct UniformF32 {
  using Element = float;
  static constexpr int kCount = 4;
  static void fill(const PhiloxCounter& bits, float* to) {
    for (std::size_t i = 0; i < 4; ++i) to[i] = static_cast<float>(bits[i] >> 8) * 0x1p-24f;
  }
};
struct UniformF64 {
  using Element = double;
  static constexpr int kCount = 2;
  static void fill(const PhiloxCounter& bits, double* to) {
    to[0] = unit(bits[0], bits[1]);
    to[1] = unit(bits[2], bits[3]);
  }
};
struct NormalF32 {
  using Element = float;
  static constexpr int kCount = 4;
  static void fill(const PhiloxCounter& bits, float* to) {
    for (std::size_t i = 0; i < 4; i += 2) {
      const Pair pair = box_muller(bits[i] * 0x1p-32, bits[i + 1] * 0x1p-32);
      to[i] = static_cast<float>(pair.first);
      to[i + 1] = static_cast<float>(pair.second);
    }
  }
};
struct NormalF64 {
  using Element = double;
  static constexpr int kCount = 2;
  static void fill(const PhiloxCounter& bits, double* to) {
    const Pair pair = box_muller(unit(bits[0], bits[1]), unit(bits[2], bits[3]));
    to[0] = pair.first;
    to[1] = pair.second;
  }
};

/// Elements are numbered in row-major order, whatever the strides.
template <class Law>
void fill_by(const PhiloxBlocks& bits, const tensor::Operand& y) {
  typename Law::Element block[Law::kCount];
  std::uint64_t number = 0;
  const std::span dims(y.dims, static_cast<std::size_t>(y.rank));
  tensor::for_each_index(dims, [&](const tensor::Shape& index) {
    const auto position = static_cast<std::size_t>(number % Law::kCount);
    if (position == 0) Law::fill(bits.block(number / Law::kCount), block);
    std::int64_t offset = 0;
    for (int axis = 0; axis < y.rank; ++axis) offset += index[axis] * y.strides[axis];
    y.data<typename Law::Element>()[offset] = block[position];
    ++number;
  });
}

/// Fills y with numbers of that distribution.
inline void fill_randomly(std::string_view kind, const PhiloxBlocks& bits,
                          const tensor::Operand& y) {
  const bool uniform = kind == "uniform";
  if (y.dtype == DType::f32)
    uniform ? fill_by<UniformF32>(bits, y) : fill_by<NormalF32>(bits, y);
  else
    uniform ? fill_by<UniformF64>(bits, y) : fill_by<NormalF64>(bits, y);
}

/// Inference for operators whose operand `shape` gives the shape of the result.
Expected<void> infer_random(ir::InferCtx& ctx, int shape, const std::string& kind, DType to);

}  // namespace scanloom::ops
