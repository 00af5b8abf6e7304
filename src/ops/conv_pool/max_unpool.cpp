// The last of several elements with the same index wins, in row-major order.
#include "opmath/conv_geometry.h"
#include "ops/indices.h"
#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/strided_copy.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace max_unpool {

using tensor::Dim;
using tensor::Operand;
using tensor::Shape;
using tensor::Type;

constexpr int kOutputShape = 2;
constexpr int kKernel = 0;
constexpr int kPads = 1;
constexpr int kStrides = 2;

Expected<std::vector<std::int64_t>> read_list(const ir::InferCtx& ctx, int attr,
                                              std::string_view name, std::size_t count,
                                              std::int64_t least) {
  std::vector<std::int64_t> numbers(count);
  SCANLOOM_CHECK_OK(tensor::read_window_numbers(ctx.attr(attr), name, least, numbers));
  return numbers;
}

/// Returns (in - 1) * stride + kernel - pads for every spatial axis.
Expected<std::vector<Dim>> unpooled_sizes(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  const std::size_t spatial = x.dims.size() - 2;
  SCANLOOM_TRY(const auto kernel, read_list(ctx, kKernel, "kernel", spatial, 1));
  SCANLOOM_TRY(const auto strides, read_list(ctx, kStrides, "strides", spatial, 1));
  SCANLOOM_TRY(const auto pads, read_list(ctx, kPads, "pads", 2 * spatial, 0));
  tensor::DimTable& dims = ctx.dims();
  std::vector<Dim> sizes = {x.dims[0], x.dims[1]};
  for (std::size_t i = 0; i < spatial; ++i) {
    const Dim steps = dims.mul(dims.sub(x.dims[i + 2], 1), strides[i]);
    const Dim size = dims.add(steps, kernel[i] - pads[i] - pads[spatial + i]);
    if (size.is_constant() && size.value() < 0)
      return invalid_model("spatial axis {} of the result has size {}", i, size.value());
    sizes.push_back(size);
  }
  return sizes;
}

Expected<void> check_operands(ir::InferCtx& ctx) {
  const Type &x = ctx.in(0), &indices = ctx.in(1);
  if (x.rank() < 3) return invalid_model("x has {} axes, three at least are needed", x.rank());
  if (!indices.ranked) return {};
  if (indices.rank() != x.rank())
    return invalid_model("x has {} axes, but indices has {}", x.rank(), indices.rank());
  for (std::size_t axis = 0; axis < x.dims.size(); ++axis)
    SCANLOOM_CHECK_OK(same_size(ctx, x.dims[axis], indices.dims[axis],
                                fmt::format("axis {} of x and indices", axis)));
  return {};
}

// Indices number the elements of a tensor of unpooled_sizes; with output_shape y may be larger.
Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  if (!x.ranked) {
    ctx.set(0, Type::unranked(x.dtype));
    return {};
  }
  SCANLOOM_CHECK_OK(check_operands(ctx));
  SCANLOOM_TRY(auto sizes, unpooled_sizes(ctx));
  if (!ctx.has(kOutputShape)) return set_sizes(ctx, 0, x.dtype, std::move(sizes));
  const auto wanted = ctx.integers(kOutputShape);
  if (!wanted) {
    ctx.set(0, ctx.fresh(x.dtype, x.rank()));
    return {};
  }
  if (wanted->size() != sizes.size())
    return invalid_model("output_shape has {} numbers, but x has {} axes", wanted->size(),
                         x.rank());
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    if ((*wanted)[axis].is_constant() && sizes[axis].is_constant() &&
        (*wanted)[axis].value() < sizes[axis].value())
      return invalid_model("output_shape has {} on axis {}, but at least {} are needed",
                           (*wanted)[axis].value(), axis, sizes[axis].value());
  return set_sizes(ctx, 0, x.dtype, *wanted);
}

/// Returns the sizes that indices refer to. Precondition: inference has checked the attributes.
Shape numbered_sizes(const tensor::Call& call) {
  Shape sizes = call.in(0).shape();
  const auto& kernel = call.attrs[kKernel].integers();
  const auto number = [&](int attr, std::size_t i, std::int64_t absent) {
    return call.attrs[attr].present() ? call.attrs[attr].integers()[i] : absent;
  };
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    std::int64_t& size = sizes[static_cast<int>(i) + 2];
    size = (size - 1) * number(kStrides, i, 1) + kernel[i] - number(kPads, i, 0) -
           number(kPads, kernel.size() + i, 0);
  }
  return sizes;
}

template <class T>
tensor::Status unpool(const tensor::Call& call) {
  const Operand &x = call.in(0), &indices = call.in(1), &y = call.out(0);
  const T zero{};
  tensor::fill(y, reinterpret_cast<const std::byte*>(&zero));
  const Shape sizes = numbered_sizes(call);
  const std::int64_t count = sizes.elements();
  // Then the number of an element is its offset.
  const bool is_same = sizes == y.shape() && y.contiguous;
  std::int64_t bad = 0;
  bool fits = true;
  tensor::for_each_element<2>({x.dims, static_cast<std::size_t>(x.rank)},
                              {x.strides, indices.strides}, [&](const auto& at) {
                                std::int64_t index = index_at(indices, at[1]);
                                if (index < 0 || index >= count) {
                                  bad = index;
                                  fits = false;
                                  return;
                                }
                                std::int64_t to = is_same ? index : 0;
                                for (int axis = is_same ? -1 : sizes.rank() - 1; axis >= 0;
                                     --axis) {
                                  to += index % sizes[axis] * y.strides[axis];
                                  index /= sizes[axis];
                                }
                                y.data<T>()[to] = x.data<const T>()[at[0]];
                              });
  if (!fits) return call.fail("index {} is outside a result of {} elements", bad, count);
  return tensor::Status::ok;
}

tensor::Status reference(const tensor::Call& call) noexcept {
  return tensor::visit_bytes(call.out(0).dtype,
                             [&]<class T>(std::type_identity<T>) { return unpool<T>(call); });
}

}  // namespace max_unpool
}  // namespace

constinit const ir::OpDef max_unpool_op{
    .name = "max_unpool",
    .doc =
        "The elements of x at the places that indices number, zeros elsewhere: what max_pool with "
        "the same attributes took them from. output_shape may ask for a larger result, which is "
        "filled up at the ends.",
    .inputs = {{"x", ir::Accept::real},
               {"indices", ir::Accept::index},
               {"output_shape", ir::Accept::index, ir::Arity::optional}},
    .outputs = {"y"},
    .attrs = {{"kernel", tensor::AttrKind::integers},
              {"pads", tensor::AttrKind::integers, true},
              {"strides", tensor::AttrKind::integers, true}},
    .effects = ir::Effects::may_fail,
    .infer = max_unpool::infer,
    .reference = max_unpool::reference,
};

}  // namespace scanloom::ops
