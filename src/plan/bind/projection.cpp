#include "plan/bind/projection.h"

#include "ops/ops.h"

namespace scanloom::plan {

std::optional<Projection> projection_of(const ir::Module& module, const ir::Inference& inference,
                                        ir::ValueId value) {
  const auto product_of = [&](ir::ValueId made) {
    const ir::NodeId producer = module.value(made).producer;
    const bool is_product = producer.valid() && module.node(producer).op == &ops::contract_op &&
                            !inference.is_constant(made);
    return is_product ? producer : ir::NodeId();
  };
  if (const ir::NodeId product = product_of(value); product.valid())
    return Projection{.product = product, .sum = {}, .rows = value};
  const ir::NodeId sum = module.value(value).producer;
  if (!sum.valid() || module.node(sum).op != &ops::add_op) return std::nullopt;
  const std::vector<ir::ValueId>& terms = module.node(sum).inputs;
  const std::size_t at = product_of(terms[0]).valid() ? 0 : 1;
  const ir::NodeId product = product_of(terms[at]);
  if (!product.valid()) return std::nullopt;
  return Projection{.product = product, .sum = sum, .rows = terms[at], .bias = terms[1 - at]};
}

}  // namespace scanloom::plan
