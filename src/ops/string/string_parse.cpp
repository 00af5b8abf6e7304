#include "ops/ops.h"
#include "ops/string/number_text.h"
#include "ops/string/text.h"

namespace scanloom::ops {
namespace {
namespace string_parse {

using tensor::Tensor;

constexpr int kTo = 0;

Expected<void> infer(ir::InferCtx& ctx) {
  tensor::Type type = ctx.in(0);
  type.dtype = ctx.attr(kTo).dtype();
  if (dtype_kind(type.dtype) == DTypeKind::complex || type.dtype == DType::string)
    return invalid_model("elements of type {} cannot be read from text", dtype_name(type.dtype));
  ctx.set(0, std::move(type));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const Tensor& x = call.tensor(0);
  const DType to = call.attrs[kTo].dtype();
  SCANLOOM_CHECK_OK(call.memory.check(x.elements() * static_cast<std::int64_t>(dtype_bytes(to))));
  SCANLOOM_TRY(Tensor y, Tensor::zeros(to, x.shape()));
  auto* element = static_cast<std::byte*>(y.mutable_data());
  constexpr std::size_t kShown = 40;
  for (const StringRef& text : x.as<StringRef>()) {
    if (!read_number(text.view(), to, element))
      return fail(Code::invalid_argument, "'{}' is not a valid {}", text.view().substr(0, kShown),
                  dtype_name(to));
    element += dtype_bytes(to);
  }
  return call.give(0, std::move(y));
}

}  // namespace string_parse
}  // namespace

constinit const ir::OpDef string_parse_op{
    .name = "string_parse",
    .doc =
        "The numbers that the strings stand for: decimals with or without exponent, INF and NaN in "
        "any case; integers drop the digits after the point.",
    .inputs = {{"x", ir::Accept::text}},
    .outputs = {"y"},
    .attrs = {{"to", tensor::AttrKind::dtype}},
    .effects = ir::Effects::may_fail,
    .infer = string_parse::infer,
    .run_objects = string_parse::run_objects,
};

}  // namespace scanloom::ops
