// Convolutions in blocks with denormal elements or weights, which are scaled after some calls: the
// bits of the reference, the channels that are scaled, and the calls that scale.
#include "kernels/conv_scaling.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/conv_planes_schedule.h"
#include "kernels/pack_cache.h"
#include "opmath/conv_geometry.h"
#include "ops/ops.h"
#include "tests/kernels/harness.h"

namespace scanloom::kernels::testing {
namespace {
namespace conv_scaling {

constexpr std::int64_t kChannels = 102, kFilters = 136;

/// Returns the element of a channel.
template <class T>
using ElementAt = std::function<T(std::int64_t channel, std::int64_t number)>;

template <class T>
struct Layer {
  std::string name;
  ElementAt<T> element, weight;
};

struct Geometry {
  Ints size = {2, 5}, kernel = {1, 1}, pads = {0, 0}, dilation = {1, 1};
  std::int64_t images = 1, groups = 1;
  bool bias = true;
};

/// A convolution: its operands filled.
template <class T>
class Convolution {
 public:
  Convolution(const Layer<T>& layer, const Geometry& g, Layout layout)
      : x(dtype_of<T>, {g.images, kChannels, g.size[0], g.size[1]}, layout),
        w(dtype_of<T>, {kFilters, kChannels / g.groups, g.kernel[0], g.kernel[1]}),
        bias(dtype_of<T>, {kFilters}),
        y(dtype_of<T>, result_of(g), layout),
        reference(dtype_of<T>, result_of(g)) {
    bias.fill_random(3);
    const std::int64_t positions = g.size[0] * g.size[1], taps = g.kernel[0] * g.kernel[1];
    const std::int64_t channels = kChannels / g.groups;
    for (std::int64_t i = 0; i < x.elements(); ++i)
      x.template at<T>(i) = layer.element(i / positions % kChannels, i);
    for (std::int64_t i = 0; i < w.elements(); ++i) {
      const std::int64_t group = i / (taps * channels) / (kFilters / g.groups);
      w.template at<T>(i) = layer.weight(group * channels + i / taps % channels, i);
    }
    use = {.id = KernelId::conv,
           .inputs = {&x, &w, g.bias ? &bias : nullptr},
           .outputs = {&y},
           .attrs = {Attr(), Attr(g.dilation), Attr(g.groups),
                     Attr(Ints{g.pads[0], g.pads[1], g.pads[0], g.pads[1]}), Attr()},
           .constant = {false, true, true},
           .calls = 5};
  }

  static Shape result_of(const Geometry& g) {
    Shape shape{g.images, kFilters};
    for (std::size_t axis = 0; axis < 2; ++axis)
      shape.push_back(g.size[axis] + 2 * g.pads[axis] - (g.kernel[axis] - 1) * g.dilation[axis]);
    return shape;
  }

  Buffer x, w, bias, y, reference;
  Use use;
};

template <class T>
void expect_bits(const Layer<T>& layer, const Geometry& geometry) {
  for (const Layout layout : {Layout::contiguous, Layout::channels_last})
    for (const Isa isa : available_isas()) {
      // SSE 4.2 keeps no channels last.
      if (layout == Layout::channels_last && !conv_block_fns<T>(isa).broadcasts) continue;
      Convolution<T> conv(layer, geometry, layout);
      const int threads = geometry.images == 1 ? 1 : 3;
      EXPECT_EQ(difference_from_reference<T>(ops::conv_op, conv.use, conv.reference, isa, threads),
                "")
          << layer.name << ", " << isa_name(isa) << ", channels "
          << (layout == Layout::channels_last ? "last" : "first");
    }
}

/// Numbers around 1 of both signs.
template <class T>
T usual(std::int64_t number) {
  return static_cast<T>(number * 37 % 101 - 50) / 31;
}

/// Denormals of both signs and zeros, from the least to almost the least normal number.
template <class T>
T denormal(std::int64_t number) {
  constexpr T kMin = std::numeric_limits<T>::denorm_min();
  constexpr T kNearNormal = std::numeric_limits<T>::min() / 3;
  if (number % 5 == 0) return number % 2 == 0 ? T{0} : -T{0};
  return (number % 2 == 0 ? 1 : -1) * (number % 7 == 0 ? kMin : kNearNormal) * (1 + number % 2);
}

/// Every third channel has what `some` returns.
template <class T>
ElementAt<T> in_some_channels(std::function<T(std::int64_t)> some) {
  return [=](std::int64_t channel, std::int64_t number) {
    return channel % 3 == 1 ? some(number) : usual<T>(number);
  };
}

template <class T>
std::vector<Layer<T>> layers() {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  constexpr T kMax = std::numeric_limits<T>::max();
  const ElementAt<T> plain = in_some_channels<T>(usual<T>);
  const ElementAt<T> off = in_some_channels<T>(denormal<T>);
  // In every channel.
  const auto mixed = [](std::int64_t number) {
    return number % 5 == 3 ? denormal<T>(number) : usual<T>(number);
  };
  const auto large = [=](std::int64_t number) { return number % 5 == 1 ? kMax : mixed(number); };
  const auto small = [](std::int64_t number) {
    return usual<T>(number) * std::numeric_limits<T>::min() * 1024;
  };
  const auto special = [=](std::int64_t number) {
    return number % 17 == 0   ? kInfinity
           : number % 19 == 0 ? std::numeric_limits<T>::quiet_NaN()
                              : usual<T>(number);
  };
  const ElementAt<T> only_denormals = [](std::int64_t, std::int64_t number) {
    return denormal<T>(number);
  };
  return {{"channels that are off", off, plain},
          {"weights that are off", plain, off},
          {"both", off, off},
          {"one and the other", off,
           [](std::int64_t channel, std::int64_t number) {
             return channel % 3 == 2 ? denormal<T>(number) : usual<T>(number);
           }},
          {"some elements", in_some_channels<T>(mixed), plain},
          {"some weights", plain, in_some_channels<T>(mixed)},
          {"some of both", in_some_channels<T>(mixed), in_some_channels<T>(mixed)},
          {"some elements, and large ones", in_some_channels<T>(large), plain},
          {"some weights, and large ones", plain, in_some_channels<T>(large)},
          {"small weights", off, in_some_channels<T>(small)},
          {"some elements, small weights", in_some_channels<T>(mixed), in_some_channels<T>(small)},
          {"small elements", in_some_channels<T>(small), off},
          {"weights that are not finite", off, in_some_channels<T>(special)},
          {"elements that are not finite", in_some_channels<T>(special), off},
          {"nothing but denormals", only_denormals, plain},
          {"denormal weights", plain, only_denormals}};
}

TEST(ConvScaling, KeepsTheBits) {
  for (const Layer<float>& layer : layers<float>()) {
    // A bias hides the sign of sums that are 0.
    expect_bits(layer, {.images = 2, .bias = false});
    expect_bits(layer, {.kernel = {3, 1}, .pads = {1, 0}});
    expect_bits(layer, {.size = {3, 2}, .kernel = {2, 2}, .pads = {1, 1}, .groups = 2});
    // Sections of the result whose windows leave out rows of the kernel.
    expect_bits(layer, {.size = {7, 4}, .kernel = {3, 1}, .pads = {3, 0}, .dilation = {3, 1}});
  }
  for (const Layer<double>& layer : layers<double>()) {
    expect_bits(layer, {.bias = false});
  }
}

/// A convolution of one position with its plan.
template <class T>
struct Planned {
  explicit Planned(const Layer<T>& layer) : conv(layer, {}, Layout::channels_last) {
    const tensor::Operand output = conv.y.operand();
    const std::vector<const void*> constants = {nullptr, inputs[1].template data<const void>(),
                                                nullptr};
    PrepareCtx ctx{inputs, std::span(&output, 1), constants, conv.use.attrs};
    ctx.packs = &packs;
    ctx.isa = active_isa();
    const auto geometry = tensor::conv_geometry(conv.x.dims(), conv.w.dims(), conv.use.attrs);
    EXPECT_FALSE(schedule_planes(plan, ctx, *geometry, PlanesUse::blocks));
  }

  Convolution<T> conv;
  std::vector<tensor::Operand> inputs = {conv.x.operand(), conv.w.operand(), tensor::Operand()};
  PackCache packs;
  PlanesSchedule<T> plan;
};

/// The channels that are scaled, and how.
using Scaled = std::vector<std::pair<std::int64_t, ChannelScale>>;

template <class T>
Scaled scaled_channels(const Layer<T>& layer) {
  Planned<T> planned(layer);
  ConvScaling<T> scaling;
  const auto weights = scaling.find(planned.plan, planned.inputs[0]);
  EXPECT_EQ(weights, scaling.find(planned.plan, planned.inputs[0])) << "weights are made once";
  Scaled scaled;
  if (weights != nullptr)
    for (const std::int64_t channel : weights->channels)
      scaled.emplace_back(channel, weights->scales[static_cast<std::size_t>(channel)]);
  return scaled;
}

TEST(ConvScaling, ScalesWhatMayBeScaled) {
  if (!conv_block_fns<float>(active_isa()).broadcasts)
    GTEST_SKIP() << "SSE 4.2 keeps no channels last";
  const auto every_third = [](ChannelScale scale) {
    Scaled channels;
    for (std::int64_t channel = 1; channel < kChannels; channel += 3)
      channels.emplace_back(channel, scale);
    return channels;
  };
  for (const Layer<float>& layer : layers<float>()) {
    const Scaled found = scaled_channels(layer);
    const auto expect = [&](const char* name, const Scaled& expected) {
      if (layer.name == name) {
        EXPECT_EQ(found, expected) << name;
      }
    };
    expect("channels that are off", every_third(ChannelScale::elements_grow));
    expect("weights that are off", every_third(ChannelScale::elements_shrink));
    expect("both", every_third(ChannelScale::elements_grow));
    expect("some elements", every_third(ChannelScale::elements_grow));
    expect("some weights", every_third(ChannelScale::elements_shrink));
    expect("some of both", {});
    expect("some elements, and large ones", {});
    expect("some weights, and large ones", {});
    expect("small weights", every_third(ChannelScale::elements_grow));
    expect("some elements, small weights", {});
    expect("small elements", every_third(ChannelScale::elements_shrink));
  }
}

// Weights are kept while their channels may be scaled, whichever of them have denormals.
TEST(ConvScaling, KeepsWeightsOfOtherChannels) {
  if (!conv_block_fns<float>(active_isa()).broadcasts)
    GTEST_SKIP() << "SSE 4.2 keeps no channels last";
  const ElementAt<float> plain = in_some_channels<float>(usual<float>);
  Planned<float> planned({"off", in_some_channels<float>(denormal<float>), plain});
  ConvScaling<float> scaling;
  const auto all = scaling.find(planned.plan, planned.inputs[0]);
  ASSERT_NE(all, nullptr);
  const std::int64_t positions = planned.conv.x.elements() / kChannels;
  for (std::int64_t i = 0; i < positions; ++i)
    planned.conv.x.at<float>(positions * all->channels[0] + i) = 0.5F;
  EXPECT_EQ(scaling.find(planned.plan, planned.inputs[0]), all);
  // More than can be multiplied by 2^64.
  planned.conv.x.at<float>(positions * all->channels[0]) = 0x1p65F;
  const auto others = scaling.find(planned.plan, planned.inputs[0]);
  ASSERT_NE(others, nullptr);
  EXPECT_EQ(others->channels.size() + 1, all->channels.size());
}

TEST(ConvScaling, CallsScaleOnlyWhileThatIsFaster) {
  using std::chrono::nanoseconds;
  ScalingTurns turns;
  const auto call = [&](std::int64_t plain, std::int64_t scaled, bool has_denormals) {
    const ScalingTurn turn = turns.begin();
    turns.end(turn, has_denormals, nanoseconds(turn == ScalingTurn::scales ? scaled : plain));
    return turn;
  };
  const auto calls = [&](int count, std::int64_t plain, std::int64_t scaled, bool has_denormals) {
    std::map<ScalingTurn, int> turn;
    for (int i = 0; i < count; ++i) ++turn[call(plain, scaled, has_denormals)];
    return turn;
  };
  EXPECT_EQ(calls(100, 10, 10, false)[ScalingTurn::watches], 100);
  EXPECT_EQ(calls(103, 100, 10, true)[ScalingTurn::scales], 100);
  // A single slow call changes nothing.
  EXPECT_EQ(call(100, 200, true), ScalingTurn::scales);
  EXPECT_EQ(calls(100, 100, 10, true)[ScalingTurn::scales], 100);
  // Nothing to scale any more.
  EXPECT_EQ(call(100, 10, false), ScalingTurn::scales);
  EXPECT_EQ(call(100, 10, true), ScalingTurn::plain);
  // What never pays is tried less and less.
  EXPECT_LT(calls(100'000, 100, 200, true)[ScalingTurn::scales], 200);
}

}  // namespace conv_scaling
}  // namespace
}  // namespace scanloom::kernels::testing
