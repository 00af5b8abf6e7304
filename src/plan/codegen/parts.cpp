#include "plan/codegen/parts.h"

#include <algorithm>

namespace scanloom::plan {

using loopnest::Access;
using loopnest::Nest;
using loopnest::Reduction;
using tensor::ScalarInstr;
using tensor::ScalarProgram;

Use use_of(const Access& operand, const std::vector<std::int64_t>& sizes) {
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(operand.dtype));
  Use use{operand.slot, operand.offset, operand.offset + bytes};
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::int64_t reach = (sizes[axis] - 1) * operand.strides[axis] * bytes;
    (reach < 0 ? use.first : use.last) += reach;
  }
  for (const loopnest::DynamicIndex& index : operand.indices) {
    const std::int64_t reach = (index.size - 1) * index.bytes;
    (reach < 0 ? use.first : use.last) += reach;
  }
  return use;
}

Use use_of(const loopnest::DynamicIndex& index, const std::vector<std::int64_t>& sizes) {
  return use_of(Access{index.slot, index.dtype, index.offset, index.strides}, sizes);
}

Part part_of(Nest nest, std::vector<ir::NodeId> nodes) {
  Part part;
  part.nodes = std::move(nodes);
  for (const Access& read : nest.reads) part.reads.push_back(use_of(read, nest.sizes));
  for (const Access& write : nest.writes) part.writes.push_back(use_of(write, nest.sizes));
  if (nest.writes_by_index()) part.reads.push_back(part.writes[0]);
  for_indices(nest, [&](const loopnest::DynamicIndex& index) {
    part.reads.push_back(use_of(index, nest.sizes));
  });
  for (const Reduction& reduction : nest.reductions) {
    const std::vector<std::int64_t> sizes = axes_of(nest, reduction);
    for (const Access& read : reduction.reads) part.reads.push_back(use_of(read, sizes));
  }
  part.statement.nest = std::move(nest);
  return part;
}

std::vector<ir::NodeId> nodes_of(const Part& a, const Part& b) {
  std::vector<ir::NodeId> nodes = a.nodes;
  for (const ir::NodeId node : b.nodes)
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
  return nodes;
}

bool overlap(const std::vector<Use>& a, const std::vector<Use>& b) {
  return std::ranges::any_of(a, [&](const Use& one) {
    return std::ranges::any_of(b, [&](const Use& other) { return one.overlaps(other); });
  });
}

bool independent(const Part& a, const Part& b) {
  return !overlap(a.reads, b.writes) && !overlap(a.writes, b.reads) && !overlap(a.writes, b.writes);
}

std::vector<std::int64_t> axes_of(const Nest& nest, const Reduction& reduction) {
  std::vector<std::int64_t> sizes = nest.sizes;
  sizes.insert(sizes.end(), reduction.sizes.begin(), reduction.sizes.end());
  return sizes;
}

std::vector<std::int32_t> append_program(ScalarProgram& to, const ScalarProgram& from,
                                         std::vector<std::int32_t> registers) {
  for (ScalarInstr instr : from.instrs) {
    for (std::int32_t& arg : instr.args)
      if (arg >= 0) arg = registers[static_cast<std::size_t>(arg)];
    registers.push_back(to.append(instr));
  }
  std::vector<std::int32_t> results;
  for (const std::int32_t result : from.results)
    results.push_back(registers[static_cast<std::size_t>(result)]);
  return results;
}

}  // namespace scanloom::plan
