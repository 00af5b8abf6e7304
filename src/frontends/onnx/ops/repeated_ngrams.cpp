// NGramRepeatBlock and BifurcationDetector of com.microsoft, which generation uses. Source: ONNX
// Runtime's docs/ContribOperators.md.
#include "frontends/onnx/ops/repeated_ngrams.h"

#include <limits>

#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

// Each token of an n-gram costs nodes.
constexpr std::int64_t kMaxTokens = 64;

ValueId to_scalar(Composer& c, ValueId x) { return c.reshape(c.cast(x, DType::i64), c.list({})); }

}  // namespace

ValueId block_repeated(Composer& c, ValueId tokens, ValueId scores, std::int64_t size,
                       double filter) {
  const ValueId one = c.number(1), none = c.number(0), length = c.dim(tokens, 1);
  const ValueId runs = c.max(c.sub(c.add(length, one), c.number(size)), none);
  const auto from = [&](std::int64_t offset) {
    const ValueId first = c.number(offset);
    return c.slice(tokens, 1, first, c.add(first, runs));
  };
  const ValueId last = from(size - 1);
  ValueId match = c.equal(last, last);
  for (std::int64_t i = 0; i + 1 < size && c.ok(); ++i) {
    // With fewer than `size` tokens there are no runs, and the position is of no account.
    const ValueId at = c.max(c.add(c.sub(length, c.number(size - 1)), c.number(i)), none);
    match = c.both(match, c.equal(from(i), c.slice(tokens, 1, at, c.add(at, one))));
  }
  const ValueId update = c.where(match, c.like(filter, scores),
                                 c.like(std::numeric_limits<double>::infinity(), scores));
  return c.op(ops::scatter_elements_op, {scores, last, update},
              {{"axis", 1}, {"reduction", "min"}});
}

Expected<void> convert_ngram_repeat_block(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId tokens = c.in(0), scores = c.in(1);
  for (const auto& [input, value] : {std::pair(0, tokens), {1, scores}})
    if (const int rank = c.rank(input, value, 2); c.ok() && rank != 2)
      return invalid_model("{} has {} axes, not 2", ctx.describe_input(input), rank);
  const std::int64_t size = c.take(ctx.required_integer("ngram_size"));
  if (c.ok() && (size < 1 || size > kMaxTokens))
    return invalid_model("attribute 'ngram_size' is {}, not 1 to {}", size, kMaxTokens);
  return c.emit(block_repeated(c, tokens, scores, size, -std::numeric_limits<double>::infinity()));
}

namespace {

/// The tokens, with those predicted up to the first that differs from the source.
ValueId merged_tokens(Composer& c) {
  const ValueId source = c.in(0), tokens = c.in(1), predicted = c.optional_in(3);
  if (!predicted.valid()) return tokens;
  const ValueId start = to_scalar(c, c.in(2)), none = c.number(0);
  const ValueId length = c.dim(source, 0), rest = c.sub(length, start);
  c.op(ops::check_equal_op, {c.max(start, none), start},
       {{"text", "the previous match must be at least {}, but is {}"}});
  c.op(ops::check_equal_op, {c.dim(predicted, 0), c.add(rest, c.number(1))},
       {{"text", "there are {} predicted tokens, but {} are needed"}});
  const ValueId equal =
      c.equal(c.slice(predicted, 0, none, rest), c.slice(source, 0, start, length));
  const ValueId run =
      c.op(ops::cumprod_op, {c.cast(equal, DType::i64), none}, {{"exclusive", 0}, {"reverse", 0}});
  const ValueId kept = c.add(c.reduce_all(run, "sum"), c.number(1));
  return c.concat({tokens, c.slice(predicted, 0, none, kept)}, 0);
}

/// The end of the only run of the source that matches the last tokens, so far as it is found.
struct SuffixSearch {
  ValueId end;   // -1 if there is none
  ValueId over;  // whether longer suffixes are not tried
};

/// Tries the last `size` tokens.
SuffixSearch try_suffix(Composer& c, const SuffixSearch& before, ValueId source, ValueId tokens,
                        std::int64_t size) {
  const ValueId none = c.number(0), one = c.number(1), long_as = c.number(size);
  const ValueId length = c.dim(source, 0), count = c.dim(tokens, 0);
  const ValueId runs = c.max(c.sub(c.add(length, one), long_as), none);
  ValueId match = c.less_equal(none, c.count_up(runs));
  for (std::int64_t i = 0; i < size && c.ok(); ++i) {
    const ValueId first = c.number(i);
    const ValueId at = c.max(c.sub(c.add(count, first), long_as), none);
    match = c.both(match, c.equal(c.slice(source, 0, first, c.add(first, runs)),
                                  c.slice(tokens, 0, at, c.add(at, one))));
  }
  const ValueId found = c.cast(match, DType::i64);
  const ValueId times = c.reduce_all(found, "sum");
  const ValueId at = c.where(match, c.count_up(runs), length);
  const ValueId first = c.reduce_all(c.concat({at, c.join({length})}, 0), "min");
  const ValueId end = c.add(first, long_as);
  // Too short a sequence or no match keep what was found and end the search; so does a match at the
  // end of the source. Several matches count as none, but a longer suffix may be unique.
  const ValueId stops = c.op(ops::logical_or_op, {c.less(count, long_as), c.equal(times, none)});
  const ValueId at_end = c.less_equal(length, end);
  const ValueId unique = c.op(ops::logical_or_op, {c.equal(times, one), at_end});
  const ValueId now = c.where(stops, before.end, c.where(unique, end, c.number(-1)));
  return {c.where(before.over, before.end, now),
          c.op(ops::logical_or_op, {before.over, c.op(ops::logical_or_op, {stops, at_end})})};
}

}  // namespace

Expected<void> convert_bifurcation_detector(NodeCtx& ctx) {
  Composer c(ctx);
  const std::int64_t shortest = c.integer("min_ngram_size", 1);
  const std::int64_t longest = c.integer("max_ngram_size", 3);
  if (c.ok() && (shortest < 1 || longest < shortest || longest > kMaxTokens))
    return invalid_model(
        "attributes 'min_ngram_size' and 'max_ngram_size' are {} and {}, not increasing from 1 to "
        "{}",
        shortest, longest, kMaxTokens);
  const ValueId source = c.in(0), given = c.in(2);
  for (int i = 0; i < 2; ++i)
    if (const int rank = c.rank(i, c.in(i), 1); c.ok() && rank != 1)
      return invalid_model("{} has {} axes, not 1", ctx.describe_input(i), rank);
  SCANLOOM_CHECK_OK(c.done());
  const ValueId tokens = merged_tokens(c);
  SuffixSearch search{c.number(-1), c.less(c.number(0), c.number(0))};
  for (std::int64_t size = shortest; size <= longest && c.ok(); ++size)
    search = try_suffix(c, search, source, tokens, size);
  if (c.ok() && ctx.wants(1)) {
    const ValueId found = c.reshape(search.end, c.shape(given));
    if (c.ok()) ctx.set_output(1, found);
  }
  return c.emit(tokens);
}

}  // namespace scanloom::onnx
