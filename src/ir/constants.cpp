#include "ir/constants.h"

#include "ir/op_def.h"

namespace scanloom::ir {

const tensor::Tensor* constant_of(const Module& module, ValueId value) {
  const NodeId producer = value.valid() ? module.value(value).producer : NodeId{};
  if (!producer.valid() || module.node(producer).op != &constant_op) return nullptr;
  return &module.node(producer).attrs[0].tensor();
}

bool is_true(const tensor::Tensor* value) {
  return value != nullptr && value->dtype() == DType::boolean && value->elements() == 1 &&
         value->as<bool>()[0];
}

}  // namespace scanloom::ir
