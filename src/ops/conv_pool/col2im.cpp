// Blocks are added in row-major order of their elements; integers wrap.
#include <algorithm>
#include <optional>

#include "ops/conv_pool/overlap_add.h"
#include "ops/conv_pool/window_rules.h"
#include "ops/indices.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace col2im {

using tensor::Attr;
using tensor::Dim;
using tensor::kMaxParameter;
using tensor::Operand;
using tensor::Type;

constexpr int kImage = 1;
constexpr int kBlock = 2;
constexpr int kDilations = 0;
constexpr int kPads = 1;
constexpr int kStrides = 2;

/// Returns entry i of an optional attribute.
std::int64_t number(const Attr& attr, std::size_t i, std::int64_t absent) {
  return attr.present() ? attr.integers()[i] : absent;
}

Expected<void> check_numbers(const Attr& attr, std::string_view name, std::size_t count,
                             std::int64_t least) {
  std::vector<std::int64_t> numbers(count);
  return tensor::read_window_numbers(attr, name, least, numbers);
}

Expected<void> check_attrs(const ir::InferCtx& ctx, std::size_t spatial) {
  if (spatial < 1 || spatial > static_cast<std::size_t>(tensor::kMaxSpatial))
    return invalid_model("image_shape has {} numbers, outside [1, {}]", spatial,
                         tensor::kMaxSpatial);
  SCANLOOM_CHECK_OK(check_numbers(ctx.attr(kDilations), "dilations", spatial, 1));
  SCANLOOM_CHECK_OK(check_numbers(ctx.attr(kPads), "pads", 2 * spatial, 0));
  return check_numbers(ctx.attr(kStrides), "strides", spatial, 1);
}

bool is_size(std::int64_t size) { return size >= 1 && size < kMaxParameter; }

/// Along axis i: the elements of the padded image, and the elements that a block spans.
struct Reach {
  std::int64_t covered = 0, extent = 0;

  static Reach of(std::span<const Attr> attrs, std::span<const std::int64_t> image,
                  std::span<const std::int64_t> block, std::size_t i) {
    const std::int64_t pads =
        number(attrs[kPads], i, 0) + number(attrs[kPads], image.size() + i, 0);
    return {image[i] + pads, (block[i] - 1) * number(attrs[kDilations], i, 1) + 1};
  }
};

/// Returns how many blocks there are along each axis; nullopt if a block does not fit. Used by the
/// kernel too, so it has no message, which would allocate memory.
std::optional<OverlapGeometry> geometry_of(std::span<const Attr> attrs,
                                           std::span<const std::int64_t> image,
                                           std::span<const std::int64_t> block) {
  OverlapGeometry geometry;
  geometry.spatial = static_cast<int>(image.size());
  for (std::size_t i = 0; i < image.size(); ++i) {
    if (!is_size(image[i]) || !is_size(block[i])) return std::nullopt;
    const Reach reach = Reach::of(attrs, image, block, i);
    if (reach.covered < reach.extent) return std::nullopt;
    const std::int64_t stride = number(attrs[kStrides], i, 1);
    geometry.axes[i] = {(reach.covered - reach.extent) / stride + 1,
                        image[i],
                        block[i],
                        stride,
                        number(attrs[kDilations], i, 1),
                        number(attrs[kPads], i, 0)};
  }
  return geometry;
}

/// Returns the error for which geometry_of returned nullopt.
Error why_none(std::span<const Attr> attrs, std::span<const std::int64_t> image,
               std::span<const std::int64_t> block) {
  for (std::size_t i = 0; i < image.size(); ++i) {
    if (!is_size(image[i]) || !is_size(block[i]))
      return invalid_model("image and block have sizes {} and {} on axis {}, outside [1, 2^31)",
                           image[i], block[i], i);
    const Reach reach = Reach::of(attrs, image, block, i);
    if (reach.covered < reach.extent)
      return invalid_model("a block over {} elements does not fit into the {} of axis {}",
                           reach.extent, reach.covered, i);
  }
  return fail(Code::internal, "all blocks fit");
}

Expected<void> check_blocks(ir::InferCtx& ctx, std::span<const std::int64_t> image,
                            std::span<const std::int64_t> block) {
  const auto geometry = geometry_of(ctx.attrs(), image, block);
  if (!geometry) return why_none(ctx.attrs(), image, block);
  std::int64_t blocks = 1, taps = 1;
  for (std::size_t i = 0; i < image.size(); ++i) {
    blocks *= std::min(geometry->axes[i].in, kMaxParameter);
    taps *= block[i];
    if (blocks > kMaxParameter || taps > kMaxParameter)
      return invalid_model("there are more than {} blocks, or elements of a block", kMaxParameter);
  }
  const Type& x = ctx.in(0);
  if (x.dims[2].is_constant() && x.dims[2].value() != blocks)
    return invalid_model("x has {} blocks, but the image takes {}", x.dims[2].value(), blocks);
  if (x.dims[1].is_constant() && x.dims[1].value() % taps != 0)
    return invalid_model(
        "x has size {} on axis 1, which is not a multiple of the {} elements of a block",
        x.dims[1].value(), taps);
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  if (x.ranked && x.rank() != 3) return invalid_model("x has {} axes, not 3", x.rank());
  SCANLOOM_CHECK_OK(check_list(ctx, kImage, "image_shape"));
  SCANLOOM_CHECK_OK(check_list(ctx, kBlock, "block_shape"));
  const auto image = ctx.integers(kImage);
  const auto block = ctx.integers(kBlock);
  if (!image || !block || !x.ranked) {
    const std::int64_t count = element_count(ctx, kImage);
    const bool ranked = count >= 0 && count <= tensor::kMaxSpatial;
    ctx.set(0, ranked ? ctx.fresh(x.dtype, static_cast<int>(count) + 2) : Type::unranked(x.dtype));
    return {};
  }
  if (image->size() != block->size())
    return invalid_model("image_shape has {} numbers, but block_shape has {}", image->size(),
                         block->size());
  SCANLOOM_CHECK_OK(check_attrs(ctx, image->size()));
  const auto image_numbers = ctx.numbers(kImage), block_numbers = ctx.numbers(kBlock);
  if (image_numbers && block_numbers)
    SCANLOOM_CHECK_OK(check_blocks(ctx, *image_numbers, *block_numbers));
  Dim channels = ctx.dims().fresh();
  if (block_numbers) channels = ctx.dims().floor_div(x.dims[1], product(ctx, *block));
  std::vector<Dim> sizes = {x.dims[0], channels};
  sizes.insert(sizes.end(), image->begin(), image->end());
  return set_sizes(ctx, 0, x.dtype, std::move(sizes));
}

template <class T>
void add_to(T& there, T value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    there = static_cast<T>(static_cast<std::uint64_t>(there) + static_cast<std::uint64_t>(value));
  else
    there = tensor::narrow<T>(tensor::widen(there) + tensor::widen(value));
}

template <class T>
void add_blocks(const tensor::Call& call, const OverlapGeometry& geometry) {
  const Operand &x = call.in(0), &y = call.out(0);
  tensor::for_each_element<1>({y.dims, static_cast<std::size_t>(y.rank)}, {y.strides},
                              [&](const auto& at) { y.data<T>()[at[0]] = T{}; });
  if (x.empty()) return;
  // The blocks of x, row-major along its last axis.
  std::array<std::int64_t, tensor::kMaxSpatial> steps{};
  std::int64_t step = x.strides[2], taps = 1;
  for (int i = geometry.spatial - 1; i >= 0; --i) {
    const auto axis = static_cast<std::size_t>(i);
    steps[axis] = step;
    step *= geometry.axes[axis].in;
    taps *= geometry.axes[axis].kernel;
  }
  for_each_overlap(geometry, steps.data(), y.strides + 2, [&](OverlapTap& tap) {
    for (std::int64_t image = 0; image < y.dims[0]; ++image)
      for (std::int64_t channel = 0; channel < y.dims[1]; ++channel) {
        const T* const from = x.data<const T>() + tap.x_offset + image * x.strides[0] +
                              (channel * taps + tap.number) * x.strides[1];
        T* const to = y.data<T>() + tap.y_offset + image * y.strides[0] + channel * y.strides[1];
        for (tap.rows.start(); !tap.rows.done(); tap.rows.next())
          for (std::int64_t i = 0; i < tap.rows.length(); ++i)
            add_to(to[tap.rows.offset(1) + i * tap.rows.step(1)],
                   from[tap.rows.offset(0) + i * tap.rows.step(0)]);
      }
  });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand& y = call.out(0);
  tensor::Shape block;
  for (int i = 0; i + 2 < y.rank; ++i) block.push_back(listed_index(call.in(kBlock), i));
  const std::span image(y.dims + 2, static_cast<std::size_t>(y.rank - 2));
  const auto geometry = geometry_of({call.attrs, col2im_op.attrs.size()}, image, block.dims());
  if (!geometry) return call.fail("the operands do not fit the attributes");
  tensor::visit_dtype(y.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) add_blocks<T>(call, *geometry);
  });
  return tensor::Status::ok;
}

}  // namespace col2im
}  // namespace

constinit const ir::OpDef col2im_op{
    .name = "col2im",
    .doc =
        "Blocks put together to an image, added where they overlap: x [batch, channels * elements "
        "of a block, blocks], both row-major. The blocks are the windows of a convolution over "
        "image_shape with a kernel of block_shape.",
    .inputs = {{"x", ir::Accept::numeric},
               {"image_shape", ir::Accept::index},
               {"block_shape", ir::Accept::index}},
    .outputs = {"y"},
    .attrs = {{"dilations", tensor::AttrKind::integers, true},
              {"pads", tensor::AttrKind::integers, true},
              {"strides", tensor::AttrKind::integers, true}},
    .infer = col2im::infer,
    .reference = col2im::reference,
    .steps = {.axis = steps_of_windows},
};

}  // namespace scanloom::ops
