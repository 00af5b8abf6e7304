#include "plan/bind/bound_view.h"

#include <vector>

#include "tensor/tensor.h"

namespace scanloom::plan {

std::optional<ir::ViewOf> bound_view(const ir::Node& node, const ir::Inference& inference,
                                     const tensor::Shape& dims, const tensor::Shape& strides) {
  std::vector<std::optional<std::vector<std::int64_t>>> integers(node.inputs.size());
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid())
      integers[i].emplace();
    else if (const tensor::Tensor* value = inference.constant(node.inputs[i]))
      integers[i] = to_integers(*value);
  }
  const tensor::Shape result = inference.types[node.outputs[0].index].shape();
  return node.op->view({dims, strides, result, node.attrs, integers});
}

}  // namespace scanloom::plan
