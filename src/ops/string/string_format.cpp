#include <algorithm>

#include "ops/ops.h"
#include "ops/string/number_text.h"
#include "ops/string/text.h"

namespace scanloom::ops {
namespace {
namespace string_format {

using tensor::Tensor;

Expected<void> infer(ir::InferCtx& ctx) {
  tensor::Type type = ctx.in(0);
  if (dtype_kind(type.dtype) == DTypeKind::complex || type.dtype == DType::string)
    return invalid_model("elements of type {} have no text", dtype_name(type.dtype));
  type.dtype = DType::string;
  ctx.set(0, std::move(type));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const Tensor& x = call.tensor(0);
  const auto* element = static_cast<const std::byte*>(x.data());
  // Most numbers fit in 8 bytes. The first block is for a few of them only: the further blocks,
  // which are added as texts are written, leave less memory unused.
  constexpr std::int64_t kBytesOfNumber = 8, kMaxFirstBytes = 64;
  TextMaker made(call);
  SCANLOOM_CHECK_OK(
      made.reserve(x.elements(), std::min(x.elements() * kBytesOfNumber, kMaxFirstBytes)));
  for (std::int64_t i = 0; i < x.elements(); ++i, element += dtype_bytes(x.dtype()))
    SCANLOOM_CHECK_OK(made.add(number_text(x.dtype(), element)));
  return made.give(0, x.shape());
}

}  // namespace string_format
}  // namespace

constinit const ir::OpDef string_format_op{
    .name = "string_format",
    .doc =
        "Each number as the shortest text that reads back as it, with an exponent below 1e-4 and "
        "from 1e16 on; booleans are True and False.",
    .inputs = {{"x", ir::Accept::tensor}},
    .outputs = {"y"},
    .infer = string_format::infer,
    .run_objects = string_format::run_objects,
};

}  // namespace scanloom::ops
