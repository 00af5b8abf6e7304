#include "jit/group_values.h"

namespace scanloom::jit {

void GroupValues::append(const GroupValues& other) {
  uniform.insert(uniform.end(), other.uniform.begin(), other.uniform.end());
  for (std::size_t i = 0; i < of_blocks.size(); ++i)
    of_blocks[i].insert(of_blocks[i].end(), other.of_blocks[i].begin(), other.of_blocks[i].end());
}

std::vector<llvm::Value*> open_phis(llvm::IRBuilder<>& builder,
                                    const std::vector<llvm::Value*>& initial,
                                    llvm::BasicBlock* before) {
  std::vector<llvm::Value*> made;
  for (llvm::Value* const value : initial) {
    made.push_back(nullptr);
    if (value == nullptr) continue;
    auto* const phi = builder.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    made.back() = phi;
  }
  return made;
}

GroupValues open_phis(llvm::IRBuilder<>& builder, const GroupValues& initial,
                      llvm::BasicBlock* before) {
  GroupValues made(initial.of_blocks.size());
  made.uniform = open_phis(builder, initial.uniform, before);
  for (std::size_t i = 0; i < made.of_blocks.size(); ++i)
    made.of_blocks[i] = open_phis(builder, initial.of_blocks[i], before);
  return made;
}

void close_phis(const std::vector<llvm::Value*>& made, const std::vector<llvm::Value*>& next,
                llvm::BasicBlock* steps) {
  for (std::size_t i = 0; i < made.size(); ++i)
    if (made[i] != nullptr) llvm::cast<llvm::PHINode>(made[i])->addIncoming(next[i], steps);
}

void close_phis(const GroupValues& made, const GroupValues& next, llvm::BasicBlock* steps) {
  close_phis(made.uniform, next.uniform, steps);
  for (std::size_t i = 0; i < made.of_blocks.size(); ++i)
    close_phis(made.of_blocks[i], next.of_blocks[i], steps);
}

}  // namespace scanloom::jit
