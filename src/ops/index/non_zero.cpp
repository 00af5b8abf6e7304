#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace non_zero {

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

/// Writes the columns of the elements that are not zero, row by row along the last axis.
template <Countable T>
void find(const Operand& x, const Operand& y) {
  const std::int64_t total = y.dims[1];
  if (x.rank == 0) return;  // a column without numbers
  const int last = x.rank - 1;
  const std::int64_t size = x.dims[last], step = x.strides[last], column = y.strides[1];
  std::int64_t found = 0;
  tensor::for_each_index({x.dims, static_cast<std::size_t>(last)}, [&](const tensor::Shape& index) {
    const T* const row = x.data<const T>() + tensor::offset_of(index, x.strides);
    std::int64_t* const y_last = y.data<std::int64_t>() + last * y.strides[0];
    const std::int64_t first = found;
    // Every number is written, and overwritten by the next one unless its element counts:
    // branches on the elements would be mispredicted.
    for (std::int64_t i = 0; i < size && found < total; ++i) {
      y_last[found * column] = i;
      found += is_zero(row[i * step]) ? 0 : 1;
    }
    for (int axis = 0; axis < last; ++axis) {
      std::int64_t* const to = y.data<std::int64_t>() + axis * y.strides[0];
      for (std::int64_t i = first; i < found; ++i) to[i * column] = index[axis];
    }
  });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  tensor::visit_dtype(call.in(0).dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (Countable<T>) find<T>(call.in(0), call.out(0));
  });
  return tensor::Status::ok;
}

}  // namespace non_zero
}  // namespace

constinit const ir::OpDef non_zero_op{
    .name = "non_zero",
    .doc =
        "The indices of all elements that are not 0 (of strings, not empty), in row-major order: "
        "one column each, one row per axis of x.",
    .inputs = {{.name = "x", .accept = ir::Accept::tensor, .decides_sizes = true}},
    .outputs = {"indices"},
    .infer = non_zero::infer,
    .reference = non_zero::reference,
};

}  // namespace scanloom::ops
