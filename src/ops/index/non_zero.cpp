#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {

using tensor::Dim;
using tensor::Operand;
using tensor::Type;

template <class T>
concept Countable = tensor::RealOrInteger<T> || std::is_same_v<T, tensor::StringRef>;

/// For strings, the empty string counts as zero.
template <Countable T>
bool is_zero(const T& value) {
  if constexpr (std::is_same_v<T, tensor::StringRef>)
    return value.view().empty();
  else
    return tensor::widen(value) == 0;
}

std::int64_t count_in(const tensor::Tensor& x) {
  std::int64_t count = 0;
  tensor::visit_dtype(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (Countable<T>)
      for (std::int64_t i = 0; i < x.elements(); ++i)
        count += is_zero(static_cast<const T*>(x.data())[i]) ? 0 : 1;
  });
  return count;
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  if (dtype_kind(x.dtype) == DTypeKind::complex)
    return fail(Code::unsupported, "the input has elements of type {}", dtype_name(x.dtype));
  const tensor::Tensor* known = ctx.constant(0);
  const Dim count = known != nullptr ? Dim(count_in(*known)) : ctx.dims().fresh();
  ctx.set(0, DType::i64, {x.ranked ? Dim(x.rank()) : ctx.dims().fresh(), count});
  return {};
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &x = call.in(0), &y = call.out(0);
  std::int64_t found = 0;
  tensor::visit_dtype(x.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (Countable<T>)
      tensor::for_each_index(x.shape().dims(), [&](const tensor::Shape& index) {
        if (is_zero(x.data<const T>()[tensor::offset_of(index, x.strides)])) return;
        for (int axis = 0; axis < x.rank && found < y.dims[1]; ++axis)
          y.data<std::int64_t>()[axis * y.strides[0] + found * y.strides[1]] = index[axis];
        ++found;
      });
  });
  return tensor::Status::ok;
}

}  // namespace

constinit const ir::OpDef non_zero_op{
    .name = "non_zero",
    .doc =
        "The indices of all elements that are not 0 (of strings, not empty), in row-major order: "
        "one column each, one row per axis of x.",
    .inputs = {{.name = "x", .accept = ir::Accept::tensor, .decides_sizes = true}},
    .outputs = {"indices"},
    .infer = infer,
    .reference = reference,
};

}  // namespace scanloom::ops
