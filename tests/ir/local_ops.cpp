#include "tests/ir/local_ops.h"

namespace scanloom::ir::local {
namespace {

using tensor::Call;
using tensor::Dim;
using tensor::Status;
using tensor::Type;

Expected<void> infer_plus(InferCtx& ctx) {
  SCANLOOM_TRY(Type type, ctx.broadcast(ctx.in(0), ctx.in(1), ctx.dtype()));
  ctx.set(0, std::move(type));
  const auto a = ctx.integers(0);
  const auto b = ctx.integers(1);
  if (!a || !b || a->size() != b->size()) return {};
  std::vector<Dim> sums;
  for (std::size_t i = 0; i < a->size(); ++i) sums.push_back(ctx.dims().add((*a)[i], (*b)[i]));
  ctx.set_integers(0, std::move(sums));
  return {};
}

template <class T>
void add(const Call& call) {
  const std::int64_t count = call.out(0).elements();
  for (std::int64_t i = 0; i < count; ++i)
    call.out(0).data<T>()[i] = call.in(0).data<T>()[call.in(0).elements() == 1 ? 0 : i] +
                               call.in(1).data<T>()[call.in(1).elements() == 1 ? 0 : i];
}
Status run_plus(const Call& call) noexcept {
  call.out(0).dtype == DType::f32 ? add<float>(call) : add<std::int64_t>(call);
  return Status::ok;
}

Expected<void> infer_same(InferCtx& ctx) {
  ctx.set(0, ctx.in(0));
  if (auto integers = ctx.integers(0)) ctx.set_integers(0, std::move(*integers));
  return {};
}

Expected<void> infer_sizes(InferCtx& ctx) {
  if (!ctx.in(0).ranked) {
    ctx.set(0, ctx.fresh(DType::i64, 1));
    return {};
  }
  ctx.set(0, DType::i64, {ctx.in(0).rank()});
  ctx.set_integers(0, ctx.in(0).dims);
  return {};
}

Expected<void> infer_join(InferCtx& ctx) {
  const Type& a = ctx.in(0);
  const Type& b = ctx.in(1);
  if (!a.ranked || !b.ranked) {
    ctx.set(0, Type::unranked(a.dtype));
    return {};
  }
  if (a.rank() != b.rank() || a.rank() == 0)
    return invalid_model("ranks {} and {} do not join", a.rank(), b.rank());
  Type joined = a;
  joined.dims[0] = ctx.dims().add(a.dims[0], b.dims[0]);
  ctx.set(0, std::move(joined));
  return {};
}

Expected<void> infer_resize(InferCtx& ctx) {
  if (auto sizes = ctx.integers(1))
    ctx.set(0, ctx.dtype(), std::move(*sizes));
  else
    ctx.set(0, Type::unranked(ctx.dtype()));
  return {};
}

Expected<void> infer_filter(InferCtx& ctx) {
  ctx.set(0, ctx.fresh(ctx.dtype(), 1));
  return {};
}

Status run_check(const Call& call) noexcept {
  const std::int64_t value = *call.in(0).data<std::int64_t>();
  if (value < 0) return call.fail("value {} is less than {}", value, 0);
  *call.out(0).data<std::int64_t>() = value;
  return Status::ok;
}

Expected<void> infer_before(InferCtx& ctx) {
  ctx.set(0, Type::scalar(DType::boolean));
  return {};
}
Status run_before(const Call& call) noexcept {
  *call.out(0).data<bool>() = *call.in(0).data<std::int64_t>() < *call.in(1).data<std::int64_t>();
  return Status::ok;
}

Expected<void> infer_drop(InferCtx& ctx) {
  Type type = ctx.in(0);
  if (type.ranked) {
    if (type.rank() == 0) return invalid_model("there is not an axis to drop");
    if (type.dims[0].is_constant() && type.dims[0] != Dim(1))
      return invalid_model("axis 0 has size {}, not {}", type.dims[0].value(), 1);
    type.dims.erase(type.dims.begin());
  }
  ctx.set(0, std::move(type));
  return {};
}

}  // namespace

constinit const OpDef plus_op{
    .name = "plus",
    .doc = "Sum.",
    .inputs = {{"a", Accept::numeric}, {"b", Accept::numeric, Arity::one, 0}},
    .outputs = {"y"},
    .infer = infer_plus,
    .reference = run_plus,
};
constinit const OpDef same_op{
    .name = "same",
    .doc = "Itself.",
    .inputs = {{"x", Accept::any}},
    .outputs = {"y"},
    .attrs = {{"label", tensor::AttrKind::text, true}},
    .infer = infer_same,
};
constinit const OpDef sizes_op{
    .name = "sizes",
    .doc = "Sizes.",
    .inputs = {{"x", Accept::tensor}},
    .outputs = {"y"},
    .infer = infer_sizes,
};
constinit const OpDef join_op{
    .name = "join",
    .doc = "Both.",
    .inputs = {{"a", Accept::tensor}, {"b", Accept::tensor, Arity::one, 0}},
    .outputs = {"y"},
    .infer = infer_join,
};
constinit const OpDef resize_op{
    .name = "resize",
    .doc = "Other sizes.",
    .inputs = {{"x", Accept::tensor}, {"sizes", Accept::index}},
    .outputs = {"y"},
    .infer = infer_resize,
};
constinit const OpDef filter_op{
    .name = "filter",
    .doc = "Some of the elements.",
    .inputs = {{"x", Accept::tensor}},
    .outputs = {"y"},
    .infer = infer_filter,
};
constinit const OpDef check_op{
    .name = "check",
    .doc = "Not negative.",
    .inputs = {{"a", Accept::index}},
    .outputs = {"y"},
    .effects = Effects::may_fail,
    .infer = infer_same,
    .reference = run_check,
};
constinit const OpDef before_op{
    .name = "before",
    .doc = "Less.",
    .inputs = {{"a", Accept::index}, {"b", Accept::index}},
    .outputs = {"y"},
    .infer = infer_before,
    .reference = run_before,
};
constinit const OpDef drop_op{
    .name = "drop",
    .doc = "Without axis 0.",
    .inputs = {{"x", Accept::tensor}},
    .outputs = {"y"},
    .infer = infer_drop,
};

}  // namespace scanloom::ir::local
