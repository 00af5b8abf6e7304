// random: numbers that each execution draws anew. The numbers themselves are those of whoever runs
// the IR.
#include "exporters/openvino/element_types.h"
#include "exporters/openvino/ops/forms.h"

namespace scanloom::exporters::openvino {

namespace {

/// In [0, 1). A seed of 0 is none, there as here.
Output uniform(NodeWriter& out, std::uint64_t draw) {
  const DType to = out.result_type().dtype;
  constexpr std::uint64_t kSeeds = ~std::uint64_t{0} >> 1;
  const auto given = [&](const char* name) {
    return static_cast<std::uint64_t>(out.integer(name));
  };
  const std::uint64_t seed = given("seed") & kSeeds;
  const std::uint64_t stream = seed == 0 ? 0 : (2 * given("stream") + draw) & kSeeds;
  return out.layer("RandomUniform", 8, {out.in(0), out.scalar(0, to), out.scalar(1, to)}, to,
                   {{"output_type", std::string(element_type(to))},
                    {"global_seed", std::to_string(seed)},
                    {"op_seed", std::to_string(stream)},
                    {"alignment", "tensorflow"}});
}

/// By the formula of Box and Muller.
Output normal(NodeWriter& out) {
  const DType to = out.result_type().dtype;
  const auto times = [&](double factor, Output x) {
    return out.binary("Multiply", out.scalar(factor, to), x, to);
  };
  const Output left = out.binary("Subtract", out.scalar(1, to), uniform(out, 0), to);
  const Output radius = out.layer("Sqrt", 1, {times(-2, out.layer("Log", 1, {left}, to))}, to);
  constexpr double kTwoPi = 6.28318530717958647692;
  const Output angle = times(kTwoPi, uniform(out, 1));
  return out.binary("Multiply", radius, out.layer("Cos", 1, {angle}, to), to);
}

}  // namespace

void write_random(NodeWriter& out) {
  out.set(out.text("kind") == "normal" ? normal(out) : uniform(out, 0));
}

}  // namespace scanloom::exporters::openvino
