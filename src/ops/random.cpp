// Draws by counter (base/philox.h): element i of an execution depends on the seed, the stream, the
// number of the run, that of the execution and i, on nothing else. Uniform numbers are multiples of
// 2^-24 or 2^-53; normal ones come in pairs by the formula of Box and Muller, computed in f64.
#include <cmath>

#include "base/math/math.h"
#include "base/philox.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/for_each.h"

namespace scanloom::ops {
namespace {

using tensor::Operand;
using tensor::Type;

constexpr int kKind = 0, kTo = 1, kSeed = 2, kStream = 3;

Expected<void> infer(ir::InferCtx& ctx) {
  const std::string& kind = ctx.attr(kKind).text();
  const DType to = ctx.attr(kTo).dtype();
  if (kind != "uniform" && kind != "normal")
    return invalid_model("attribute 'kind' is '{}', neither uniform nor normal", kind);
  if (to != DType::f32 && to != DType::f64)
    return invalid_model("attribute 'to' is {}, neither f32 nor f64", dtype_name(to));
  SCANLOOM_CHECK_OK(check_list(ctx, 0, "the shape"));
  const auto sizes = ctx.integers(0);
  const std::int64_t rank = element_count(ctx, 0);
  if (rank > tensor::kMaxRank)
    return invalid_model("the shape has {} axes, more than {}", rank, tensor::kMaxRank);
  if (sizes) return set_sizes(ctx, 0, to, *sizes);
  ctx.set(0, rank < 0 ? Type::unranked(to) : ctx.fresh(to, static_cast<int>(rank)));
  return {};
}

std::uint32_t low(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint32_t high(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }

/// The bits of one execution, block by block.
class Bits {
 public:
  explicit Bits(const tensor::Call& call)
      : seed_(static_cast<std::uint64_t>(call.attrs[kSeed].integer())),
        stream_(static_cast<std::uint64_t>(call.attrs[kStream].integer())) {
    if (call.draws != nullptr) draws_ = {call.draws->run, call.draws->execution++};
  }
  /// Blocks are below 2^40, of which 2^8 are left over for the high bits of the execution.
  [[nodiscard]] PhiloxCounter block(std::uint64_t index) const {
    const std::uint32_t rest = (high(index) & 0xffu) | high(draws_.execution) << 8;
    return philox({low(index), rest, low(draws_.execution), low(draws_.run)},
                  {low(seed_) ^ high(stream_), low(stream_) ^ high(seed_)});
  }

 private:
  std::uint64_t seed_, stream_;
  tensor::Draws draws_;
};

/// In [0, 1), 53 bits.
double unit(std::uint32_t first, std::uint32_t second) {
  return static_cast<double>((std::uint64_t{first} << 32 | second) >> 11) * 0x1p-53;
}

struct Pair {
  double first, second;
};

/// Two independent normal numbers of two uniform ones in [0, 1).
Pair box_muller(double a, double b) {
  constexpr double kTwoPi = 6.28318530717958647692;
  const double radius = std::sqrt(-2 * math::log(1 - a));
  return {radius * math::cos(kTwoPi * b), radius * math::sin(kTwoPi * b)};
}

// Elements that one block gives: four numbers of f32, two of f64.

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
void draw(const tensor::Call& call) {
  const Bits bits(call);
  const Operand& y = call.out(0);
  typename Law::Element block[Law::kCount];
  std::uint64_t number = 0;
  const std::span dims(y.dims, static_cast<std::size_t>(y.rank));
  tensor::for_each_index(dims, [&](const tensor::Shape& index) {
    const auto place = static_cast<std::size_t>(number % Law::kCount);
    if (place == 0) Law::fill(bits.block(number / Law::kCount), block);
    std::int64_t offset = 0;
    for (int axis = 0; axis < y.rank; ++axis) offset += index[axis] * y.strides[axis];
    y.data<typename Law::Element>()[offset] = block[place];
    ++number;
  });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const bool uniform = call.attrs[kKind].text() == "uniform";
  if (call.out(0).dtype == DType::f32)
    uniform ? draw<UniformF32>(call) : draw<NormalF32>(call);
  else
    uniform ? draw<UniformF64>(call) : draw<NormalF64>(call);
  return tensor::Status::ok;
}

}  // namespace

constinit const ir::OpDef random_op{
    .name = "random",
    .doc =
        "Independent random numbers in a tensor of that shape: uniform in [0, 1), or normal with "
        "mean 0 and deviation 1, as `kind` says. Each execution draws anew.",
    .inputs = {{"shape", ir::Accept::index}},
    .outputs = {"y"},
    .attrs = {{"kind", tensor::AttrKind::text},
              {"to", tensor::AttrKind::dtype},
              {"seed", tensor::AttrKind::integer},
              {"stream", tensor::AttrKind::integer}},
    .effects = ir::Effects::random,
    .infer = infer,
    .reference = reference,
};

}  // namespace scanloom::ops
