#include <algorithm>
#include <set>

#include "ops/ops.h"
#include "ops/string/letter_case.h"
#include "ops/string/text.h"

namespace scanloom::ops {
namespace {
namespace string_normalize {

using tensor::Shape;
using tensor::Tensor;
using tensor::Type;

constexpr int kChange = 0;
constexpr int kSensitive = 1;
constexpr int kStopwords = 2;

Expected<void> infer(ir::InferCtx& ctx) {
  const std::string& change = ctx.attr(kChange).text();
  if (change != "none" && change != "lower" && change != "upper")
    return invalid_model("the change of case is '{}', but must be none, lower or upper", change);
  Type type = ctx.in(0);
  if (type.ranked) {
    const bool row = type.rank() == 2 && (!type.dims[0].is_constant() || type.dims[0].value() == 1);
    if (type.rank() != 1 && !row)
      return invalid_model("x is {}, but must have one axis, or two of which the first has size 1",
                           to_string(type, ctx.dims()));
    type.dims.back() = ctx.dims().fresh();
    if (type.rank() == 2) type.dims[0] = 1;
  }
  ctx.set(0, std::move(type));
  return {};
}

std::set<std::string> stopwords(const tensor::ObjectCall& call, bool sensitive) {
  std::set<std::string> words;
  if (!call.attrs[kStopwords].present()) return words;
  for (const StringRef& word : call.attrs[kStopwords].tensor().as<StringRef>())
    words.insert(sensitive ? std::string(word.view()) : to_lower(word.view()));
  return words;
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const Tensor& x = call.tensor(0);
  Shape shape = x.shape();
  if (shape.rank() < 1 || shape.rank() > 2 || (shape.rank() == 2 && shape[0] != 1))
    return fail(Code::invalid_argument, "x has sizes {}, but must have [n] or [1,n]",
                shape.to_string());
  const bool sensitive = call.attrs[kSensitive].integer() != 0;
  const std::set<std::string> words = stopwords(call, sensitive);
  const std::string& change = call.attrs[kChange].text();
  TextMaker made(call);
  // A result has at least one string. Of stopwords there may be any number.
  SCANLOOM_CHECK_OK(made.reserve(std::max<std::int64_t>(x.elements(), 1),
                                 words.empty() ? tensor::text_bytes(x) : 0));
  for (const StringRef& element : x.as<StringRef>()) {
    const std::string_view text = element.view();
    if (words.contains(sensitive ? std::string(text) : to_lower(text))) continue;
    SCANLOOM_CHECK_OK(change == "none"    ? made.add(text)
                      : change == "lower" ? made.add(to_lower(text))
                                          : made.add(to_upper(text)));
  }
  if (made.count() == 0) SCANLOOM_CHECK_OK(made.add(""));
  shape[shape.rank() - 1] = made.count();
  return made.give(0, shape);
}

}  // namespace string_normalize
}  // namespace

constinit const ir::OpDef string_normalize_op{
    .name = "string_normalize",
    .doc =
        "The strings that are not stopwords, their case changed as `change` says: none, lower or "
        "upper; one empty string where none is left. Stopwords are compared without regard to case "
        "unless `sensitive`.",
    .inputs = {{"x", ir::Accept::text}},
    .outputs = {"y"},
    .attrs = {{"change", tensor::AttrKind::text},
              {"sensitive", tensor::AttrKind::integer},
              {"stopwords", tensor::AttrKind::tensor, true}},
    .effects = ir::Effects::may_fail,
    .infer = string_normalize::infer,
    .run_objects = string_normalize::run_objects,
};

}  // namespace scanloom::ops
