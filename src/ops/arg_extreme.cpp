#include "ops/arg_extreme.h"

#include "ops/element_order.h"
#include "ops/indices.h"
#include "ops/lines.h"
#include "ops/sizes.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::Type;

constexpr int kAxis = 0;
constexpr int kKeepdims = 1;
constexpr int kSelectLast = 2;

template <class T>
void search(const Call& call, bool greatest) {
  const Operand &x = call.in(0), &y = call.out(0);
  const int axis = checked_axis(call.attrs[kAxis], x.rank);
  const bool last = call.attrs[kSelectLast].integer() != 0;
  const std::int64_t step = x.strides[axis];
  for_each_line<2>(x.shape(), axis, {strides_of(x), strides_without(y, axis, x.rank)},
                   [&](const auto& at) {
                     const T* line = x.data<const T>() + at[0];
                     std::int64_t best = 0;
                     for (std::int64_t i = 1; i < x.dims[axis]; ++i) {
                       const int order = compare(line[i * step], line[best * step]);
                       const bool better = greatest ? order > 0 : order < 0;
                       if (better || (order == 0 && last)) best = i;
                     }
                     y.data<std::int64_t>()[at[1]] = best;
                   });
}

tensor::Status run(const Call& call, bool greatest) noexcept {
  tensor::visit_dtype(call.in(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) search<T>(call, greatest);
  });
  return tensor::Status::ok;
}

}  // namespace

Expected<void> infer_arg_extreme(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  if (!x.ranked) {
    ctx.set(0, Type::unranked(DType::i64));
    return {};
  }
  SCANLOOM_TRY(const int axis, ctx.axis(ctx.attr(kAxis).integer(), x.rank()));
  std::vector<tensor::Dim> sizes = x.dims;
  const auto at = sizes.begin() + axis;
  if (*at == tensor::Dim(0)) return invalid_model("axis {} has size 0, so nothing to find", axis);
  if (ctx.attr(kKeepdims).integer() != 0)
    *at = 1;
  else
    sizes.erase(at);
  return set_sizes(ctx, 0, DType::i64, std::move(sizes));
}

tensor::Status arg_greatest(const Call& call) noexcept { return run(call, true); }
tensor::Status arg_least(const Call& call) noexcept { return run(call, false); }

}  // namespace scanloom::ops
