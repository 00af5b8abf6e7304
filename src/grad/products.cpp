// The rule of contract: the cotangent of a factor contracts the result's cotangent with the other
// factor.
#include <algorithm>

#include "grad/rules.h"
#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

struct Spec {
  std::string a, b, y;
};

/// Returns the specification with every part written out; for an empty one, that of matmul.
Spec spec_of(const Pull& p) {
  const std::string& text = p.attr("spec").text();
  const int m = p.in(0).rank(), n = p.in(1).rank();
  if (text.empty()) {
    Spec spec{m == 1 ? "k" : "mk", n == 1 ? "k" : "kn", ""};
    if (m > 2) spec.a = "..." + spec.a;
    if (n > 2) spec.b = "..." + spec.b;
    spec.y = std::string(m > 2 || n > 2 ? "..." : "") + (m == 1 ? "" : "m") + (n == 1 ? "" : "n");
    return spec;
  }
  const std::size_t comma = text.find(','), arrow = text.find("->");
  return {text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
}

bool holds(const std::string& text, char label) { return text.find(label) != std::string::npos; }

/// Returns the labels that only this factor has: it was summed over them alone, and all elements
/// along them get the same cotangent. Dots do not count.
std::string own_labels(const std::string& factor, const std::string& other, const std::string& y) {
  std::string own;
  for (const char label : factor)
    if (label != '.' && !holds(other, label) && !holds(y, label)) own += label;
  return own;
}

bool repeats(const std::string& labels) {
  return std::ranges::any_of(
      labels, [&](char label) { return label != '.' && std::ranges::count(labels, label) > 1; });
}

void pull_factor(Pull& p, std::size_t i, const std::string& factor, const std::string& other,
                 const std::string& y) {
  if (!p.wanted[i]) return;
  if (repeats(factor)) {
    p.result[i] = expr::failed(fail(Code::unsupported, "the gradient of a sum along a diagonal"));
    return;
  }
  const Expr& x = p.in(i);
  const Expr& with = p.in(1 - i);
  const std::string own = own_labels(factor, other, y);
  std::string rest;
  for (const char label : factor)
    if (label == '.' || !holds(own, label)) rest += label;
  // Dots that the factor lacks come from broadcasting, over which contract never sums.
  const bool dots = holds(other, '.') || holds(y, '.');
  const bool missing = dots && !holds(factor, '.');
  const std::string to = missing ? "..." + rest : rest;
  Expr cotangent = contract(p.g(), conj(with), y + "," + other + "->" + to);
  if (!own.empty()) {
    if (dots) {
      p.result[i] = expr::failed(
          fail(Code::unsupported, "the gradient of a product that sums over one factor alone"));
      return;
    }
    Axes axes;
    for (std::size_t at = 0; at < factor.size(); ++at)
      if (holds(own, factor[at])) axes.push_back(static_cast<std::int64_t>(at));
    cotangent = broadcast_to(expand_dims(cotangent, axes), shape(x));
  }
  p.result[i] = dots ? sum_to(cotangent, shape(x)) : cotangent;
}

void pull_contract(Pull& p) {
  const Spec spec = spec_of(p);
  pull_factor(p, 0, spec.a, spec.b, spec.y);
  pull_factor(p, 1, spec.b, spec.a, spec.y);
}

}  // namespace

std::span<const RuleRow> product_rules() {
  static const RuleRow rows[] = {{&ops::contract_op, pull_contract}};
  return rows;
}

}  // namespace scanloom::autodiff
