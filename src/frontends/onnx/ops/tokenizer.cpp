// Tokenizer of com.microsoft, which converters of text pipelines write. It is defined in
// onnxruntime's docs/ContribOperators.md.
#include <algorithm>

#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Returns an expression that matches any of the separators, the first of them that does.
std::string any_of(const std::vector<std::string>& separators) {
  std::string all;
  for (const std::string& each : separators) all += (all.empty() ? "(?:" : "|(?:") + each + ")";
  return all;
}

}  // namespace

Expected<void> convert_tokenizer(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(std::string expression, ctx.text("tokenexp", ""));
  SCANLOOM_TRY(const std::vector<std::string> separators, ctx.texts("separators"));
  SCANLOOM_TRY(const std::int64_t marks, ctx.required_integer("mark"));
  SCANLOOM_TRY(const std::int64_t least, ctx.required_integer("mincharnum"));
  SCANLOOM_TRY(std::string pad, ctx.text("pad_value", ""));
  if (expression.empty() == separators.empty())
    return invalid_model("attributes 'tokenexp' and 'separators' are both {}, but one is needed",
                         separators.empty() ? "missing" : "present");
  // A single empty separator stands for tokens of one character.
  const bool characters = separators.size() == 1 && separators[0].empty();
  const bool between = !separators.empty() && !characters;
  if (between && std::ranges::find(separators, "") != separators.end())
    return invalid_model("attribute 'separators' has an empty text among others");
  if (characters) expression = "(?s:.)";
  if (between) expression = any_of(separators);
  return ctx.emit(ops::tokenize_op, {x},
                  {{"expression", std::move(expression)},
                   {"between", between ? 1 : 0},
                   {"least", least},
                   {"pad", std::move(pad)},
                   {"marks", marks != 0 ? 1 : 0}});
}

}  // namespace scanloom::onnx
