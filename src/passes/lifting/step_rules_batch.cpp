// The steps in operators that keep the elements of a batch, or the channels, apart.
#include "ops/ops.h"
#include "passes/lifting/step_rules.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

constexpr int kBatch = 0;
constexpr int kChannels = 1;

}  // namespace

Expected<int> steps_of_windows(const StepSite& s) {
  if (s.axis(0) == kChannels) return across("it sums over them");
  if (s.axis(0) != kBatch) return across("its windows hold several of them");
  return kBatch;
}

// The element numbers that max_pool returns count through all of x.
Expected<int> steps_of_pool(const StepSite& s) {
  if (s.axis(0) > kChannels) return across("its windows hold several of them");
  if (s.node.op == &ops::max_pool_op && s.is_read(1))
    return across("it numbers the elements of all of them");
  return s.axis(0);
}

Expected<int> steps_of_deform_conv(const StepSite& s) {
  constexpr std::size_t kOffset = 2, kMask = 4;
  if (!s.along(0)) return across("an operand other than the first has them");
  for (std::size_t i = 1; i < s.node.inputs.size(); ++i) {
    if (!s.has(i)) continue;
    const bool by_batch = i == kOffset || i == kMask;
    if (s.along(i) != by_batch || (by_batch && s.axis(i) != kBatch))
      return across("its operands have the steps on other axes");
  }
  return steps_of_windows(s);
}

// Locations of the grid read any element of their own image.
Expected<int> steps_of_grid_sample(const StepSite& s) {
  if (!s.along(1)) {
    if (s.axis(0) != kChannels) return across("it reads elements of others");
    return kChannels;
  }
  if (s.along(0)) {
    if (s.axis(0) != kBatch || s.axis(1) != kBatch)
      return across("its operands have the steps on other axes");
    return kBatch;
  }
  if (s.axis(1) == kBatch || s.axis(1) == s.type(1).rank() - 1)
    return across("one of its operands has another size there");
  return s.axis(1) + 1;
}

// Regions name their images by number.
Expected<int> steps_of_regions(const StepSite& s) {
  if (s.along(0)) return across("its regions read elements of others");
  for (std::size_t i = 1; i < s.node.inputs.size(); ++i)
    if (!s.along(i) || s.axis(i) != 0)
      return across("it takes more or less than one region of each");
  return 0;
}

Expected<int> steps_of_matrices(const StepSite& s) {
  if (s.axis(0) >= s.type(0).rank() - 2) return across("they are rows or columns of its matrices");
  for (std::size_t i = 1; i < s.node.inputs.size(); ++i)
    if (s.has(i) && (!s.along(i) || s.axis(i) != s.axis(0)))
      return across("its operands do not all have the steps on one axis");
  return s.axis(0);
}

Expected<int> steps_of_reverse_sequence(const StepSite& s) {
  const auto axis = [&](std::string_view name) {
    return tensor::normalise_axis(attr_of(s.node, name).integer(), s.type(0).rank());
  };
  if (axis("time_axis") == s.axis(0)) return across("it works along their axis");
  const bool by_row = axis("batch_axis") == s.axis(0);
  if (!s.along(0) || s.along(1) != by_row)
    return across("its operands have the steps on other axes");
  return s.axis(0);
}

}  // namespace scanloom::passes
