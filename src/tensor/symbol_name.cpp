#include "tensor/symbol_name.h"

#include <charconv>

namespace scanloom::tensor {
namespace {

/// The character after a backslash of `quoted()` in dim.cpp; moves `at` to its last byte.
char escaped(std::string_view text, std::size_t& at) {
  if (text[at] != 'x' || at + 2 >= text.size()) return text[at];
  unsigned code = 0;
  std::from_chars(text.data() + at + 1, text.data() + at + 3, code, 16);
  at += 2;
  return static_cast<char>(code);
}

}  // namespace

std::string symbol_name(const DimTable& dims, Dim dim) {
  if (dim.is_constant() || dims.node(dim.expr()).kind != DimKind::symbol) return {};
  const std::string& text = dims.node(dim.expr()).text;
  if (text.size() < 2 || text.front() != '"') return text;
  std::string name;
  for (std::size_t at = 1; at + 1 < text.size(); ++at)
    name += text[at] == '\\' ? escaped(text, ++at) : text[at];
  return name;
}

}  // namespace scanloom::tensor
