// The order of the sums: every element of the result starts from 0 and takes one multiply-add per
// step of k, in the order of opmath/contraction.h, by the rule of base/dot.h. f16, bf16 and
// narrower floating point are summed in f32 and rounded once; integers wrap. Kernels give the same
// bits.
#include <algorithm>

#include "base/dot.h"
#include "opmath/contraction.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/for_each.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {

using tensor::Contraction;
using tensor::ContractionAxis;
using tensor::Dim;
using tensor::Einsum;
using tensor::kEllipsisLabel;
using tensor::Subscripts;
using tensor::Type;

constexpr int kSpec = 0;

// The ellipsis axes of an operand as a type of their own, to be broadcast.
Type ellipsis_part(const Type& type, const Subscripts& subscripts) {
  Type part = Type::scalar(type.dtype);
  for (std::size_t axis = 0; axis < type.dims.size(); ++axis)
    if (subscripts.labels[axis] >= kEllipsisLabel) part.dims.push_back(type.dims[axis]);
  return part;
}

Expected<Dim> letter_size(ir::InferCtx& ctx, const Einsum& einsum, std::uint8_t label) {
  std::optional<Dim> size;
  std::string where;
  const Subscripts* operands[] = {&einsum.a, &einsum.b};
  for (int i = 0; i < 2; ++i)
    for (std::size_t axis = 0; axis < ctx.in(i).dims.size(); ++axis) {
      if (operands[i]->labels[axis] != label) continue;
      const Dim own = ctx.in(i).dims[axis];
      where += fmt::format("{}axis {} of {}", where.empty() ? "" : ", which meets ", axis,
                           i == 0 ? "a" : "b");
      SCANLOOM_TRY(size, same_size(ctx, size.value_or(own), own, where + ","));
    }
  return *size;
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type &a = ctx.in(0), &b = ctx.in(1);
  if (!a.ranked || !b.ranked) {
    ctx.set(0, Type::unranked(a.dtype));
    return {};
  }
  SCANLOOM_TRY(const Einsum einsum,
               tensor::parse_einsum(ctx.attr(kSpec).text(), a.rank(), b.rank()));
  SCANLOOM_TRY(const Type ellipsis,
               ctx.broadcast(ellipsis_part(a, einsum.a), ellipsis_part(b, einsum.b), a.dtype));
  // Summed labels must agree, too.
  for (const Subscripts* operand : {&einsum.a, &einsum.b})
    for (const std::uint8_t label : operand->view())
      if (label < kEllipsisLabel) SCANLOOM_CHECK_OK(letter_size(ctx, einsum, label));
  std::vector<Dim> sizes;
  for (const std::uint8_t label : einsum.out.view()) {
    if (label >= kEllipsisLabel) {
      sizes.push_back(*(ellipsis.dims.end() - 1 - (label - kEllipsisLabel)));
      continue;
    }
    SCANLOOM_TRY(sizes.emplace_back(), letter_size(ctx, einsum, label));
  }
  return set_sizes(ctx, 0, a.dtype, std::move(sizes));
}

/// Returns start plus the products along one axis of k, in the type that T is computed in.
template <class T, class Sum>
Sum add_products(const T* a, const T* b, const ContractionAxis& k, Sum start) {
  if constexpr (std::floating_point<T>) {
    return dot_in_order(a, k.a, b, k.b, k.size, start);
  } else {
    for (std::int64_t i = 0; i < k.size; ++i) {
      const auto x = tensor::widen(a[i * k.a]), y = tensor::widen(b[i * k.b]);
      if constexpr (tensor::SmallFloatType<T>)
        start = multiply_add(x, y, start);
      else
        start += static_cast<Sum>(x) * static_cast<Sum>(y);
    }
    return start;
  }
}

template <class T>
struct SumOf {
  using type = std::uint64_t;
};
template <tensor::SmallFloatType T>
struct SumOf<T> {
  using type = float;
};
template <std::floating_point T>
struct SumOf<T> {
  using type = T;
};

/// Runs f over all axes of k except the innermost.
class SumWalk {
 public:
  explicit SumWalk(const tensor::ContractionAxes& axes) {
    if (axes.count() > 0) inner_ = axes[axes.count() - 1];
    for (int i = 0; i + 1 < axes.count(); ++i) {
      outer_.push_back(axes[i].size);
      a_.push_back(axes[i].a);
      b_.push_back(axes[i].b);
    }
  }
  template <class T, class Sum>
  Sum sum(const T* a, const T* b, Sum start) const {
    if (inner_.size == 0) return start;
    tensor::for_each_index(outer_.dims(), [&](const tensor::Shape& index) {
      start = add_products(a + tensor::offset_of(index, a_.data()),
                           b + tensor::offset_of(index, b_.data()), inner_, start);
    });
    return start;
  }

 private:
  ContractionAxis inner_{.size = 1};
  tensor::Shape outer_, a_, b_;
};

template <class T>
void contract(const tensor::Call& call, const Contraction& contraction) {
  tensor::Shape dims, a_strides, b_strides, out_strides;
  for (const tensor::ContractionAxes* axes : {&contraction.batch, &contraction.m, &contraction.n})
    for (const ContractionAxis& axis : axes->view()) {
      dims.push_back(axis.size);
      a_strides.push_back(axis.a);
      b_strides.push_back(axis.b);
      out_strides.push_back(axis.out);
    }
  const SumWalk walk(contraction.k);
  const T *a = call.in(0).data<const T>(), *b = call.in(1).data<const T>();
  T* out = call.out(0).data<T>();
  tensor::for_each_element<3>(dims.dims(), {a_strides.data(), b_strides.data(), out_strides.data()},
                              [&](const std::array<std::int64_t, 3>& at) {
                                const auto sum =
                                    walk.sum(a + at[0], b + at[1], typename SumOf<T>::type{});
                                out[at[2]] = tensor::narrow<T>(sum);
                              });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const auto contraction =
      tensor::contraction_of(call.attrs[kSpec].text(), call.in(0), call.in(1), call.out(0));
  if (!contraction) return call.fail("the operands do not fit the specification");
  tensor::visit_dtype(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (tensor::RealOrInteger<T>) contract<T>(call, *contraction);
  });
  return tensor::Status::ok;
}

}  // namespace

constinit const ir::OpDef contract_op{
    .name = "contract",
    .doc =
        "Sums of products of two tensors, as the einsum specification `spec` says, such as "
        "\"...mk,...kn->...mn\"; the empty one is numpy's matmul.",
    .inputs = {{"a", ir::Accept::numeric},
               {.name = "b", .accept = ir::Accept::numeric, .same_as = 0}},
    .outputs = {"y"},
    .attrs = {{"spec", tensor::AttrKind::text}},
    .access = ir::Access::contract,
    .infer = infer,
    .reference = reference,
};

}  // namespace scanloom::ops
