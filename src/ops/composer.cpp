#include "ops/composer.h"

#include <cmath>
#include <numeric>

#include "tensor/half.h"
#include "tensor/scalar_eval.h"

namespace scanloom::ops {

using ir::ValueId;
using tensor::Tensor;

Expected<Tensor> scalar_of(double value, DType dtype) {
  SCANLOOM_TRY(Tensor made, Tensor::zeros(dtype, {}));
  const tensor::ScalarReg bits{tensor::scalar_bits(value, dtype), 0};
  tensor::store_scalars(dtype, &bits, static_cast<std::byte*>(made.mutable_data()), 0, 1);
  return made;
}

void Composer::refuse(Error error) {
  if (!error_) error_ = std::move(error);
}

Expected<void> Composer::done() {
  if (error_) return *error_;
  return {};
}

DType Composer::dtype(ValueId x) const {
  return ok() && x.valid() ? builder_.module().value(x).type.dtype : DType::f32;
}

std::int64_t Composer::known_size(ValueId x, int axis) const {
  if (!ok() || !x.valid()) return -1;
  const tensor::Type& type = builder_.module().value(x).type;
  if (!type.ranked || axis >= type.rank()) return -1;
  const tensor::Dim dim = type.dims[static_cast<std::size_t>(axis)];
  return dim.is_constant() ? dim.value() : -1;
}

ValueId Composer::scalar(double value, DType dtype) {
  if (!ok()) return {};
  Expected<Tensor> made = scalar_of(value, dtype);
  if (made) return builder_.constant(*std::move(made));
  refuse(std::move(made).error());
  return {};
}

ValueId Composer::number(std::int64_t value) {
  return builder_.constant(Tensor::scalar<std::int64_t>(value));
}

ValueId Composer::list(const Ints& values) {
  return builder_.constant(
      Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

ValueId Composer::op(const ir::OpDef& op, std::vector<ValueId> inputs,
                     std::vector<ir::NamedAttr> attrs) {
  return ok() ? take(builder_.op(op, std::move(inputs), std::move(attrs))) : ValueId{};
}

ValueId Composer::tan(ValueId x) {
  const DType own = dtype(x);
  const ValueId wide = tensor::is_half(own) ? cast(x, DType::f32) : x;
  return cast(div(sin(wide), cos(wide)), own);
}

ValueId Composer::gelu(ValueId x, bool by_tanh) {
  ValueId curve;
  if (by_tanh) {
    const ValueId cube = mul(mul(x, x), x);
    const ValueId sum = add(x, mul(like(0.044715, x), cube));
    curve = op(tanh_op, {mul(like(std::sqrt(2 / 3.14159265358979323846), x), sum)});
  } else {
    // A product, because a division takes a third of the time of erf.
    curve = op(erf_op, {mul(like(std::sqrt(0.5), x), x)});
  }
  // Divides x by two first, since twice the result may overflow.
  const ValueId half = mul(like(0.5, x), x);
  return mul(half, add(like(1, x), curve));
}

ValueId Composer::cast(ValueId x, DType to) {
  return dtype(x) == to ? x : op(cast_op, {x}, {{"to", to}});
}

ValueId Composer::join(std::initializer_list<ValueId> parts) {
  std::vector<ValueId> lists;
  for (const ValueId part : parts) {
    if (!ok()) return {};
    lists.push_back(builder_.module().value(part).type.rank() == 0 ? unsqueeze(part, {0}) : part);
  }
  return concat(std::move(lists), 0);
}

ValueId Composer::slice(ValueId x, std::int64_t axis, ValueId start, ValueId end,
                        std::int64_t step) {
  return op(slice_op, {x, join({start}), join({end}), list({axis}), list({step})});
}

ValueId Composer::per_channel(ValueId x, int rank) {
  return rank > 2 ? unsqueeze(x, axes_between(1, rank - 1)) : x;
}

std::vector<std::int64_t> axes_between(int first, int last) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(last > first ? last - first : 0));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

}  // namespace scanloom::ops
