#include "ops/loop_counters.h"

#include "ir/constants.h"
#include "ir/known_integer.h"
#include "ops/ops.h"

namespace scanloom::ops {
namespace {

bool is_number(const ir::Module& module, const ir::Inference* inference, ir::ValueId id) {
  const tensor::Type& type =
      inference != nullptr ? inference->types[id.index] : module.value(id).type;
  return type == tensor::Type::scalar(DType::i64);
}

std::optional<std::int64_t> number_of(const ir::Module& module, const ir::Inference* inference,
                                      ir::ValueId id) {
  if (inference != nullptr) return ir::known_integer(*inference, id);
  const tensor::Tensor* const constant = ir::constant_of(module, id);
  return constant != nullptr ? std::optional(constant->as<std::int64_t>()[0]) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> increment_of(const ir::Module& module, ir::NodeId loop,
                                         std::uint32_t carried, const ir::Inference* inference) {
  const ir::Node& node = module.node(loop);
  const ir::Region& body = module.region(node.regions[0]);
  const ir::ValueId counter = body.args[node.loop->captured + carried];
  const ir::ValueId next = body.yields[node.loop->first_carried_yield() + carried];
  const ir::NodeId producer = module.value(next).producer;
  if (!producer.valid() || module.node(producer).op != &add_op ||
      !is_number(module, inference, counter) || !is_number(module, inference, next))
    return std::nullopt;
  const std::vector<ir::ValueId>& terms = module.node(producer).inputs;
  const std::size_t other = terms[0] == counter ? 1 : 0;
  if (terms[1 - other] != counter) return std::nullopt;
  return number_of(module, inference, terms[other]);
}

}  // namespace scanloom::ops
