#include "ops/reduce/arg_min_max.h"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "ops/index/element_order.h"
#include "ops/indices.h"
#include "ops/lift_rules.h"
#include "ops/lines.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/paced_poll.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {

using tensor::Call;
using tensor::Operand;
using tensor::Type;

constexpr int kSearchAxis = 0;
constexpr int kSearchKeepdims = 1;
constexpr int kSelectLast = 2;

/// Returns the best element of a contiguous line without NaN, block by block; within a block
/// several are compared in parallel. -1: there is a NaN.
template <bool kGreatest, class T>
std::int64_t best_in(const T* line, std::int64_t size, bool last) {
  constexpr std::int64_t kLanes = 16, kBlock = 1024;
  const auto better = [](T a, T b) { return kGreatest ? a > b : a < b; };
  T best = line[0];
  std::int64_t block = 0;
  for (std::int64_t begin = 0; begin < size; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, size);
    T lanes[kLanes];
    std::fill_n(lanes, kLanes, line[begin]);
    std::int32_t undefined[kLanes] = {};
    std::int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes)
      for (std::int64_t j = 0; j < kLanes; ++j) {
        const T value = line[i + j];
        lanes[j] = better(value, lanes[j]) ? value : lanes[j];
        undefined[j] |= static_cast<std::int32_t>(value != value);
      }
    for (; i < end; ++i) {
      lanes[0] = better(line[i], lanes[0]) ? line[i] : lanes[0];
      undefined[0] |= static_cast<std::int32_t>(line[i] != line[i]);
    }
    T most = lanes[0];
    for (std::int64_t j = 0; j < kLanes; ++j) {
      if (better(lanes[j], most)) most = lanes[j];
      if (undefined[j] != 0) return -1;
    }
    if (!better(most, best) && !(last && most == best)) continue;
    best = most;
    block = begin;
  }
  const T* const first = line + block;
  const T* const end = line + std::min(block + kBlock, size);
  if (!last) return std::find(first, end, best) - line;
  return std::find(std::reverse_iterator(end), std::reverse_iterator(first), best).base() - line -
         1;
}

/// The same for any type; -1: the line must be searched one by one.
template <class T>
std::int64_t quick_best(const T* line, std::int64_t size, bool greatest, bool last) {
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
    return greatest ? best_in<true>(line, size, last) : best_in<false>(line, size, last);
  else
    return -1;
}

template <class T>
void search(const Call& call, bool greatest) {
  const Operand &x = call.in(0), &y = call.out(0);
  const int axis = checked_axis(call.attrs[kSearchAxis], x.rank);
  const bool last = call.attrs[kSelectLast].integer() != 0;
  const std::int64_t step = x.strides[axis];
  tensor::PacedPoll poll(call);
  for_each_line<2>(
      x.shape(), axis, {strides_of(x), strides_without(y, axis, x.rank)}, [&](const auto& at) {
        if (poll.stops(x.dims[axis])) return;
        const T* line = x.data<const T>() + at[0];
        std::int64_t best =
            step == 1 ? quick_best(line, x.dims[axis], greatest, last) : std::int64_t{-1};
        if (best >= 0) {
          y.data<std::int64_t>()[at[1]] = best;
          return;
        }
        best = 0;
        for (std::int64_t i = 1; i < x.dims[axis]; ++i) {
          const int order = compare(line[i * step], line[best * step]);
          const bool better = greatest ? order > 0 : order < 0;
          if (better || (order == 0 && last)) best = i;
        }
        y.data<std::int64_t>()[at[1]] = best;
      });
}

tensor::Status search(const Call& call, bool greatest) noexcept {
  tensor::visit_dtype(call.in(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) search<T>(call, greatest);
  });
  return call.ok_or_stopped();
}

}  // namespace

Expected<void> infer_arg_min_max(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  if (!x.ranked) {
    ctx.set(0, Type::unranked(DType::i64));
    return {};
  }
  SCANLOOM_TRY(const int axis, ctx.axis(ctx.attr(kSearchAxis).integer(), x.rank()));
  std::vector<tensor::Dim> sizes = x.dims;
  const auto at = sizes.begin() + axis;
  if (*at == tensor::Dim(0)) return invalid_model("axis {} has size 0, so nothing to find", axis);
  if (ctx.attr(kSearchKeepdims).integer() != 0)
    *at = 1;
  else
    sizes.erase(at);
  return set_sizes(ctx, 0, DType::i64, std::move(sizes));
}

tensor::Status arg_greatest(const Call& call) noexcept { return search(call, true); }
tensor::Status arg_least(const Call& call) noexcept { return search(call, false); }

Expected<int> steps_of_arg_min_max(const ir::StepSite& s) {
  SCANLOOM_TRY(const int axis, steps_along_axis(s));
  if (attr_of(s.node, "keepdims").integer() != 0) return axis;
  return *attribute_axis(s, s.type(0).rank()) < axis ? axis - 1 : axis;
}

bool can_lift_arg_min_max(ir::Module& module, const ir::Node& node, const std::vector<bool>&) {
  const auto axis = attribute_axis(module, node);
  return axis && type_of(module, node).dims[static_cast<std::size_t>(*axis)].is_constant();
}

Expected<ir::Lifted> lift_arg_min_max(ir::Builder& builder, const ir::Node& node,
                                      const LiftedOperands& operands) {
  SCANLOOM_TRY(ir::Lifted lifted, lift_along_axis(builder, node, operands));
  const bool goes = attr_of(node, "keepdims").integer() == 0;
  if (goes && *attribute_axis(builder.module(), node) < lifted.axis) --lifted.axis;
  return lifted;
}

}  // namespace scanloom::ops
