#include <re2/re2.h>

#include "ops/ops.h"
#include "ops/string/text.h"

namespace scanloom::ops {
namespace {
namespace regex_full_match {

using tensor::Tensor;

constexpr int kPattern = 0;

RE2::Options options() {
  RE2::Options chosen(RE2::Quiet);
  chosen.set_max_mem(std::int64_t{8} << 20);
  return chosen;
}

// Patterns are automata: matching takes time linear in the text, for any pattern.
Expected<void> check(const RE2& pattern) {
  if (pattern.ok()) return {};
  return invalid_model("the pattern '{}' is not an RE2 expression: {}", pattern.pattern(),
                       pattern.error());
}

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check(RE2(ctx.attr(kPattern).text(), options())));
  tensor::Type type = ctx.in(0);
  type.dtype = DType::boolean;
  ctx.set(0, std::move(type));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const Tensor& x = call.tensor(0);
  const RE2 pattern(call.attrs[kPattern].text(), options());
  SCANLOOM_CHECK_OK(check(pattern));
  SCANLOOM_CHECK_OK(call.memory.check(x.elements()));
  SCANLOOM_TRY(Tensor y, Tensor::zeros(DType::boolean, x.shape()));
  auto* const matches = static_cast<bool*>(y.mutable_data());
  const std::span<const StringRef> elements = x.as<StringRef>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::string_view text = elements[i].view();
    matches[i] = RE2::FullMatch(re2::StringPiece(text.data(), text.size()), pattern);
  }
  return call.give(0, std::move(y));
}

}  // namespace regex_full_match
}  // namespace

constinit const ir::OpDef regex_full_match_op{
    .name = "regex_full_match",
    .doc = "Whether all of the string matches the regular expression, in RE2's syntax.",
    .inputs = {{"x", ir::Accept::text}},
    .outputs = {"y"},
    .attrs = {{"pattern", tensor::AttrKind::text}},
    .infer = regex_full_match::infer,
    .run_objects = regex_full_match::run_objects,
};

}  // namespace scanloom::ops
