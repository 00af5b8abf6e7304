#include "opmath/reduction.h"

#include <algorithm>
#include <iterator>

namespace scanloom::tensor {
namespace {

using Fold = Reduction::Fold;
using Finish = Reduction::Finish;

constexpr Reduction kReductions[] = {
    {"sum", Fold::sum},
    {"mean", Fold::sum, Finish::mean},
    {"max", Fold::max},
    {"min", Fold::min},
    {"prod", Fold::prod},
    {"sum_square", Fold::sum_square},
    {"l1", Fold::l1},
    {"l2", Fold::sum_square, Finish::sqrt},
    {"log_sum", Fold::sum, Finish::log},
};

}  // namespace

const Reduction* find_reduction(std::string_view kind) {
  const auto* const found = std::ranges::find(kReductions, kind, &Reduction::kind);
  return found == std::end(kReductions) ? nullptr : found;
}

bool is_reduced(const Attr& axes, int axis, int rank) {
  if (!axes.present()) return true;
  return std::ranges::any_of(
      axes.integers(), [&](std::int64_t given) { return given == axis || given + rank == axis; });
}

}  // namespace scanloom::tensor
