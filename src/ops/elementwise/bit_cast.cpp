#include <optional>

#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/step_rules.h"
#include "tensor/for_each.h"
#include "tensor/small_int.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace bit_cast {

using tensor::Operand;

constexpr int kTo = 0;

/// Returns the type of the two parts of a complex number.
std::optional<DType> part_of(DType dtype) {
  if (dtype == DType::c64) return DType::f32;
  if (dtype == DType::c128) return DType::f64;
  return std::nullopt;
}

/// Whether elements of type `wide` are read as pairs of `narrow`, with an additional axis.
bool are_pairs(DType wide, DType narrow) { return part_of(wide) == narrow; }

Expected<void> infer_pairs(ir::InferCtx& ctx, bool to_parts) {
  tensor::Type y = ctx.in(0);
  y.dtype = ctx.attr(kTo).dtype();
  if (y.ranked && to_parts) {
    if (y.rank() == tensor::kMaxRank)
      return invalid_model("both parts of complex numbers are an axis more than the {} there are",
                           tensor::kMaxRank);
    y.dims.emplace_back(2);
  } else if (y.ranked) {
    const bool fits = y.rank() > 0 && (!y.dims.back().is_constant() || y.dims.back().value() == 2);
    if (!fits)
      return invalid_model("complex numbers are made of a last axis of size 2, but x is {}",
                           to_string(ctx.in(0), ctx.dims()));
    y.dims.pop_back();
  }
  ctx.set(0, std::move(y));
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const DType from = ctx.dtype(), to = ctx.attr(kTo).dtype();
  if (are_pairs(from, to) || are_pairs(to, from)) return infer_pairs(ctx, are_pairs(from, to));
  const int bits = dtype_file_bits(from);
  if (bits == 0 || bits != dtype_file_bits(to))
    return invalid_model("elements of type {} have {} bits, those of type {} have {}",
                         dtype_name(from), bits, dtype_name(to), dtype_file_bits(to));
  tensor::Type y = ctx.in(0);
  y.dtype = to;
  ctx.set(0, std::move(y));
  return {};
}

/// Returns strides in parts of complex numbers; the axis of the parts comes last.
tensor::Shape strides_of_parts(const Operand& numbers) {
  tensor::Shape strides = strides_of(numbers);
  for (int axis = 0; axis < strides.rank(); ++axis) strides[axis] *= 2;
  strides.push_back(1);
  return strides;
}

template <class T>
void copy_parts(const Operand& x, const Operand& y) {
  const bool to_parts = y.dtype == dtype_of<T>;
  const Operand& parts = to_parts ? y : x;
  const tensor::Shape from = to_parts ? strides_of_parts(x) : strides_of(x);
  const tensor::Shape to = to_parts ? strides_of(y) : strides_of_parts(y);
  tensor::for_each_element<2>(
      {parts.dims, static_cast<std::size_t>(parts.rank)}, {from.data(), to.data()},
      [&](const auto& at) { y.data<T>()[at[1]] = x.data<const T>()[at[0]]; });
}

template <class T>
void copy_bits(const Operand& x, const Operand& y) {
  const int width = dtype_file_bits(y.dtype);
  const bool is_signed = dtype_kind(y.dtype) == DTypeKind::signed_int;
  const tensor::Shape from = strides_of(x), to = strides_of(y);
  tensor::for_each_element<2>({y.dims, static_cast<std::size_t>(y.rank)}, {from.data(), to.data()},
                              [&](const auto& at) {
                                T element = x.data<const T>()[at[0]];
                                if constexpr (sizeof(T) == 1)
                                  if (width < 8)
                                    element = tensor::stored_narrow(element, width, is_signed);
                                y.data<T>()[at[1]] = element;
                              });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &x = call.in(0), &y = call.out(0);
  if (are_pairs(x.dtype, y.dtype) || are_pairs(y.dtype, x.dtype)) {
    if (dtype_bytes(x.dtype) + dtype_bytes(y.dtype) == 3 * sizeof(float))
      copy_parts<float>(x, y);
    else
      copy_parts<double>(x, y);
    return tensor::Status::ok;
  }
  tensor::visit_bytes(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    copy_bits<T>(call.in(0), call.out(0));
  });
  return tensor::Status::ok;
}

/// May also treat both parts of a complex number, along the last axis, as one.
Expected<int> steps(const ir::StepSite& s) {
  if (s.axis(0) >= s.result_type().rank()) return across("it makes one complex number of several");
  return s.axis(0);
}

}  // namespace bit_cast
}  // namespace

constinit const ir::OpDef bit_cast_op{
    .name = "bit_cast",
    .doc =
        "The same bits read as another element type, of as many bits; of complex numbers also as "
        "their real and imaginary parts, which are a last axis of size 2, and the way back.",
    .inputs = {{"x", ir::Accept::tensor}},
    .outputs = {"y"},
    .attrs = {{"to", tensor::AttrKind::dtype}},
    .infer = bit_cast::infer,
    .reference = bit_cast::reference,
    .steps = {.axis = bit_cast::steps},
};

}  // namespace scanloom::ops
