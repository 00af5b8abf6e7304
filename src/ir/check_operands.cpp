#include "ir/check_operands.h"

#include <vector>

#include "ir/infer_node.h"

namespace scanloom::ir {

Expected<void> check_operands(const OpDef& op, const tensor::ObjectCall& call) {
  std::vector<tensor::Type> types(call.inputs.size());
  std::vector<const tensor::Type*> type_of(types.size());
  const std::vector<const Known*> unknown(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!call.has(i)) continue;
    types[i] = tensor::Type::of(call.tensor(i).dtype(), call.tensor(i).shape());
    type_of[i] = &types[i];
  }
  tensor::DimTable dims;
  SCANLOOM_CHECK_OK(infer_node(op, type_of, unknown, call.attrs, call.outputs.size(), dims));
  return {};
}

}  // namespace scanloom::ir
