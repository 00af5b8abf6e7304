#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <vector>

#include "opmath/dft_lines.h"
#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"

namespace scanloom::ops {
namespace {

using tensor::Dim;
using tensor::Type;

constexpr int kSignal = 0, kLength = 1;

/// The error for a length that is known, if it is no length of a transform.
Expected<void> check_length(std::int64_t length) {
  if (length < 1)
    return invalid_model("the length of the transform is {}, but at least 1 is needed", length);
  if (length > tensor::kMaxFourierLength)
    return fail(Code::unsupported, "the length of the transform is {}, more than the limit of {}",
                length, tensor::kMaxFourierLength);
  return {};
}

Expected<void> check_parts(Dim parts, const tensor::DftForm& form) {
  if (!parts.is_constant()) return {};
  if (parts.value() != 1 && parts.value() != 2)
    return invalid_model("the last axis of x has {} elements, not 1 or 2", parts.value());
  if (form.onesided && !form.inverse && parts.value() == 2)
    return invalid_model("a one-sided spectrum needs a real signal, but x has imaginary parts");
  return {};
}

/// The length of the transform, as far as it is known.
Dim length_of(ir::InferCtx& ctx, Dim size, const tensor::DftForm& form) {
  if (ctx.has(kLength)) {
    const auto given = ctx.integers(kLength);
    return given && given->size() == 1 ? given->front() : ctx.dims().fresh();
  }
  return form.gives_real() ? ctx.dims().mul(ctx.dims().sub(size, 1), 2) : size;
}

Expected<void> infer_dft(ir::InferCtx& ctx) {
  const Type& x = ctx.in(kSignal);
  if (x.dtype != DType::f32 && x.dtype != DType::f64)
    return invalid_model("x is {}, not f32 or f64", dtype_name(x.dtype));
  if (ctx.has(kLength)) SCANLOOM_CHECK_OK(check_elements(ctx, kLength, 1, "the length"));
  if (!x.ranked) {
    ctx.set(0, Type::unranked(x.dtype));
    return {};
  }
  if (x.rank() < 2)
    return invalid_model("x has {} axes, but needs one to transform and one for the parts",
                         x.rank());
  const auto form = tensor::dft_form(ctx.attrs().data(), x.rank());
  if (!form)
    return invalid_model(
        "axis {} is not an axis of a signal with {} axes, the last of which holds the parts",
        ctx.attr(tensor::kDftAxis).integer(), x.rank());
  SCANLOOM_CHECK_OK(check_parts(x.dims.back(), *form));
  const auto axis = static_cast<std::size_t>(form->axis);
  const Dim length = length_of(ctx, x.dims[axis], *form);
  if (length.is_constant()) SCANLOOM_CHECK_OK(check_length(length.value()));
  std::vector<Dim> sizes = x.dims;
  const bool half = form->onesided && !form->inverse;
  sizes[axis] = half ? ctx.dims().add(ctx.dims().floor_div(length, 2), 1) : length;
  sizes.back() = form->gives_real() ? 1 : 2;
  return set_sizes(ctx, 0, x.dtype, std::move(sizes));
}

template <class T>
tensor::Status transform(const tensor::Call& call, const tensor::DftForm& form,
                         std::int64_t length) {
  using Lines = tensor::DftLines<T>;
  const auto plans = tensor::fourier_plans<T>(length, Lines::real(call.in(0), form));
  std::vector<T> scratch(static_cast<std::size_t>(Lines::scratch_elements(*plans, 1)));
  const Lines lines(call, form, *plans, tensor::plain_fourier_fns<T>());
  for (std::int64_t line = 0; line < lines.count() && !call.stop_requested(); ++line)
    lines.run(line, 1, scratch.data());
  return call.ok_or_stopped();
}

tensor::Status reference_dft(const tensor::Call& call) noexcept try {
  const auto form = tensor::dft_form(call.attrs, call.in(kSignal).rank);
  const std::int64_t length = tensor::dft_length(call, *form);
  const tensor::Status status = tensor::check_dft(call, *form, length);
  if (status != tensor::Status::ok || call.out(0).empty()) return status;
  if (call.out(0).dtype == DType::f32) return transform<float>(call, *form, length);
  return transform<double>(call, *form, length);
} catch (const std::bad_alloc&) {
  *call.fault = {.code = Code::out_of_memory, .text = "out of memory while transforming"};
  return tensor::Status::fault;
}

/// About two products per element and factor of two of the length.
double dft_products(const ir::CostCtx& ctx) {
  const auto form = tensor::dft_form(ctx.attrs.data(), ctx.inputs[kSignal]->rank());
  const double elements = std::max(ctx.elements(kSignal), ctx.results());
  return form ? 2 * elements * std::log2(1 + ctx.size(kSignal, form->axis)) : elements;
}

Expected<int> steps_of_dft(const ir::StepSite& s) {
  const int rank = s.type(0).rank();
  const auto axis = attribute_axis(s, rank);
  if (!s.along(0)) return across("its length depends on them");
  if (!axis || s.axis(0) == *axis || s.axis(0) == rank - 1)
    return across("it transforms along their axis");
  return s.axis(0);
}

bool can_lift_dft(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies) {
  if (!only_first_varies(varies) || !attribute_axis(module, node)) return false;
  return node.inputs.size() <= kLength || !node.inputs[kLength].valid() ||
         integers_of(module, node, kLength).has_value();
}

Expected<ir::Lifted> lift_dft(ir::Builder& builder, const ir::Node& node,
                              const LiftedOperands& operands) {
  const std::int64_t axis = *attribute_axis(builder.module(), node) + 1;
  SCANLOOM_TRY(const ir::Lifted signal, at_front(builder, operands[0]));
  std::vector<ir::ValueId> inputs = values_of(operands);
  inputs[0] = signal.value;
  std::vector<ir::NamedAttr> attrs = attrs_but(node, "axis");
  attrs.push_back({"axis", axis});
  SCANLOOM_TRY(const ir::ValueId value, builder.op(*node.op, std::move(inputs), std::move(attrs)));
  return ir::Lifted{value, 0};
}

}  // namespace

constinit const ir::OpDef dft_op{
    .name = "dft",
    .doc =
        "The discrete Fourier transform along `axis`; the last axis of x holds the real parts, or "
        "real and imaginary parts. x is padded with zeros or cut to `length`, which is the size "
        "of the axis if absent. `onesided`: only the first length / 2 + 1 elements of a real "
        "signal's spectrum. `inverse`: with the opposite sign in the exponent; if also `onesided`, "
        "a real signal from those elements, 2 (size - 1) of them without a `length`. `scaled`: "
        "divided by the length.",
    .inputs = {{"x", ir::Accept::real},
               {.name = "length",
                .accept = ir::Accept::index,
                .arity = ir::Arity::optional,
                .decides_sizes = true}},
    .outputs = {"y"},
    .attrs = {{"axis", tensor::AttrKind::integer},
              {"inverse", tensor::AttrKind::integer},
              {"onesided", tensor::AttrKind::integer},
              {"scaled", tensor::AttrKind::integer}},
    .infer = infer_dft,
    .reference = reference_dft,
    .batching = ir::Batching::call,
    .products = dft_products,
    .steps = {.axis = steps_of_dft},
    .lifting = {can_lift_dft, lift_dft},
};

}  // namespace scanloom::ops
