#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace range {

using tensor::Dim;
using tensor::Type;

constexpr double kMaxCount = 1099511627776;  // 2^40, the elements of the largest tensor

template <class T>
T element_of(const tensor::Tensor& tensor) {
  return *static_cast<const T*>(tensor.data());
}

// Returns how many of start, start + delta, ... lie before limit; nullopt: infinitely many.
template <class T>
std::optional<std::int64_t> count_of(T start, T limit, T delta) {
  if constexpr (std::is_floating_point_v<T>) {
    const double count = std::ceil(static_cast<double>(limit - start) / static_cast<double>(delta));
    if (!(count <= kMaxCount)) return std::nullopt;
    return count < 0 ? 0 : static_cast<std::int64_t>(count);
  } else {
    if (delta == 0) return std::nullopt;
    const bool up = delta > 0;
    if (up ? limit <= start : limit >= start) return 0;
    const auto low = static_cast<std::uint64_t>(up ? start : limit);
    const auto high = static_cast<std::uint64_t>(up ? limit : start);
    const auto step = static_cast<std::uint64_t>(delta);
    const std::uint64_t count = (high - low - 1) / (up ? step : 0 - step) + 1;
    if (count > static_cast<std::uint64_t>(kMaxCount)) return std::nullopt;
    return static_cast<std::int64_t>(count);
  }
}

Expected<std::int64_t> known_count(const ir::InferCtx& ctx) {
  std::optional<std::int64_t> count;
  std::string numbers;
  tensor::visit_dtype(ctx.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) {
      const auto start = tensor::widen(element_of<T>(*ctx.constant(0)));
      const auto limit = tensor::widen(element_of<T>(*ctx.constant(1)));
      const auto delta = tensor::widen(element_of<T>(*ctx.constant(2)));
      count = count_of(start, limit, delta);
      if (!count) numbers = fmt::format("start {}, limit {} and delta {}", start, limit, delta);
    }
  });
  if (!count)
    return invalid_model("{} do not give a finite number of elements, at most 2^40", numbers);
  return *count;
}

// The product may overflow although the sum does not.
std::int64_t step_from(std::int64_t start, std::int64_t delta, std::int64_t i) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                   static_cast<std::uint64_t>(i) *
                                       static_cast<std::uint64_t>(delta));
}

// Tracks integers as sizes: the count relates to those of the feeds.
Dim followed_count(ir::InferCtx& ctx) {
  const auto start = ctx.integers(0), limit = ctx.integers(1);
  const auto delta = ctx.numbers(2);
  tensor::DimTable& dims = ctx.dims();
  const auto single = [](const auto& list) { return list && list->size() == 1; };
  if (!single(start) || !single(limit) || !single(delta) || delta->front() <= 0)
    return dims.fresh();
  const std::int64_t step = delta->front();
  Dim span = dims.sub(limit->front(), start->front());
  if (!is_never_negative(ctx, span)) span = dims.max(span, 0);
  return step == 1 ? span : dims.floor_div(dims.add(span, step - 1), step);
}

void follow(ir::InferCtx& ctx, std::int64_t count) {
  const auto start = ctx.numbers(0), delta = ctx.numbers(2);
  if (!start || !delta || !holds_sizes(ctx.dtype()) || count > kMaxFollowed) return;
  std::vector<Dim> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.emplace_back(step_from(start->front(), delta->front(), i));
  ctx.set_integers(0, std::move(values));
}

Expected<void> infer(ir::InferCtx& ctx) {
  for (int i = 0; i < 3; ++i)
    SCANLOOM_CHECK_OK(check_elements(ctx, i, 1, fmt::format("input {}", i)));
  for (int i = 1; i < 3; ++i)
    if (ctx.dtype(i) != ctx.dtype())
      return invalid_model("input {} has elements of type {}, start of type {}", i,
                           dtype_name(ctx.dtype(i)), dtype_name(ctx.dtype()));
  const bool known = ctx.constant(0) && ctx.constant(1) && ctx.constant(2);
  if (known && ctx.constant(0)->elements() == 1 && ctx.constant(1)->elements() == 1 &&
      ctx.constant(2)->elements() == 1) {
    SCANLOOM_TRY(const std::int64_t count, known_count(ctx));
    SCANLOOM_CHECK_OK(set_sizes(ctx, 0, ctx.dtype(), {count}));
    follow(ctx, count);
    return {};
  }
  ctx.set(0, ctx.dtype(), {followed_count(ctx)});
  return {};
}

template <class T>
void count_up(const tensor::Call& call) {
  const auto start = tensor::widen(*call.in(0).data<const T>());
  const auto delta = tensor::widen(*call.in(2).data<const T>());
  const tensor::Operand& y = call.out(0);
  for (std::int64_t i = 0; i < y.dims[0]; ++i) {
    T& element = y.data<T>()[i * y.strides[0]];
    if constexpr (std::is_floating_point_v<decltype(start)>)
      element = tensor::narrow<T>(start + static_cast<decltype(start)>(i) * delta);
    else
      element = tensor::narrow<T>(
          step_from(static_cast<std::int64_t>(start), static_cast<std::int64_t>(delta), i));
  }
}

tensor::Status reference(const tensor::Call& call) noexcept {
  tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) count_up<T>(call);
  });
  return tensor::Status::ok;
}

}  // namespace range
}  // namespace

constinit const ir::OpDef range_op{
    .name = "range",
    .doc = "start, start + delta, start + 2 delta, ... as far as they lie before limit.",
    .inputs =
        {{.name = "start", .accept = ir::Accept::numeric, .decides_sizes = true},
         {.name = "limit", .accept = ir::Accept::numeric, .same_as = 0, .decides_sizes = true},
         {.name = "delta", .accept = ir::Accept::numeric, .same_as = 0, .decides_sizes = true}},
    .outputs = {"y"},
    .infer = range::infer,
    .reference = range::reference,
};

}  // namespace scanloom::ops
