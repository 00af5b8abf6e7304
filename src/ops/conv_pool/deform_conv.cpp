// The order of the sum: the bias, then kernel positions in row-major order, then channels. Each
// product is multiplied and added with two roundings on all machines. x is interpolated linearly
// along every axis, and is 0 outside.
#include <cmath>

#include "ops/conv_pool/conv_sizes.h"
#include "ops/conv_pool/conv_windows.h"
#include "ops/conv_pool/window_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"

namespace scanloom::ops {
namespace {
namespace deform_conv {

using tensor::ConvGeometry;
using tensor::Dim;
using tensor::Operand;
using tensor::Shape;
using tensor::Type;

constexpr int kOffset = 2;
constexpr int kBias = 3;
constexpr int kMask = 4;
constexpr int kOffsetGroup = 5;

constexpr decltype(ir::OpDef::attrs) kAttrs = {
    {"auto_pad", tensor::AttrKind::text, true},    {"dilations", tensor::AttrKind::integers, true},
    {"group", tensor::AttrKind::integer, true},    {"pads", tensor::AttrKind::integers, true},
    {"strides", tensor::AttrKind::integers, true}, {"offset_group", tensor::AttrKind::integer}};

/// Checks that operand i has the batch of x, `channels` channels, and the result's spatial sizes.
Expected<void> check_per_tap(ir::InferCtx& ctx, int i, std::string_view name, Dim channels,
                             std::span<const Dim> result) {
  if (!ctx.has(i) || !ctx.in(i).ranked) return {};
  const Type& type = ctx.in(i);
  if (type.dims.size() != result.size())
    return invalid_model("{} has {} axes, not {}", name, type.rank(), result.size());
  for (std::size_t axis = 0; axis < result.size(); ++axis) {
    const Dim wanted = axis == 1 ? channels : result[axis];
    if (type.dims[axis].is_constant() && wanted.is_constant() && type.dims[axis] != wanted)
      return invalid_model("{} has size {} on axis {}, not {}", name, type.dims[axis].value(), axis,
                           wanted.value());
  }
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type &x = ctx.in(0), &w = ctx.in(1);
  if (x.dtype != DType::f32 && x.dtype != DType::f64)
    return fail(Code::unsupported, "x has elements of type {}, not f32 or f64",
                dtype_name(x.dtype));
  const std::int64_t groups = ctx.attr(kOffsetGroup).integer();
  if (groups < 1 || groups >= std::int64_t{1} << 31)
    return invalid_model("offset_group is {}, outside [1, 2^31)", groups);
  if (!x.ranked || !w.ranked) {
    const int rank = x.ranked ? x.rank() : w.rank();
    ctx.set(0, x.ranked || w.ranked ? ctx.fresh(x.dtype, rank) : Type::unranked(x.dtype));
    return {};
  }
  SCANLOOM_TRY(std::vector<Dim> sizes, conv_sizes(ctx, x, w));
  SCANLOOM_CHECK_OK(check_per_filter(ctx, kBias, w));
  if (x.dims[1].is_constant() && x.dims[1].value() % groups != 0)
    return invalid_model("{} channels cannot be divided into {} offset groups", x.dims[1].value(),
                         groups);
  Dim taps = groups;
  for (std::size_t axis = 2; axis < w.dims.size(); ++axis)
    taps = ctx.dims().mul(taps, w.dims[axis]);
  const Dim offsets = ctx.dims().mul(taps, x.rank() - 2);
  SCANLOOM_CHECK_OK(check_per_tap(ctx, kOffset, "offset", offsets, sizes));
  SCANLOOM_CHECK_OK(check_per_tap(ctx, kMask, "mask", taps, sizes));
  return set_sizes(ctx, 0, x.dtype, std::move(sizes));
}

/// The position of a sample: along each axis the lower element and the weight of the upper one.
template <class T>
struct Sample {
  std::array<std::int64_t, tensor::kMaxSpatial> low{};
  std::array<T, tensor::kMaxSpatial> weight{};
  bool outside = false;
};

template <class T>
T value_at(const ConvGeometry& geometry, const Sample<T>& sample, const T* plane,
           const std::int64_t* strides) {
  if (sample.outside) return 0;
  T sum = 0;
  for (std::int64_t corner = 0; corner < std::int64_t{1} << geometry.spatial; ++corner) {
    T weight = 1;
    std::int64_t at = 0;
    bool inside = true;
    for (int i = 0; i < geometry.spatial; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      // The last axis changes fastest.
      const std::int64_t upper = corner >> (geometry.spatial - 1 - i) & 1;
      const std::int64_t coordinate = sample.low[axis] + upper;
      inside &= coordinate >= 0 && coordinate < geometry.in[axis];
      weight *= upper != 0 ? sample.weight[axis] : 1 - sample.weight[axis];
      at += coordinate * strides[i];
    }
    if (inside) sum += weight * plane[at];
  }
  return sum;
}

template <class T>
class Convolution {
 public:
  Convolution(const tensor::Call& call, const ConvGeometry& geometry)
      : call_(call),
        geometry_(geometry),
        kernel_(spatial_shape(geometry, geometry.kernel)),
        offset_groups_(call.attrs[kOffsetGroup].integer()) {}

  void run() const {
    const Operand& y = call_.out(0);
    if (y.empty()) return;
    const bool has_taps = !call_.in(1).empty();
    const Shape out = spatial_shape(geometry_, geometry_.out);
    for (std::int64_t image = 0; image < geometry_.batch; ++image)
      tensor::for_each_index(out.dims(), [&](const Shape& position) {
        const std::int64_t at = image * y.strides[0] + tensor::offset_of(position, y.strides + 2);
        start(at);
        if (!has_taps) return;
        std::int64_t number = 0;
        tensor::for_each_index(kernel_.dims(), [&](const Shape& tap) {
          for (std::int64_t group = 0; group < offset_groups_; ++group)
            add_tap(image, position, tap, number, group, at);
          ++number;
        });
      });
  }

 private:
  [[nodiscard]] const T* data(int input) const { return call_.in(input).template data<const T>(); }

  void start(std::int64_t at) const {
    const Operand& y = call_.out(0);
    for (std::int64_t m = 0; m < geometry_.group * geometry_.filters; ++m)
      y.data<T>()[at + m * y.strides[1]] =
          call_.has(kBias) ? data(kBias)[m * call_.in(kBias).strides[0]] : T{0};
  }

  [[nodiscard]] Sample<T> sample_of(std::int64_t image, const Shape& position, const Shape& tap,
                                    std::int64_t tap_of_groups) const {
    const Operand& offset = call_.in(kOffset);
    const T* const from =
        data(kOffset) + image * offset.strides[0] + tensor::offset_of(position, offset.strides + 2);
    Sample<T> sample;
    for (int i = 0; i < geometry_.spatial; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      const std::int64_t whole = position[i] * geometry_.stride[axis] - geometry_.pad[axis] +
                                 tap[i] * geometry_.dilation[axis];
      const std::int64_t channel = tap_of_groups * geometry_.spatial + i;
      const T coordinate = static_cast<T>(whole) + from[channel * offset.strides[1]];
      if (!(coordinate > T{-1}) || !(coordinate < static_cast<T>(geometry_.in[axis]))) {
        sample.outside = true;
        return sample;
      }
      const T low = std::floor(coordinate);
      sample.low[axis] = static_cast<std::int64_t>(low);
      sample.weight[axis] = coordinate - low;
    }
    return sample;
  }

  void add_tap(std::int64_t image, const Shape& position, const Shape& tap, std::int64_t number,
               std::int64_t offset_group, std::int64_t at) const {
    const Operand &x = call_.in(0), &w = call_.in(1), &y = call_.out(0);
    const std::int64_t tap_of_groups = offset_group * kernel_.elements() + number;
    const Sample<T> sample = sample_of(image, position, tap, tap_of_groups);
    T mask = 1;
    if (call_.has(kMask)) {
      const Operand& masks = call_.in(kMask);
      mask = data(kMask)[image * masks.strides[0] + tap_of_groups * masks.strides[1] +
                         tensor::offset_of(position, masks.strides + 2)];
    }
    const std::int64_t channels = x.dims[1] / offset_groups_;
    const std::int64_t w_tap = tensor::offset_of(tap, w.strides + 2);
    for (std::int64_t c = offset_group * channels; c < (offset_group + 1) * channels; ++c) {
      const T value = value_at(geometry_, sample, data(0) + image * x.strides[0] + c * x.strides[1],
                               x.strides + 2) *
                      mask;
      const std::int64_t first = c / geometry_.channels * geometry_.filters;
      for (std::int64_t m = first; m < first + geometry_.filters; ++m)
        y.data<T>()[at + m * y.strides[1]] +=
            value * data(1)[w_tap + m * w.strides[0] + c % geometry_.channels * w.strides[1]];
    }
  }

  const tensor::Call& call_;
  const ConvGeometry& geometry_;
  Shape kernel_;
  std::int64_t offset_groups_;
};

tensor::Status reference(const tensor::Call& call) noexcept {
  const auto geometry = tensor::conv_geometry(call.in(0).shape(), call.in(1).shape(),
                                              {call.attrs, deform_conv_op.attrs.size()});
  if (!geometry) return call.fail("the operands do not fit the attributes");
  if (call.out(0).dtype == DType::f64)
    Convolution<double>(call, *geometry).run();
  else
    Convolution<float>(call, *geometry).run();
  return tensor::Status::ok;
}

Expected<int> steps(const ir::StepSite& s) {
  constexpr std::size_t kOffset = 2, kMask = 4;
  if (!s.along(0)) return across("an operand other than the first has them");
  for (std::size_t i = 1; i < s.node.inputs.size(); ++i) {
    if (!s.has(i)) continue;
    const bool by_batch = i == kOffset || i == kMask;
    if (s.along(i) != by_batch || (by_batch && s.axis(i) != 0))
      return across("its operands have the steps on other axes");
  }
  return steps_of_windows(s);
}

}  // namespace deform_conv
}  // namespace

constinit const ir::OpDef deform_conv_op{
    .name = "deform_conv",
    .doc =
        "conv whose kernel positions are moved: offset [batch, offset_group * positions * axes, "
        "...] holds by how much along each axis, for every position of the result; mask [batch, "
        "offset_group * positions, ...] multiplies what they see. The channels of x are divided "
        "into `offset_group` groups.",
    .inputs = {{"x", ir::Accept::real},
               {.name = "w", .accept = ir::Accept::real, .same_as = 0},
               {.name = "offset", .accept = ir::Accept::real, .same_as = 0},
               {"b", ir::Accept::real, ir::Arity::optional, 0},
               {"mask", ir::Accept::real, ir::Arity::optional, 0}},
    .outputs = {"y"},
    .attrs = deform_conv::kAttrs,
    .infer = deform_conv::infer,
    .reference = deform_conv::reference,
    .steps = {.axis = deform_conv::steps, .any_operand = true},
};

}  // namespace scanloom::ops
