#include "opmath/einsum_text.h"

#include <algorithm>

namespace scanloom::tensor {
namespace {

/// Writes "..." if the ellipsis' axes are together and in order; returns false if they are not.
bool append_subscripts(std::string& text, const Subscripts& subscripts) {
  int ellipsis = -1;  // the last of its axes seen; they count down to 0
  for (const std::uint8_t label : subscripts.view()) {
    if (is_ellipsis(label)) {
      const int axis = label - kEllipsisLabel;
      if (ellipsis >= 0 && axis != ellipsis - 1) return false;
      if (ellipsis < 0) text += "...";
      ellipsis = axis;
    } else {
      if (ellipsis > 0) return false;
      text += static_cast<char>(label);
    }
  }
  return ellipsis <= 0;
}

}  // namespace

std::optional<std::string> text_of(const Einsum& einsum) {
  std::string text;
  if (!append_subscripts(text, einsum.a)) return std::nullopt;
  text += ',';
  if (!append_subscripts(text, einsum.b)) return std::nullopt;
  text += "->";
  if (!append_subscripts(text, einsum.out)) return std::nullopt;
  return text;
}

std::uint8_t unused_letter(const Einsum& einsum, std::uint8_t first) {
  std::uint8_t letter = first;
  while (einsum.a.find(letter) >= 0 || einsum.b.find(letter) >= 0)
    letter = letter == 'z' ? 'A' : letter == 'Z' ? 'a' : static_cast<std::uint8_t>(letter + 1);
  return letter;
}

void insert_label(Subscripts& subscripts, int axis, std::uint8_t label) {
  const auto at = subscripts.labels.begin() + axis;
  const auto end = subscripts.labels.begin() + subscripts.count;
  std::copy_backward(at, end, end + 1);
  *at = label;
  ++subscripts.count;
}

bool sizes_fit(const Type& a, const Type& b, const Einsum& einsum) {
  std::vector<std::pair<std::uint8_t, Dim>> seen;
  for (const std::size_t operand : {0, 1}) {
    const std::vector<Dim>& dims = (operand == 0 ? a : b).dims;
    const std::span<const std::uint8_t> labels = (operand == 0 ? einsum.a : einsum.b).view();
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      const auto other = std::ranges::find(seen, labels[axis], &decltype(seen)::value_type::first);
      if (other == seen.end()) {
        seen.emplace_back(labels[axis], dims[axis]);
        continue;
      }
      const bool broadcasts =
          is_ellipsis(labels[axis]) && (other->second == Dim(1) || dims[axis] == Dim(1));
      if (other->second != dims[axis] && !broadcasts) return false;
    }
  }
  return true;
}

}  // namespace scanloom::tensor
