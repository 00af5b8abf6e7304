#include "tensor/dim.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace scanloom::tensor {
namespace {

constexpr std::size_t kMaxTerms = 32;

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto part = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; };
  return !name.empty() && letter(name[0]) && std::ranges::all_of(name, part);
}

/// Line feeds and other control characters become \xNN, so that the text stays one line.
std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      continue;
    }
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

/// nullopt for a zero divisor and for the one quotient that overflows.
std::optional<std::int64_t> floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return std::nullopt;
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}

std::optional<std::int64_t> apply(DimKind kind, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (kind) {
    case DimKind::add:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case DimKind::mul:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case DimKind::floor_div:
      return floor_quotient(a, b);
    case DimKind::min:
      return std::min(a, b);
    case DimKind::max:
      return std::max(a, b);
    case DimKind::symbol:
    case DimKind::fresh:
      break;
  }
  return std::nullopt;
}

}  // namespace

Dim DimTable::append(DimNode node) {
  nodes_.push_back(std::move(node));
  return Dim::from_expr(static_cast<std::uint32_t>(nodes_.size() - 1));
}

Dim DimTable::symbol(std::string_view name) {
  if (const auto found = symbols_.find(name); found != symbols_.end())
    return Dim::from_expr(found->second);
  const Dim dim =
      append({DimKind::symbol, is_identifier(name) ? std::string(name) : quoted(name), {}, {}});
  symbols_.emplace(std::string(name), dim.expr());
  return dim;
}

Dim DimTable::fresh() { return fresh_numbered(fresh_.empty() ? 0 : fresh_.rbegin()->first + 1); }

Dim DimTable::fresh_numbered(std::uint32_t number) {
  if (const auto found = fresh_.find(number); found != fresh_.end())
    return Dim::from_expr(found->second);
  const Dim dim = append({DimKind::fresh, "?" + std::to_string(number), {}, {}});
  fresh_.emplace(number, dim.expr());
  return dim;
}

std::string DimTable::to_string(Dim dim) const {
  return dim.is_constant() ? std::to_string(dim.value()) : nodes_[dim.expr()].text;
}

std::string DimTable::render(DimKind kind, Dim a, Dim b) const {
  const std::string left = to_string(a);
  const std::string right = to_string(b);
  switch (kind) {
    case DimKind::add:
      return left + (right.starts_with('-') ? "" : "+") + right;
    case DimKind::mul:
      return (a == Dim(-1) ? "-" : left + "*") + right;
    case DimKind::floor_div:
      return "floor_div(" + left + "," + right + ")";
    case DimKind::min:
      return "min(" + left + "," + right + ")";
    case DimKind::max:
      return "max(" + left + "," + right + ")";
    case DimKind::symbol:
    case DimKind::fresh:
      break;
  }
  return left;
}

Dim DimTable::intern(DimKind kind, Dim a, Dim b) {
  const auto [entry, added] = interned_.try_emplace({kind, a, b}, 0);
  if (!added) return Dim::from_expr(entry->second);
  std::string text = render(kind, a, b);
  const Dim dim = text.size() > kMaxText ? fresh() : append({kind, std::move(text), a, b});
  entry->second = dim.expr();
  return dim;
}

void DimTable::add_term(Terms& terms, std::vector<Dim> atoms, std::int64_t factor,
                        bool& overflow) const {
  // By text, not by index: the order must survive printing and parsing.
  std::ranges::sort(atoms, {}, [this](Dim atom) { return to_string(atom); });
  std::string key;
  for (const Dim atom : atoms) key += to_string(atom) + "*";
  Term& term = terms[key];
  overflow |= __builtin_add_overflow(term.factor, factor, &term.factor);
  term.atoms = std::move(atoms);
  if (term.factor == 0) terms.erase(key);
}

DimTable::Terms DimTable::terms_of(Dim dim) const {
  Terms terms;
  bool overflow = false;  // cannot happen: the terms of a canonical sum differ
  while (true) {
    const bool sum = !dim.is_constant() && nodes_[dim.expr()].kind == DimKind::add;
    Dim product = sum ? nodes_[dim.expr()].right : dim;
    std::int64_t factor = 1;
    std::vector<Dim> atoms;
    while (!product.is_constant() && nodes_[product.expr()].kind == DimKind::mul) {
      const DimNode& node = nodes_[product.expr()];
      if (node.left.is_constant()) {
        factor = node.left.value();
        product = node.right;
      } else {
        atoms.push_back(node.right);
        product = node.left;
      }
    }
    if (product.is_constant())
      factor = product.value();
    else
      atoms.push_back(product);
    if (factor != 0) add_term(terms, std::move(atoms), factor, overflow);
    if (!sum) return terms;
    dim = nodes_[dim.expr()].left;
  }
}

Dim DimTable::from_term(const Term& term) {
  Dim product = term.atoms.front();
  for (std::size_t i = 1; i < term.atoms.size(); ++i)
    product = intern(DimKind::mul, product, term.atoms[i]);
  return term.factor == 1 ? product : intern(DimKind::mul, term.factor, product);
}

Dim DimTable::from_terms(const Terms& terms) {
  std::size_t length = 0;
  for (const auto& [key, term] : terms) length += key.size() + 21;
  if (terms.size() > kMaxTerms || length > kMaxText) return fresh();
  std::optional<Dim> sum;
  // Positive terms come first, so that a difference reads "T-S"; the number is last.
  for (const bool negative : {false, true})
    for (const auto& [key, term] : terms) {
      if (term.atoms.empty() || (term.factor < 0) != negative) continue;
      const Dim next = from_term(term);
      sum = sum ? intern(DimKind::add, *sum, next) : next;
    }
  const auto number = terms.find("");
  if (number == terms.end()) return sum.value_or(0);
  return sum ? intern(DimKind::add, *sum, number->second.factor) : Dim(number->second.factor);
}

Dim DimTable::add(Dim a, Dim b) {
  if (a == Dim(0)) return b;
  if (b == Dim(0)) return a;
  if (a.is_constant() && b.is_constant()) {
    const auto sum = apply(DimKind::add, a.value(), b.value());
    return sum ? Dim(*sum) : fresh();
  }
  Terms terms = terms_of(a);
  bool overflow = false;
  for (auto& [key, term] : terms_of(b)) add_term(terms, term.atoms, term.factor, overflow);
  return overflow ? fresh() : from_terms(terms);
}

Dim DimTable::sub(Dim a, Dim b) { return a == b ? Dim(0) : add(a, mul(-1, b)); }

Dim DimTable::mul(Dim a, Dim b) {
  if (a == Dim(0) || b == Dim(0)) return 0;
  if (a == Dim(1)) return b;
  if (b == Dim(1)) return a;
  if (a.is_constant() && b.is_constant()) {
    const auto product = apply(DimKind::mul, a.value(), b.value());
    return product ? Dim(*product) : fresh();
  }
  const Terms left = terms_of(a);
  const Terms right = terms_of(b);
  if (left.size() * right.size() > kMaxTerms) return fresh();
  Terms terms;
  bool overflow = false;
  for (const auto& [left_key, x] : left)
    for (const auto& [right_key, y] : right) {
      std::int64_t factor = 0;
      overflow |= __builtin_mul_overflow(x.factor, y.factor, &factor);
      std::vector<Dim> atoms = x.atoms;
      atoms.insert(atoms.end(), y.atoms.begin(), y.atoms.end());
      add_term(terms, std::move(atoms), factor, overflow);
    }
  return overflow ? fresh() : from_terms(terms);
}

std::optional<DimTable::Terms> DimTable::divide(const Terms& terms, const Term& divisor,
                                                Terms& rest) const {
  Terms quotient;
  bool overflow = false;
  for (const auto& [key, term] : terms) {
    std::vector<Dim> atoms = term.atoms;
    bool divides = divisor.factor != -1 && term.factor % divisor.factor == 0;
    for (const Dim atom : divisor.atoms) {
      const auto found = std::ranges::find(atoms, atom);
      divides = divides && found != atoms.end();
      if (divides) atoms.erase(found);
    }
    if (divides)
      add_term(quotient, std::move(atoms), term.factor / divisor.factor, overflow);
    else
      rest.emplace(key, term);
  }
  if (quotient.empty() || overflow) return std::nullopt;
  return quotient;
}

Dim DimTable::floor_div(Dim a, Dim b) {
  if (b == Dim(0)) return fresh();
  if (b == Dim(1)) return a;
  if (b == Dim(-1)) return mul(-1, a);
  if (a.is_constant() && b.is_constant()) {
    const auto quotient = floor_quotient(a.value(), b.value());
    return quotient ? Dim(*quotient) : fresh();
  }
  if (a == Dim(0)) return 0;
  // floor((q * d + r) / d) = q + floor(r / d) for integer q and d != 0.
  const Terms divisor = terms_of(b);
  Terms rest;
  if (divisor.size() == 1)
    if (const auto quotient = divide(terms_of(a), divisor.begin()->second, rest)) {
      const Dim whole = from_terms(*quotient);
      return rest.empty() ? whole : add(whole, floor_div(from_terms(rest), b));
    }
  return a == b ? Dim(1) : intern(DimKind::floor_div, a, b);
}

bool DimTable::is_non_negative(Dim dim) const {
  for (const auto& [key, term] : terms_of(dim)) {
    if (term.factor < 0) return false;
    for (const Dim atom : term.atoms)
      if (!is_non_negative_atom(atom)) return false;
  }
  return true;
}

// The nesting of minima and maxima is bounded by the length of their text.
bool DimTable::is_non_negative_atom(Dim atom) const {
  const DimNode& node = nodes_[atom.expr()];
  const auto non_negative = [&](Dim dim) { return is_non_negative(dim); };
  if (node.kind == DimKind::min) return non_negative(node.left) && non_negative(node.right);
  if (node.kind == DimKind::max) return non_negative(node.left) || non_negative(node.right);
  return node.kind == DimKind::symbol;
}

bool DimTable::has_operand(Dim dim, DimKind kind, Dim operand) const {
  if (dim.is_constant()) return false;
  const DimNode& node = nodes_[dim.expr()];
  return node.kind == kind && (node.left == operand || node.right == operand);
}

Dim DimTable::min_or_max(DimKind kind, Dim a, Dim b) {
  if (a == b) return a;
  // If the sign of a - b is known, one of the two is the answer.
  const Dim difference = sub(a, b);
  if (is_non_negative(difference)) return kind == DimKind::max ? a : b;
  if (is_non_negative(mul(-1, difference))) return kind == DimKind::max ? b : a;
  if (has_operand(a, kind, b)) return a;
  if (has_operand(b, kind, a)) return b;
  if (to_string(b) < to_string(a)) std::swap(a, b);
  return intern(kind, a, b);
}

Dim DimTable::min(Dim a, Dim b) { return min_or_max(DimKind::min, a, b); }
Dim DimTable::max(Dim a, Dim b) { return min_or_max(DimKind::max, a, b); }

bool DimTable::uses_fresh_from(Dim dim, std::size_t first) const {
  // Operands precede their users, so only entries from `first` on can lead to such a symbol, and
  // the text limit bounds how many an expression has.
  std::vector<Dim> pending{dim};
  while (!pending.empty()) {
    const Dim next = pending.back();
    pending.pop_back();
    if (next.is_constant() || next.expr() < first) continue;
    const DimNode& node = nodes_[next.expr()];
    if (node.kind == DimKind::fresh) return true;
    if (node.kind == DimKind::symbol) continue;
    pending.push_back(node.left);
    pending.push_back(node.right);
  }
  return false;
}

std::vector<std::optional<std::int64_t>> DimTable::evaluate(
    std::span<const std::optional<std::int64_t>> symbols) const {
  std::vector<std::optional<std::int64_t>> values(nodes_.size());
  const auto value_of = [&](Dim dim) {
    return dim.is_constant() ? std::optional(dim.value()) : values[dim.expr()];
  };
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const DimNode& node = nodes_[i];
    if (node.kind == DimKind::symbol || node.kind == DimKind::fresh) {
      if (i < symbols.size()) values[i] = symbols[i];
      continue;
    }
    const auto left = value_of(node.left);
    const auto right = value_of(node.right);
    if (left && right) values[i] = apply(node.kind, *left, *right);
  }
  return values;
}

}  // namespace scanloom::tensor
