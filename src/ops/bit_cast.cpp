#include "ops/lines.h"
#include "ops/ops.h"
#include "tensor/for_each.h"
#include "tensor/small_int.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {

using tensor::Operand;

constexpr int kTo = 0;

Expected<void> infer(ir::InferCtx& ctx) {
  const DType from = ctx.dtype(), to = ctx.attr(kTo).dtype();
  const int bits = dtype_file_bits(from);
  if (bits == 0 || bits != dtype_file_bits(to))
    return invalid_model("elements of type {} have {} bits, those of type {} have {}",
                         dtype_name(from), bits, dtype_name(to), dtype_file_bits(to));
  tensor::Type y = ctx.in(0);
  y.dtype = to;
  ctx.set(0, std::move(y));
  return {};
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
  tensor::visit_bytes(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
    copy_bits<T>(call.in(0), call.out(0));
  });
  return tensor::Status::ok;
}

}  // namespace

constinit const ir::OpDef bit_cast_op{
    .name = "bit_cast",
    .doc = "The same bits read as another element type, of as many bits.",
    .inputs = {{"x", ir::Accept::tensor}},
    .outputs = {"y"},
    .attrs = {{"to", tensor::AttrKind::dtype}},
    .infer = infer,
    .reference = reference,
};

}  // namespace scanloom::ops
