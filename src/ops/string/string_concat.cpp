#include "base/checked.h"
#include "ops/ops.h"
#include "ops/string/text.h"
#include "tensor/for_each.h"

namespace scanloom::ops {
namespace {
namespace string_concat {

using tensor::Shape;
using tensor::Tensor;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_TRY(tensor::Type type, ctx.broadcast(ctx.in(0), ctx.in(1), DType::string));
  ctx.set(0, std::move(type));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  SCANLOOM_TRY(const Shape shape, broadcast_shape(a.shape(), b.shape()));
  const auto strides = [&](const Tensor& x) {
    return tensor::broadcast_strides(x.shape().dims(), contiguous_strides(x.shape()).dims(),
                                     shape.dims());
  };
  const Shape of_a = strides(a), of_b = strides(b);
  const auto for_each_pair = [&](const auto& take) {
    tensor::for_each_element<2>(shape.dims(), {of_a.data(), of_b.data()},
                                [&](const std::array<std::int64_t, 2>& at) {
                                  take(a.as<StringRef>()[static_cast<std::size_t>(at[0])].view(),
                                       b.as<StringRef>()[static_cast<std::size_t>(at[1])].view());
                                });
  };
  std::int64_t bytes = 0;
  for_each_pair([&](std::string_view first, std::string_view second) {
    const auto size = static_cast<std::int64_t>(first.size() + second.size());
    bytes = saturating_sum(bytes, size);
  });
  TextMaker made(call);
  SCANLOOM_CHECK_OK(made.reserve(shape.elements(), bytes));
  Expected<void> done;
  for_each_pair([&](std::string_view first, std::string_view second) {
    if (done) done = made.add({first, second});
  });
  SCANLOOM_CHECK_OK(std::move(done));
  return made.give(0, shape);
}

}  // namespace string_concat
}  // namespace

constinit const ir::OpDef string_concat_op{
    .name = "string_concat",
    .doc = "The string of a followed by that of b.",
    .inputs = {{"a", ir::Accept::text}, {"b", ir::Accept::text}},
    .outputs = {"y"},
    .infer = string_concat::infer,
    .run_objects = string_concat::run_objects,
};

}  // namespace scanloom::ops
