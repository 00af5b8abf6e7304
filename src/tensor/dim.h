// Dim: the size of an axis: a number, a symbol, or an expression over symbols. Expressions are
// interned in a DimTable, so equal sizes compare equal. A size that depends on data is a fresh
// symbol. Used by types (ir), shape inference (ops) and binding (plan).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace scanloom::tensor {

/// A number, or entry `expr - 1` of the DimTable it belongs to.
class Dim {
 public:
  constexpr Dim() = default;
  constexpr Dim(std::int64_t value) : value_(value) {}
  static constexpr Dim from_expr(std::uint32_t index) {
    Dim dim;
    dim.expr_ = index + 1;
    return dim;
  }

  [[nodiscard]] constexpr bool is_constant() const { return expr_ == 0; }
  /// Precondition: is_constant().
  [[nodiscard]] constexpr std::int64_t value() const { return value_; }
  /// Precondition: !is_constant().
  [[nodiscard]] constexpr std::uint32_t expr() const { return expr_ - 1; }
  friend constexpr auto operator<=>(const Dim&, const Dim&) = default;

 private:
  std::int64_t value_ = 0;
  std::uint32_t expr_ = 0;
};

enum class DimKind : std::uint8_t { symbol, fresh, add, mul, floor_div, min, max };

struct DimNode {
  DimKind kind;
  std::string text;  ///< as printed; for a symbol, its name, quoted if need be
  Dim left, right;   ///< operands of other kinds; a constant factor is on the left, a constant
                     ///< summand on the right
};

/// Owns the expressions of one module. Operands always precede the expressions that use them.
/// Expressions are normalised to ordered sums of products, so equal polynomials are equal Dims;
/// those longer than kMaxText characters become fresh symbols.
class DimTable {
 public:
  static constexpr std::size_t kMaxText = 512;

  /// The symbol of this name; a name means the same size everywhere in the module. Symbols are
  /// never negative.
  Dim symbol(std::string_view name);
  /// A new value, unrelated to any other; printed as "?<number>".
  Dim fresh();
  /// The fresh symbol with this number, for readers of the text form.
  Dim fresh_numbered(std::uint32_t number);

  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b);
  Dim mul(Dim a, Dim b);
  /// Rounds towards minus infinity. A constant divisor of zero yields a fresh symbol; a symbolic
  /// divisor is assumed not to be zero.
  Dim floor_div(Dim a, Dim b);
  Dim min(Dim a, Dim b);
  Dim max(Dim a, Dim b);

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] const DimNode& node(std::uint32_t index) const { return nodes_[index]; }
  /// "7", "T", "2*T*S-U+1", "floor_div(T,2)", "min(T,?3)"; names that are not identifiers are
  /// double-quoted. parse() reads it back.
  [[nodiscard]] std::string to_string(Dim dim) const;
  /// Parses the whole text, without blanks; nullopt if it is not an expression.
  std::optional<Dim> parse(std::string_view text);

  [[nodiscard]] bool is_fresh(Dim dim) const {
    return !dim.is_constant() && nodes_[dim.expr()].kind == DimKind::fresh;
  }
  /// Whether the expression contains a fresh symbol with an index of `first` or more.
  [[nodiscard]] bool uses_fresh_from(Dim dim, std::size_t first) const;

  /// The value of every entry, given the values of the symbols (indexed by entry; nullopt:
  /// unknown). An entry that overflows is unknown. Linear in size().
  [[nodiscard]] std::vector<std::optional<std::int64_t>> evaluate(
      std::span<const std::optional<std::int64_t>> symbols) const;

 private:
  /// A product of atoms (symbols, quotients, minima, maxima), ordered by their text.
  struct Term {
    std::vector<Dim> atoms;
    std::int64_t factor = 0;
  };
  using Terms = std::map<std::string, Term, std::less<>>;

  [[nodiscard]] Terms terms_of(Dim dim) const;
  void add_term(Terms& terms, std::vector<Dim> atoms, std::int64_t factor, bool& overflow) const;
  Dim from_terms(const Terms& terms);
  Dim from_term(const Term& term);
  std::optional<Terms> divide(const Terms& terms, const Term& divisor, Terms& rest) const;
  /// min(a, min(a, b)) is min(a, b).
  [[nodiscard]] bool has_operand(Dim dim, DimKind kind, Dim operand) const;
  Dim min_or_max(DimKind kind, Dim a, Dim b);
  [[nodiscard]] bool is_non_negative(Dim dim) const;
  [[nodiscard]] bool is_non_negative_atom(Dim atom) const;
  Dim intern(DimKind kind, Dim a, Dim b);
  [[nodiscard]] std::string render(DimKind kind, Dim a, Dim b) const;
  Dim append(DimNode node);

  std::vector<DimNode> nodes_;
  std::map<std::string, std::uint32_t, std::less<>> symbols_;
  std::map<std::uint32_t, std::uint32_t> fresh_;
  std::map<std::tuple<DimKind, Dim, Dim>, std::uint32_t> interned_;
};

}  // namespace scanloom::tensor
