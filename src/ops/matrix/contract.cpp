// The order of the sums: every element of the result starts from 0 and takes one multiply-add per
// step of k, in the order of opmath/contraction.h, by the rule of base/dot.h. f16, bf16 and
// narrower floating point are summed in f32 and rounded once; integers wrap. Kernels give the same
// bits.
#include <algorithm>

#include "base/dot.h"
#include "opmath/contraction.h"
#include "opmath/einsum_text.h"
#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/for_each.h"
#include "tensor/paced_poll.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace contract {

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
  std::int64_t work = 1;
  for (const ContractionAxis& axis : contraction.k.view()) work += axis.size;
  tensor::PacedPoll poll(call);
  const T *a = call.in(0).data<const T>(), *b = call.in(1).data<const T>();
  T* out = call.out(0).data<T>();
  tensor::for_each_element<3>(dims.dims(), {a_strides.data(), b_strides.data(), out_strides.data()},
                              [&](const std::array<std::int64_t, 3>& at) {
                                if (poll.stops(work)) return;
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
  return call.ok_or_stopped();
}

Expected<int> steps(const ir::StepSite& s) {
  SCANLOOM_TRY(
      const tensor::Einsum einsum,
      tensor::parse_einsum(attr_of(s.node, "spec").text(), s.type(0).rank(), s.type(1).rank()));
  int result = -1;
  for (const std::size_t i : {0, 1}) {
    if (!s.along(i)) continue;
    const tensor::Subscripts& own = i == 0 ? einsum.a : einsum.b;
    const tensor::Subscripts& other = i == 0 ? einsum.b : einsum.a;
    const std::uint8_t label = own.labels[static_cast<std::size_t>(s.axis(i))];
    const int to = einsum.out.find(label);
    if (to < 0) return across("it sums over them");
    const int there = other.find(label);
    const bool fits = there < 0 || (s.along(1 - i) && s.axis(1 - i) == there);
    if (!fits || (result >= 0 && result != to))
      return across("its operands have the steps on other axes");
    result = to;
  }
  return result;
}

std::optional<tensor::Einsum> einsum_of(const ir::Module& module, const ir::Node& node) {
  auto einsum = tensor::parse_einsum(node.attrs[0].text(), type_of(module, node, 0).rank(),
                                     type_of(module, node, 1).rank());
  if (!einsum) return std::nullopt;
  return *einsum;
}

bool can_lift(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies) {
  const auto einsum = einsum_of(module, node);
  return (varies[0] || varies[1]) && einsum &&
         sizes_fit(type_of(module, node, 0), type_of(module, node, 1), *einsum);
}

/// Returns where the steps go in the result: next to the same axis as in the operand, so that
/// consecutive rows of the product stay consecutive.
int result_axis(const tensor::Subscripts& operand, int axis, const tensor::Subscripts& out) {
  if (axis == 0) return 0;
  const int before = out.find(operand.labels[static_cast<std::size_t>(axis - 1)]);
  if (before >= 0) return before + 1;
  const int after =
      axis < operand.count ? out.find(operand.labels[static_cast<std::size_t>(axis)]) : -1;
  return std::max(after, 0);
}

/// Returns the specification with one more label, at that position of the varying operand; nullopt
/// if no label can be written there, within an ellipsis. Sums keep their order: no summed label
/// moves.
std::optional<std::string> spec_with_steps(tensor::Einsum einsum, std::size_t varying, int axis,
                                           int to) {
  const std::uint8_t letter = unused_letter(einsum, 't');
  insert_label(varying == 0 ? einsum.a : einsum.b, axis, letter);
  insert_label(einsum.out, to, letter);
  return text_of(einsum);
}

/// Lifts a product with two varying operands: the steps are one more axis of all three tensors.
Expected<ir::Lifted> lift_product_of_both(ir::Builder& builder, const ir::Node& node,
                                          const LiftedOperands& operands, tensor::Einsum einsum) {
  const std::uint8_t letter = unused_letter(einsum, 't');
  for (tensor::Subscripts* subscripts : {&einsum.a, &einsum.b, &einsum.out})
    insert_label(*subscripts, 0, letter);
  const auto spec = text_of(einsum);
  if (!spec) return fail(Code::internal, "a product cannot be written with one more axis");
  SCANLOOM_TRY(const ir::Lifted a, at_front(builder, operands[0]));
  SCANLOOM_TRY(const ir::Lifted b, at_front(builder, operands[1]));
  SCANLOOM_TRY(const ir::ValueId product,
               builder.op(*node.op, {a.value, b.value}, {{"spec", *spec}}));
  return ir::Lifted{product, 0};
}

Expected<ir::Lifted> lift(ir::Builder& builder, const ir::Node& node,
                          const LiftedOperands& operands) {
  const tensor::Einsum einsum = *einsum_of(builder.module(), node);
  if (operands[0].is_sequence() && operands[1].is_sequence())
    return lift_product_of_both(builder, node, operands, einsum);
  const std::size_t varying = operands[0].is_sequence() ? 0 : 1;
  ir::ValueId inputs[] = {operands[0].value, operands[1].value};
  int axis = result_axis(varying == 0 ? einsum.a : einsum.b, operands[varying].axis, einsum.out);
  auto spec = spec_with_steps(einsum, varying, operands[varying].axis, axis);
  if (!spec) {
    SCANLOOM_TRY(inputs[varying], with_steps_along(builder, operands[varying], 0));
    axis = 0;
    spec = spec_with_steps(einsum, varying, 0, 0);
  }
  if (!spec) return fail(Code::internal, "a product cannot be written with one more axis");
  SCANLOOM_TRY(const ir::ValueId product,
               builder.op(contract_op, {inputs[0], inputs[1]}, {{"spec", *spec}}));
  return ir::Lifted{product, axis};
}

}  // namespace contract
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
    .infer = contract::infer,
    .reference = contract::reference,
    .batching = ir::Batching::product,
    .widens_f16 = ir::always_widens,
    .steps = {.axis = contract::steps, .any_operand = true},
    .lifting = {contract::can_lift, contract::lift},
};

}  // namespace scanloom::ops
