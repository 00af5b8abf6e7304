#include "jit/counting_loop.h"

namespace scanloom::jit {
namespace {

constexpr unsigned kCacheLine = 64;  // bytes

}  // namespace

std::vector<llvm::Value*> emit_counting_loop(llvm::IRBuilder<>& builder, llvm::Value* first,
                                             llvm::Value* last, llvm::Value* step,
                                             std::vector<llvm::Value*> carried, const Pass& pass) {
  llvm::BasicBlock* const before = builder.GetInsertBlock();
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(builder.getContext(), name, before->getParent());
  };
  llvm::BasicBlock* const again = block("again");
  builder.CreateBr(again);
  builder.SetInsertPoint(again);
  llvm::PHINode* const count = builder.CreatePHI(builder.getInt64Ty(), 2, "count");
  count->addIncoming(first, before);
  std::vector<llvm::PHINode*> phis;
  for (llvm::Value*& value : carried) {
    phis.push_back(builder.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    value = phis.back();
  }
  const std::vector<llvm::Value*> next = pass(count, carried);
  llvm::Value* const following = builder.CreateAdd(count, step);
  llvm::BasicBlock* const end = builder.GetInsertBlock();
  count->addIncoming(following, end);
  for (std::size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(next[i], end);
  llvm::BasicBlock* const after = block("after");
  builder.CreateCondBr(builder.CreateICmpSLT(following, last), again, after);
  builder.SetInsertPoint(after);
  return next;
}

std::vector<llvm::Value*> counted(llvm::IRBuilder<>& builder, CountRange range,
                                  std::vector<llvm::Value*> carried, const Pass& pass) {
  const auto number = [&](std::int64_t value) {
    return builder.getInt64(static_cast<std::uint64_t>(value));
  };
  if (range.first + range.step >= range.last) return pass(number(range.first), carried);
  return emit_counting_loop(builder, number(range.first), number(range.last), number(range.step),
                            std::move(carried), pass);
}

void align_loop(llvm::BranchInst& back) {
  llvm::LLVMContext& context = back.getContext();
  const auto line = llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), kCacheLine);
  llvm::MDNode* const aligned = llvm::MDNode::get(
      context,
      {llvm::MDString::get(context, "llvm.loop.align"), llvm::ConstantAsMetadata::get(line)});
  // A loop's identifier is a node that names itself first.
  llvm::MDNode* const loop = llvm::MDNode::getDistinct(context, {nullptr, aligned});
  loop->replaceOperandWith(0, loop);
  back.setMetadata(llvm::LLVMContext::MD_loop, loop);
}

}  // namespace scanloom::jit
