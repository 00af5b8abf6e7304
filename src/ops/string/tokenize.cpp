#include <re2/re2.h>

#include <limits>

#include "base/checked.h"
#include "base/function_ref.h"
#include "ops/ops.h"
#include "ops/string/text.h"

namespace scanloom::ops {
namespace {
namespace tokenize {

using tensor::Tensor;

enum TokenizeAttr : int { kExpression, kBetween, kMinChars, kPad, kMarks };

constexpr std::string_view kStartMark = "\x02", kEndMark = "\x03";

RE2::Options expression_options() {
  RE2::Options chosen(RE2::Quiet);
  chosen.set_max_mem(std::int64_t{8} << 20);
  return chosen;
}

Expected<void> check_expression(const RE2& expression) {
  if (expression.ok()) return {};
  return invalid_model("the expression '{}' is not an RE2 expression: {}", expression.pattern(),
                       expression.error());
}

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_expression(RE2(ctx.attr(kExpression).text(), expression_options())));
  tensor::Type tokens = ctx.in(0);
  if (tokens.ranked && tokens.rank() == tensor::kMaxRank)
    return fail(Code::unsupported, "x has {} axes, but the tokens need one more", tokens.rank());
  if (tokens.ranked) tokens.dims.push_back(ctx.dims().fresh());
  ctx.set(0, std::move(tokens));
  return {};
}

/// Returns how many bytes the first character of a text that is not empty has.
std::size_t character_bytes(std::string_view text) {
  std::size_t bytes = 1;
  while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) ++bytes;
  return bytes;
}

std::int64_t characters_in(std::string_view text) {
  std::int64_t characters = 0;
  for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return characters;
}

using Token = FunctionRef<void(std::string_view)>;

struct TokenRule {
  const RE2& expression;
  bool between;
  std::int64_t min_chars;

  void hand_over(std::string_view token, Token found) const {
    if (!token.empty() && characters_in(token) >= min_chars) found(token);
  }
  /// Calls found() for each token of the text.
  void split(std::string_view text, Token found) const {
    const re2::StringPiece all(text.data(), text.size());
    std::size_t from = 0, token = 0;
    re2::StringPiece match;
    while (from < text.size() &&
           expression.Match(all, from, text.size(), RE2::UNANCHORED, &match, 1)) {
      const auto at = static_cast<std::size_t>(match.data() - text.data());
      if (match.empty()) {
        // Nothing was matched: the search goes on one character later.
        if (at >= text.size()) break;
        from = at + character_bytes(text.substr(at));
        continue;
      }
      from = at + match.size();
      hand_over(between ? text.substr(token, at - token) : text.substr(at, match.size()), found);
      token = from;
    }
    if (between) hand_over(text.substr(token), found);
  }
};

Expected<void> add_row(TextMaker& made, const TokenRule& rule, std::string_view text,
                       std::int64_t widest, std::string_view pad, bool marks) {
  const std::int64_t end = made.count() + widest - (marks ? 1 : 0);
  if (marks) SCANLOOM_CHECK_OK(made.add(kStartMark));
  Expected<void> done;
  rule.split(text, [&](std::string_view token) {
    if (done) done = made.add(token);
  });
  SCANLOOM_CHECK_OK(std::move(done));
  while (made.count() < end) SCANLOOM_CHECK_OK(made.add(pad));
  if (marks) SCANLOOM_CHECK_OK(made.add(kEndMark));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const Tensor& x = call.tensor(0);
  const RE2 expression(call.attrs[kExpression].text(), expression_options());
  SCANLOOM_CHECK_OK(check_expression(expression));
  const TokenRule rule{expression, call.attrs[kBetween].integer() != 0,
                       call.attrs[kMinChars].integer()};
  const std::string& pad = call.attrs[kPad].text();
  const bool marks = call.attrs[kMarks].integer() != 0;
  std::int64_t widest = 0, bytes = 0, tokens = 0;
  for (const StringRef& element : x.as<StringRef>()) {
    std::int64_t count = 0;
    rule.split(element.view(), [&](std::string_view token) {
      ++count;
      bytes += static_cast<std::int64_t>(token.size());
    });
    tokens += count;
    widest = std::max(widest, count);
  }
  if (marks && widest > 0) widest += 2;
  constexpr std::int64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();
  const std::int64_t factors[] = {x.elements(), widest};
  const std::int64_t elements = checked_product(factors).value_or(kMaxBytes);
  // Also room for pads and marks.
  const std::int64_t pads[] = {elements - tokens, static_cast<std::int64_t>(pad.size())};
  bytes = saturating_sum(bytes, checked_product(pads).value_or(kMaxBytes));
  bytes = saturating_sum(bytes, marks ? 2 * x.elements() : 0);
  TextMaker made(call);
  SCANLOOM_CHECK_OK(made.reserve(elements, bytes));
  if (widest > 0)
    for (const StringRef& element : x.as<StringRef>())
      SCANLOOM_CHECK_OK(add_row(made, rule, element.view(), widest, pad, marks));
  tensor::Shape shape = x.shape();
  shape.push_back(widest);
  return made.give(0, shape);
}

}  // namespace tokenize
}  // namespace

constinit const ir::OpDef tokenize_op{
    .name = "tokenize",
    .doc =
        "The tokens of each string, along a new last axis that is filled up with `pad`: what "
        "matches the regular expression (in RE2's syntax), or with `between` what is between "
        "matches. Tokens of fewer than `least` characters are left out. With `marks` each list "
        "begins with U+0002 and ends with U+0003, unless there are no tokens at all.",
    .inputs = {{"x", ir::Accept::text}},
    .outputs = {"tokens"},
    .attrs = {{"expression", tensor::AttrKind::text},
              {"between", tensor::AttrKind::integer},
              {"least", tensor::AttrKind::integer},
              {"pad", tensor::AttrKind::text},
              {"marks", tensor::AttrKind::integer}},
    .infer = tokenize::infer,
    .run_objects = tokenize::run_objects,
};

}  // namespace scanloom::ops
