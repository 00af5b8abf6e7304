#include "base/checked.h"
#include "ops/ops.h"
#include "ops/string/text.h"

namespace scanloom::ops {
namespace {
namespace string_pack {

using tensor::Tensor;
using tensor::Type;

Expected<void> infer(ir::InferCtx& ctx) {
  const Type &begins = ctx.in(0), &ends = ctx.in(1), &symbols = ctx.in(2);
  if (symbols.dtype != DType::u8 || (symbols.ranked && symbols.rank() != 1))
    return invalid_model("symbols is {}, but must be a list of u8", to_string(symbols, ctx.dims()));
  if (begins.is_static() && ends.is_static() && begins.shape() != ends.shape())
    return invalid_model("begins has sizes {}, but ends has {}", begins.shape().to_string(),
                         ends.shape().to_string());
  Type type = begins.ranked ? begins : ends;
  type.dtype = DType::string;
  ctx.set(0, std::move(type));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const Tensor &begins = call.tensor(0), &ends = call.tensor(1), &symbols = call.tensor(2);
  if (begins.shape() != ends.shape())
    return fail(Code::invalid_argument, "begins has sizes {}, but ends has {}",
                begins.shape().to_string(), ends.shape().to_string());
  SCANLOOM_TRY(const auto counted,
               call.memory.hold(begins.elements() * 2 * std::int64_t{sizeof(std::int64_t)}));
  const auto first = *tensor::to_integers(begins), last = *tensor::to_integers(ends);
  const auto* const text = static_cast<const char*>(symbols.data());
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i] < 0 || first[i] > last[i] || last[i] > symbols.elements())
      return fail(Code::invalid_argument, "string {} is [{}, {}), outside the {} symbols", i,
                  first[i], last[i], symbols.elements());
    bytes = saturating_sum(bytes, last[i] - first[i]);
  }
  TextMaker made(call);
  SCANLOOM_CHECK_OK(made.reserve(begins.elements(), bytes));
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto size = static_cast<std::size_t>(last[i] - first[i]);
    SCANLOOM_CHECK_OK(
        made.add(size == 0 ? std::string_view() : std::string_view(text + first[i], size)));
  }
  return made.give(0, begins.shape());
}

}  // namespace string_pack
}  // namespace

constinit const ir::OpDef string_pack_op{
    .name = "string_pack",
    .doc = "Strings whose bytes are symbols begins .. ends - 1, from two numbers for each.",
    .inputs = {{"begins", ir::Accept::index},
               {"ends", ir::Accept::index},
               {"symbols", ir::Accept::integer}},
    .outputs = {"y"},
    .effects = ir::Effects::may_fail,
    .infer = string_pack::infer,
    .run_objects = string_pack::run_objects,
};

}  // namespace scanloom::ops
