// RowProgram: an element program some of whose instructions reduce the elements of a row to one,
// which later instructions broadcast again: softmax, a normalization. Binding makes one of several
// nodes (plan/bind/fusion.h); the bits are those of the nodes one by one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "opmath/reduction.h"
#include "tensor/scalar.h"
#include "tensor/shape.h"

namespace scanloom::kernels {

using RowFold = tensor::Reduction::Fold;

/// Operands broadcast to `dims`. Results have these sizes, or 1 on the reduced axes if they have
/// one element per row.
struct RowProgram {
  tensor::ScalarProgram elements;
  /// By instruction: how it reduces its only argument, over a row, instead of what its op says.
  std::vector<std::optional<RowFold>> folds;
  tensor::Shape dims;
  /// A row is what the trailing axes [first_reduced, rank) hold.
  int first_reduced = 0;
};

}  // namespace scanloom::kernels
