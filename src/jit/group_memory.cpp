#include "jit/group_memory.h"

#include <utility>

#include "jit/emit_memory.h"

namespace scanloom::jit {

void GroupMemory::begin_group(std::vector<LaneBlock> blocks, bool is_last) {
  blocks_ = std::move(blocks);
  is_last_ = is_last;
}

GroupMemory::Values GroupMemory::at_lane(const std::vector<Port>& ports, Value lane) {
  Values addresses;
  for (const Port& port : ports) addresses.push_back(loop_.at_lane(*port.operand, port.base, lane));
  return addresses;
}

llvm::Value* GroupMemory::at_block(const Port& port, Value address, const LaneBlock& block) {
  return loop_.at_lane(*port.operand, address, loop_.integer(block.first));
}

GroupMemory::Values GroupMemory::advanced(const std::vector<Port>& ports, const Values& addresses) {
  Values next;
  for (std::size_t i = 0; i < addresses.size(); ++i)
    next.push_back(add_bytes(builder_, addresses[i], ports[i].step));
  return next;
}

llvm::Value* GroupMemory::load(const Port& port, Value address, const LaneBlock* block) {
  if (block == nullptr) return load_lanes(builder_, port.operand->dtype, address, 0, 1);
  return jit::load_block(builder_, *port.operand, at_block(port, address, *block), *block);
}

GroupMemory::Values GroupMemory::load_uniform(const std::vector<Port>& ports,
                                              const Values& addresses) {
  Values loaded;
  for (std::size_t i = 0; i < ports.size(); ++i)
    loaded.push_back(is_uniform(ports[i]) ? load(ports[i], addresses[i], nullptr) : nullptr);
  return loaded;
}

GroupMemory::Values GroupMemory::load_block(const std::vector<Port>& ports, const Values& addresses,
                                            const LaneBlock& block) {
  Values loaded;
  for (std::size_t i = 0; i < ports.size(); ++i)
    loaded.push_back(is_uniform(ports[i]) ? nullptr : load(ports[i], addresses[i], &block));
  return loaded;
}

GroupValues GroupMemory::load(const std::vector<Port>& ports, const Values& addresses) {
  GroupValues parts(blocks_.size());
  parts.uniform = load_uniform(ports, addresses);
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    parts.of_blocks[i] = load_block(ports, addresses, blocks_[i]);
  return parts;
}

void GroupMemory::store(const Port& port, Value address, Value value, const LaneBlock* block) {
  if (is_uniform(port) != (block == nullptr)) return;
  if (block != nullptr)
    store_block(builder_, *port.operand, value, at_block(port, address, *block), *block);
  else if (is_last_)
    store_lanes(builder_, port.operand->dtype, value, address, 0, 1);
}

void GroupMemory::store(const std::vector<Port>& ports, const Values& addresses,
                        const GroupValues& values) {
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    store(ports[i], addresses[i], values.uniform[i], nullptr);
    for (std::size_t k = 0; k < blocks_.size(); ++k)
      store(ports[i], addresses[i], values.of_blocks[k][i], &blocks_[k]);
  }
}

}  // namespace scanloom::jit
