// Einsum specifications of two operands, resolved for given sizes and strides to four loop nests
// over the same pointers. Used by the operator contract and by its kernels.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/expected.h"
#include "tensor/call.h"

namespace scanloom::tensor {

/// The axes of one operand by label: a letter, or kEllipsisLabel + i for the i-th axis from the
/// right of those that "..." covers.
struct Subscripts {
  std::array<std::uint8_t, kMaxRank> labels{};
  int count = 0;

  [[nodiscard]] std::span<const std::uint8_t> view() const {
    return {labels.data(), static_cast<std::size_t>(count)};
  }
  /// The first axis with this label, or -1.
  [[nodiscard]] int find(std::uint8_t label) const;
};

inline constexpr std::uint8_t kEllipsisLabel = 128;

struct Einsum {
  Subscripts a, b, out;
};

/// Parses "...mk,...kn->...mn" for operands of these ranks. The empty text means numpy's matmul;
/// without "->" the result has the labels that occur once, sorted, after the ellipsis. Labels may
/// repeat within an operand (a diagonal). Errors: invalid_model.
Expected<Einsum> parse_einsum(std::string_view spec, int rank_a, int rank_b);

/// One loop: its length, and the increment of each pointer per step (in elements; 0: the operand
/// lacks this axis).
struct ContractionAxis {
  std::int64_t size = 0, a = 0, b = 0, out = 0;
};

/// Loops of one class, outermost first. Axes of size 1 are omitted, and neighbouring axes that all
/// three operands walk with one stride are joined.
class ContractionAxes {
 public:
  void add(const ContractionAxis& axis);
  [[nodiscard]] std::span<const ContractionAxis> view() const {
    return {axes_.data(), static_cast<std::size_t>(count_)};
  }
  [[nodiscard]] int count() const { return count_; }
  const ContractionAxis& operator[](int i) const { return axes_[static_cast<std::size_t>(i)]; }
  /// The product of the sizes.
  [[nodiscard]] std::int64_t elements() const;

 private:
  std::array<ContractionAxis, kMaxRank> axes_{};
  int count_ = 0;
};

/// out[batch, m, n] = sum over k of a[batch, m, k] * b[batch, n, k]. `m` are the axes of the result
/// that b lacks or broadcasts along, `n` those that a lacks or broadcasts along. The batch, m and n
/// axes are in the order of the result; the k axes in the order of a and then of b, which is the
/// order of the sum.
struct Contraction {
  ContractionAxes batch, m, n, k;
};

/// nullopt if the specification does not fit the operands; inference has reported why.
std::optional<Contraction> contraction_of(std::string_view spec, const Operand& a, const Operand& b,
                                          const Operand& out);

}  // namespace scanloom::tensor
