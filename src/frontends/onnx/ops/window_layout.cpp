#include "frontends/onnx/ops/window_layout.h"

namespace scanloom::onnx {

using ir::ValueId;

ValueId channels_first(Composer& c, ValueId x, int rank) {
  Composer::Ints perm = {0, rank - 1};
  for (int axis = 1; axis < rank - 1; ++axis) perm.push_back(axis);
  return c.transpose(x, std::move(perm));
}

ValueId channels_last(Composer& c, ValueId x, int rank) {
  Composer::Ints perm = {0};
  for (int axis = 2; axis < rank; ++axis) perm.push_back(axis);
  perm.push_back(1);
  return c.transpose(x, std::move(perm));
}

Expected<std::vector<std::int64_t>> window_sizes(NodeCtx& ctx, int rank) {
  if (!ctx.has_attribute("kernel_shape"))
    return invalid_model("attribute 'kernel_shape' is missing");
  SCANLOOM_TRY(auto kernel, ctx.integers("kernel_shape"));
  if (static_cast<int>(kernel.size()) + 2 != rank)
    return invalid_model("attribute 'kernel_shape' has {} sizes, but {} has {} axes", kernel.size(),
                         ctx.describe_input(0), rank);
  return kernel;
}

}  // namespace scanloom::onnx
