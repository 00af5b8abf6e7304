#include "ops/matrix/einsum.h"

#include <algorithm>
#include <array>

namespace scanloom::ops {

using ir::ValueId;

namespace {

/// Without "->", the result has the letters that occur once, in alphabetic order, after "...".
std::string explicit_equation(const std::string& equation) {
  if (equation.find("->") != std::string::npos) return equation;
  std::string once;
  for (const char letter : equation)
    if (letter != ',' && letter != '.' && std::ranges::count(equation, letter) == 1)
      once.push_back(letter);
  std::ranges::sort(once);
  const bool has_ellipsis = equation.find("...") != std::string::npos;
  return equation + "->" + (has_ellipsis ? "..." : "") + once;
}

struct Equation {
  std::vector<std::string> terms;  // of the operands
  std::string result;
  /// By letter: the last operand that names it; one past the last operand if the result does.
  std::array<std::size_t, 256> last_use{};

  [[nodiscard]] std::size_t& last(char letter) {
    return last_use[static_cast<unsigned char>(letter)];
  }
};

Equation parts_of(const std::string& equation) {
  Equation parts;
  const std::size_t arrow = equation.find("->");
  parts.result = equation.substr(arrow + 2);
  std::size_t start = 0;
  while (start <= arrow) {
    const std::size_t end = std::min(equation.find(',', start), arrow);
    parts.terms.push_back(equation.substr(start, end - start));
    start = end + 1;
  }
  for (std::size_t i = 0; i < parts.terms.size(); ++i)
    for (const char letter : parts.terms[i]) parts.last(letter) = i;
  for (const char letter : parts.result) parts.last(letter) = parts.terms.size();
  return parts;
}

/// Returns the axes that the product of two operands must keep: those named by the result or by an
/// operand from `next` on.
std::string kept_axes(const std::string& both, Equation& parts, std::size_t next) {
  std::string kept = both.find("...") != std::string::npos ? "..." : "";
  for (const char letter : both)
    if (letter != '.' && parts.last(letter) >= next && kept.find(letter) == std::string::npos)
      kept.push_back(letter);
  return kept;
}

}  // namespace

ValueId einsum(Composer& c, const std::vector<ValueId>& operands, std::string equation) {
  if (!c.ok() || operands.empty()) return {};
  std::erase(equation, ' ');
  Equation parts = parts_of(explicit_equation(equation));
  const std::size_t count = operands.size();
  if (parts.terms.size() != count) {
    c.refuse(invalid_model("'{}' has {} operands, but the node has {} inputs", equation,
                           parts.terms.size(), count));
    return {};
  }
  if (count == 1)
    return c.contract(operands[0], c.like(1, operands[0]), parts.terms[0] + ",->" + parts.result);
  ValueId product = operands[0];
  std::string axes = parts.terms[0];
  for (std::size_t i = 1; i < count; ++i) {
    const std::string result =
        i + 1 == count ? parts.result : kept_axes(axes + parts.terms[i], parts, i + 1);
    product = c.contract(product, operands[i], axes + "," + parts.terms[i] + "->" + result);
    axes = result;
  }
  return product;
}

}  // namespace scanloom::ops
