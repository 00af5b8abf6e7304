#include "ir/size_choices.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace scanloom::ir {

using tensor::Dim;
using tensor::DimTable;

namespace {

using Values = std::vector<std::optional<std::int64_t>>;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> value_of(Dim dim, const Values& values) {
  return dim.is_constant() ? dim.value() : values[dim.expr()];
}

/// Returns the magnitude of the term, or kMax if that is too large.
std::int64_t magnitude(const SizeTerm& term, const Values& values) {
  std::int64_t result = std::abs(term.factor);
  for (const Dim dim : term.sizes) {
    const std::int64_t size = value_of(dim, values).value_or(1);
    if (size == 0) return 0;
    if (__builtin_mul_overflow(result, size, &result)) result = kMax;
  }
  return result;
}

bool are_equal(const std::vector<SizeTerm>& some, const std::vector<SizeTerm>& others) {
  return std::ranges::equal(some, others, [](const SizeTerm& a, const SizeTerm& b) {
    return a.factor == b.factor && a.sizes == b.sizes;
  });
}

bool is_sum_positive(const std::vector<SizeTerm>& terms, const Values& values) {
  std::int64_t more = 0, less = 0;
  for (const SizeTerm& term : terms) {
    std::int64_t& side = term.factor > 0 ? more : less;
    if (__builtin_add_overflow(side, magnitude(term, values), &side)) side = kMax;
  }
  return more > less;
}

}  // namespace

SizeChoices::Values SizeChoices::expected_values(const DimTable& dims) const {
  Values symbols(dims.size());
  for (const auto& [symbol, size] : expected_) symbols[symbol.expr()] = size;
  return dims.evaluate(symbols);
}

bool SizeChoices::knows(const DimTable& dims, std::span<const Dim> sizes) const {
  if (std::ranges::all_of(sizes, &Dim::is_constant)) return true;
  if (expected_.empty()) return false;
  const Values values = expected_values(dims);
  return std::ranges::all_of(sizes, [&](Dim dim) { return value_of(dim, values).has_value(); });
}

bool SizeChoices::is_positive(const DimTable& dims, std::vector<SizeTerm> terms) {
  const Values values = expected_values(dims);
  const bool result = is_sum_positive(terms, values);
  const bool depends = std::ranges::any_of(terms, [&](const SizeTerm& term) {
    return std::ranges::any_of(
        term.sizes, [&](Dim dim) { return !dim.is_constant() && values[dim.expr()].has_value(); });
  });
  const auto is_same = [&](const Choice& choice) { return are_equal(choice.terms, terms); };
  if (depends && std::ranges::none_of(made_, is_same)) made_.push_back({std::move(terms), result});
  return result;
}

bool SizeChoices::hold_for(const DimTable& dims, std::span<const std::int64_t> sizes) const {
  if (made_.empty()) return true;
  Values symbols(dims.size());
  for (std::size_t i = 0; i < expected_.size(); ++i) symbols[expected_[i].first.expr()] = sizes[i];
  const Values values = dims.evaluate(symbols);
  return std::ranges::all_of(made_, [&](const Choice& choice) {
    return is_sum_positive(choice.terms, values) == choice.is_positive;
  });
}

}  // namespace scanloom::ir
