#include <cstring>

#include "ops/ops.h"
#include "tensor/object_call.h"

namespace scanloom::ops {
namespace {
namespace string_unpack {

using tensor::Tensor;
using tensor::Type;

Expected<void> infer(ir::InferCtx& ctx) {
  Type positions = ctx.in(0);
  positions.dtype = DType::i64;
  ctx.set(0, positions);
  ctx.set(1, std::move(positions));
  ctx.set(2, DType::u8, {ctx.dims().fresh()});
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const Tensor& x = call.tensor(0);
  const std::span<const StringRef> elements = x.as<StringRef>();
  std::int64_t bytes = 0;
  for (const StringRef& element : elements)
    bytes += static_cast<std::int64_t>(element.view().size());
  SCANLOOM_CHECK_OK(
      call.memory.check(bytes + x.elements() * 2 * std::int64_t{sizeof(std::int64_t)}));
  SCANLOOM_TRY(Tensor begins, Tensor::zeros(DType::i64, x.shape()));
  SCANLOOM_TRY(Tensor ends, Tensor::zeros(DType::i64, x.shape()));
  SCANLOOM_TRY(Tensor symbols, Tensor::zeros(DType::u8, {bytes}));
  auto* const first = static_cast<std::int64_t*>(begins.mutable_data());
  auto* const last = static_cast<std::int64_t*>(ends.mutable_data());
  auto* const text = static_cast<char*>(symbols.mutable_data());
  std::int64_t at = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::string_view view = elements[i].view();
    first[i] = at;
    if (!view.empty()) std::memcpy(text + at, view.data(), view.size());
    last[i] = at += static_cast<std::int64_t>(view.size());
  }
  SCANLOOM_CHECK_OK(call.give(0, std::move(begins)));
  SCANLOOM_CHECK_OK(call.give(1, std::move(ends)));
  return call.give(2, std::move(symbols));
}

}  // namespace string_unpack
}  // namespace

constinit const ir::OpDef string_unpack_op{
    .name = "string_unpack",
    .doc = "The bytes of all strings, one after the other, and where each begins and ends.",
    .inputs = {{"x", ir::Accept::text}},
    .outputs = {"begins", "ends", "symbols"},
    .infer = string_unpack::infer,
    .run_objects = string_unpack::run_objects,
};

}  // namespace scanloom::ops
