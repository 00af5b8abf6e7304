#include "opmath/contraction.h"

#include <algorithm>

namespace scanloom::tensor {
namespace {

/// One operand's part of a specification: its letters, `before` of them in front of the ellipsis.
struct Term {
  std::array<std::uint8_t, kMaxRank> letters{};
  int count = 0;
  int before = -1;  ///< -1: no ellipsis
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Expected<Term> read_term(std::string_view text) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.substr(i).starts_with("...")) {
      if (term.before >= 0) return invalid_model("einsum: '{}' has two ellipses", text);
      term.before = term.count;
      i += 2;
      continue;
    }
    if (!is_letter(text[i])) return invalid_model("einsum: '{}' is not a list of letters", text);
    if (term.count == kMaxRank)
      return invalid_model("einsum: '{}' has more than {} letters", text, kMaxRank);
    term.letters[static_cast<std::size_t>(term.count++)] = static_cast<std::uint8_t>(text[i]);
  }
  return term;
}

Expected<Subscripts> place(const Term& term, int ellipsis) {
  const int rank = term.count + (term.before >= 0 ? ellipsis : 0);
  if (rank > kMaxRank) return invalid_model("einsum: {} axes, more than {}", rank, kMaxRank);
  Subscripts result;
  for (int i = 0; i <= term.count; ++i) {
    if (i == term.before)
      for (int axis = ellipsis - 1; axis >= 0; --axis)
        result.labels[static_cast<std::size_t>(result.count++)] =
            static_cast<std::uint8_t>(kEllipsisLabel + axis);
    if (i < term.count)
      result.labels[static_cast<std::size_t>(result.count++)] =
          term.letters[static_cast<std::size_t>(i)];
  }
  return result;
}

Expected<Subscripts> place_operand(const Term& term, int rank, int operand) {
  const bool fits = term.before >= 0 ? term.count <= rank : term.count == rank;
  if (!fits)
    return invalid_model("einsum: operand {} has {} axes, but the specification names {}", operand,
                         rank, term.count);
  return place(term, rank - term.count);
}

int ellipsis_of(const Term& term, int rank) { return term.before >= 0 ? rank - term.count : 0; }

// Letters that occur once in both operands together, in alphabetical order.
Term implicit_output(const Term& a, const Term& b) {
  Term out;
  if (a.before >= 0 || b.before >= 0) out.before = 0;
  for (int letter = 'A'; letter <= 'z' && out.count < kMaxRank; ++letter) {
    const auto label = static_cast<std::uint8_t>(letter);
    if (std::ranges::count(a.letters, label) + std::ranges::count(b.letters, label) == 1)
      out.letters[static_cast<std::size_t>(out.count++)] = label;
  }
  return out;
}

Expected<void> check_output(const Einsum& einsum, bool drops_ellipsis) {
  if (drops_ellipsis) return invalid_model("einsum: the result lacks the ellipsis");
  const auto labels = einsum.out.view();
  for (const std::uint8_t label : labels) {
    if (einsum.a.find(label) < 0 && einsum.b.find(label) < 0)
      return invalid_model("einsum: '{}' of the result occurs in no operand",
                           static_cast<char>(label));
    if (std::ranges::count(labels, label) > 1)
      return invalid_model("einsum: '{}' occurs twice in the result", static_cast<char>(label));
  }
  return {};
}

// Labels that are summed over, each once: those of a in its order, then those only in b.
int summed_labels(const Einsum& einsum, std::array<std::uint8_t, 2 * kMaxRank>& labels) {
  int count = 0;
  for (const Subscripts* operand : {&einsum.a, &einsum.b})
    for (const std::uint8_t label : operand->view()) {
      const auto last = labels.begin() + count;
      if (einsum.out.find(label) < 0 && std::find(labels.begin(), last, label) == last)
        labels[static_cast<std::size_t>(count++)] = label;
    }
  return count;
}

std::string_view matmul_spec(int rank_a, int rank_b) {
  if (rank_a == 1) return rank_b == 1 ? "k,k->" : "k,...kn->...n";
  return rank_b == 1 ? "...mk,k->...m" : "...mk,...kn->...mn";
}

/// Size and stride of a label in an operand; for a label that occurs twice, along the diagonal.
struct Walk {
  std::int64_t size = 1, stride = 0;
};

Walk walk(const Subscripts& subscripts, const Operand& operand, std::uint8_t label) {
  Walk result;
  for (int axis = 0; axis < subscripts.count; ++axis) {
    if (subscripts.labels[static_cast<std::size_t>(axis)] != label) continue;
    result.size = operand.dims[axis];
    result.stride += operand.strides[axis];
  }
  if (result.size == 1) result.stride = 0;
  return result;
}

}  // namespace

int Subscripts::find(std::uint8_t label) const {
  const auto found = std::ranges::find(view(), label);
  return found == view().end() ? -1 : static_cast<int>(found - view().begin());
}

Expected<Einsum> parse_einsum(std::string_view spec, int rank_a, int rank_b) {
  if (spec.empty()) {
    if (rank_a == 0 || rank_b == 0)
      return invalid_model("operands have {} and {} axes, but a product needs at least one", rank_a,
                           rank_b);
    spec = matmul_spec(rank_a, rank_b);
  }
  const std::size_t arrow = spec.find("->");
  const std::string_view inputs = spec.substr(0, arrow);
  const std::size_t comma = inputs.find(',');
  if (comma == std::string_view::npos)
    return invalid_model("einsum: '{}' has no comma between two operands", spec);
  SCANLOOM_TRY(const Term a, read_term(inputs.substr(0, comma)));
  SCANLOOM_TRY(const Term b, read_term(inputs.substr(comma + 1)));
  Term out = implicit_output(a, b);
  if (arrow != std::string_view::npos) {
    SCANLOOM_TRY(out, read_term(spec.substr(arrow + 2)));
  }
  Einsum einsum;
  SCANLOOM_TRY(einsum.a, place_operand(a, rank_a, 0));
  SCANLOOM_TRY(einsum.b, place_operand(b, rank_b, 1));
  const int ellipsis = std::max(ellipsis_of(a, rank_a), ellipsis_of(b, rank_b));
  SCANLOOM_TRY(einsum.out, place(out, ellipsis));
  SCANLOOM_CHECK_OK(check_output(einsum, ellipsis > 0 && out.before < 0));
  std::array<std::uint8_t, 2 * kMaxRank> summed{};
  if (const int count = summed_labels(einsum, summed); count > kMaxRank)
    return invalid_model("einsum: {} axes are summed, more than {}", count, kMaxRank);
  return einsum;
}

void ContractionAxes::add(const ContractionAxis& axis) {
  if (axis.size == 1) return;
  if (count_ > 0) {
    ContractionAxis& outer = axes_[static_cast<std::size_t>(count_ - 1)];
    if (outer.a == axis.a * axis.size && outer.b == axis.b * axis.size &&
        outer.out == axis.out * axis.size) {
      outer = {outer.size * axis.size, axis.a, axis.b, axis.out};
      return;
    }
  }
  axes_[static_cast<std::size_t>(count_++)] = axis;
}

std::int64_t ContractionAxes::elements() const {
  std::int64_t count = 1;
  for (const ContractionAxis& axis : view()) count *= axis.size;
  return count;
}

std::optional<Contraction> contraction_of(std::string_view spec, const Operand& a, const Operand& b,
                                          const Operand& out) {
  const auto einsum = parse_einsum(spec, a.rank, b.rank);
  if (!einsum || einsum->out.count != out.rank) return std::nullopt;
  Contraction result;
  for (int axis = 0; axis < out.rank; ++axis) {
    const std::uint8_t label = einsum->out.labels[static_cast<std::size_t>(axis)];
    const Walk in_a = walk(einsum->a, a, label), in_b = walk(einsum->b, b, label);
    const std::int64_t size = out.dims[axis];
    if ((in_a.size != 1 && in_a.size != size) || (in_b.size != 1 && in_b.size != size))
      return std::nullopt;
    ContractionAxes& axes = in_b.size == 1 ? result.m : in_a.size == 1 ? result.n : result.batch;
    axes.add({size, in_a.stride, in_b.stride, out.strides[axis]});
  }
  std::array<std::uint8_t, 2 * kMaxRank> summed{};
  const int count = summed_labels(*einsum, summed);
  for (int i = 0; i < count; ++i) {
    const std::uint8_t label = summed[static_cast<std::size_t>(i)];
    const Walk in_a = walk(einsum->a, a, label), in_b = walk(einsum->b, b, label);
    const bool in_both = einsum->a.find(label) >= 0 && einsum->b.find(label) >= 0;
    if (in_both && in_a.size != in_b.size) return std::nullopt;
    result.k.add({std::max(in_a.size, in_b.size), in_a.stride, in_b.stride, 0});
  }
  return result;
}

}  // namespace scanloom::tensor
