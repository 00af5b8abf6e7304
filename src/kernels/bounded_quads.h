// Matrices of bytes whose products may be summed in 16 bits. The instructions for pairs of bytes
// that machines without VNNI have (vpmaddubsw) add two products in 16 bits and saturate. Four bytes
// of B whose positive ones add up to at most 128, and whose negative ones to at least -128, keep
// every such sum, and the sum of two of them, within 255 * 128 = 32,640. Nearly all weights of
// trained models are so. Where four are not, some of them are reduced, and what they lack, their
// excess, is multiplied one by one. All sums are therefore exact. Used by contract_bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/byte_product.h"

namespace scanloom::kernels {

/// An element of B minus that of its panel.
struct QuadExcess {
  std::int64_t row = 0;     ///< along k
  std::int64_t column = 0;  ///< from the first panel on
  std::int32_t value = 0;
};

/// The excesses of panels, one panel after another.
struct QuadExcesses {
  std::vector<QuadExcess> all;
  std::vector<std::size_t> ends;  ///< per panel

  [[nodiscard]] std::span<const QuadExcess> of_panels(std::int64_t first, std::int64_t count) const;
};

/// Bounds adjacent panels of so many quads, a multiple of kBoundedQuads. Returns nothing, and
/// leaves the panels as they are, if multiplying the excesses would take longer than is saved.
std::optional<QuadExcesses> bound_quads(std::int64_t panels, std::int64_t quads,
                                        std::int8_t* elements);

/// Adds the products of the excesses to the sums of a strip, whose first panel and number of rows
/// are given. A has bytes.
void add_excesses(const QuadExcesses& excesses, const QuadStrip& strip, std::int64_t panel,
                  std::int64_t rows);

}  // namespace scanloom::kernels
