#include "jit/split_blocks.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace scanloom::jit {
namespace {

/// The length from which a block is split, and the length of its parts. Values pass between parts
/// through memory, so much shorter parts would run more slowly.
constexpr std::size_t kMaxBlockInstructions = 2 * kManyInstructions, kInstructionsOfPart = 512;

using ValueSet = llvm::SetVector<llvm::Value*>;
using Iterator = llvm::BasicBlock::iterator;

/// Whether the instruction must stay in its function.
bool is_bound(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::PHINode>(instruction) || llvm::isa<llvm::AllocaInst>(instruction) ||
         instruction.isTerminator();
}

/// Whether the value is a constant offset from another address: readers recompute it.
bool is_fixed_address(const llvm::Value& value) {
  const auto* const address = llvm::dyn_cast<llvm::GetElementPtrInst>(&value);
  return address != nullptr && address->hasAllConstantIndices();
}

std::size_t length_of(const llvm::BasicBlock& block) {
  return static_cast<std::size_t>(
      llvm::count_if(block, [](const llvm::Instruction& each) { return !is_fixed_address(each); }));
}

/// Moves parts of one function's blocks out of it. Parts run one after the other, so they all share
/// one area of memory.
class Splitter {
 public:
  explicit Splitter(llvm::Function& function) : function_(function), builder_(context()) {}

  void split() {
    std::vector<llvm::BasicBlock*> longer;
    for (llvm::BasicBlock& block : function_)
      if (length_of(block) > kMaxBlockInstructions) longer.push_back(&block);
    for (llvm::BasicBlock* const block : longer) split(*block);
    if (shared_ == nullptr) return;
    shared_->setOperand(0, builder_.getInt64(max_bytes_));
  }

 private:
  llvm::LLVMContext& context() { return function_.getContext(); }
  [[nodiscard]] const llvm::DataLayout& layout() const {
    return function_.getParent()->getDataLayout();
  }

  void split(llvm::BasicBlock& block) {
    for (Iterator at = block.begin(); at != block.end();) {
      if (is_bound(*at)) {
        ++at;
        continue;
      }
      const Iterator first = at;
      for (std::size_t count = 0; !is_bound(*at) && count < kInstructionsOfPart; ++count) ++at;
      move_out(block, first, at);
    }
  }

  void move_out(llvm::BasicBlock& block, Iterator first, Iterator last) {
    auto* const type = llvm::FunctionType::get(builder_.getVoidTy(), {builder_.getPtrTy()}, false);
    auto* const part = llvm::Function::Create(type, llvm::Function::InternalLinkage, "part",
                                              function_.getParent());
    for (const auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::NoInline})
      part->addFnAttr(attribute);
    auto* const body = llvm::BasicBlock::Create(context(), "entry", part);
    body->splice(body->end(), &block, first, last);
    bytes_ = 0;
    hand_over(*body, block, last);
    hand_back(*body, block, last);
    max_bytes_ = std::max(max_bytes_, bytes_);
  }

  /// Recomputes in `body` the fixed addresses that it reads. With many operands that costs less
  /// than passing each address.
  void copy_addresses(llvm::BasicBlock& body) {
    ValueSet read;
    for (llvm::Instruction& instruction : body)
      for (llvm::Value* const value : instruction.operands())
        if (is_fixed_address(*value) && is_of_function(*value)) read.insert(value);
    llvm::DenseMap<llvm::Value*, llvm::Value*> copies;
    builder_.SetInsertPoint(&body, body.begin());
    for (llvm::Value* const address : read)
      copies[address] = builder_.Insert(llvm::cast<llvm::Instruction>(address)->clone());
    for (llvm::Instruction& instruction : body)
      for (llvm::Use& use : instruction.operands())
        if (const auto found = copies.find(use.get()); found != copies.end())
          use.set(found->second);
  }

  /// Passes what `body` reads of its former function, and calls it before `last`.
  void hand_over(llvm::BasicBlock& body, llvm::BasicBlock& block, Iterator last) {
    ValueSet read;
    llvm::DenseMap<llvm::Value*, llvm::Value*> known;
    copy_addresses(body);
    for (llvm::Instruction& instruction : body)
      for (llvm::Value* const value : instruction.operands())
        if (is_of_function(*value)) read.insert(value);
    const Iterator begin = body.begin();
    for (llvm::Value* const value : read) {
      const std::uint64_t offset = reserve(value->getType());
      builder_.SetInsertPoint(&block, last);
      builder_.CreateStore(value, place(shared(), offset));
      builder_.SetInsertPoint(&body, begin);
      known[value] =
          builder_.CreateLoad(value->getType(), place(body.getParent()->getArg(0), offset));
    }
    for (llvm::Instruction& instruction : llvm::make_range(begin, body.end()))
      for (llvm::Use& use : instruction.operands())
        if (const auto found = known.find(use.get()); found != known.end()) use.set(found->second);
    builder_.SetInsertPoint(&block, last);
    builder_.CreateCall(body.getParent(), {shared()});
  }

  /// Passes back what other code reads of `body`.
  void hand_back(llvm::BasicBlock& body, llvm::BasicBlock& block, Iterator last) {
    std::vector<llvm::Instruction*> made;
    const auto is_elsewhere = [&](const llvm::Use& use) {
      return llvm::cast<llvm::Instruction>(use.getUser())->getParent() != &body;
    };
    for (llvm::Instruction& instruction : body)
      if (llvm::any_of(instruction.uses(), is_elsewhere)) made.push_back(&instruction);
    for (llvm::Instruction* const value : made) {
      const std::uint64_t offset = reserve(value->getType());
      builder_.SetInsertPoint(&block, last);
      auto* const after = builder_.CreateLoad(value->getType(), place(shared(), offset));
      value->replaceUsesWithIf(after, is_elsewhere);
      builder_.SetInsertPoint(&body);
      builder_.CreateStore(value, place(body.getParent()->getArg(0), offset));
    }
    builder_.SetInsertPoint(&body);
    builder_.CreateRetVoid();
  }

  [[nodiscard]] bool is_of_function(const llvm::Value& value) const {
    if (llvm::isa<llvm::Argument>(value)) return true;
    const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    return instruction != nullptr && instruction->getFunction() == &function_;
  }

  /// Reserves an offset for a value that the current part takes or returns.
  std::uint64_t reserve(llvm::Type* type) {
    const std::uint64_t offset = llvm::alignTo(bytes_, layout().getABITypeAlign(type));
    bytes_ = offset + layout().getTypeAllocSize(type);
    return offset;
  }

  llvm::Value* place(llvm::Value* base, std::uint64_t offset) {
    return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), base, offset);
  }

  llvm::AllocaInst* shared() {
    if (shared_ == nullptr) {
      llvm::BasicBlock& entry = function_.getEntryBlock();
      llvm::IRBuilder<> first(&entry, entry.begin());
      shared_ = first.CreateAlloca(first.getInt8Ty(), first.getInt64(1));
      shared_->setAlignment(llvm::Align(64));
    }
    return shared_;
  }

  llvm::Function& function_;
  llvm::IRBuilder<> builder_;
  llvm::AllocaInst* shared_ = nullptr;
  std::uint64_t bytes_ = 0, max_bytes_ = 0;
};

}  // namespace

void split_long_blocks(llvm::Module& module) {
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) functions.push_back(&function);
  for (llvm::Function* const function : functions) Splitter(*function).split();
}

}  // namespace scanloom::jit
