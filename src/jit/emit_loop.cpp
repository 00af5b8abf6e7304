#include "jit/emit_loop.h"

#include <algorithm>

#include "jit/emit_memory.h"
#include "jit/emit_program.h"

namespace scanloom::jit {
namespace {

/// Emits the loop over blocks of lanes around the loop over steps. All steps of a block run before
/// the next block begins, so the block's states stay in registers; lanes do not depend on each
/// other.
class LoopEmitter {
 public:
  LoopEmitter(llvm::Module& module, const LoopSource& source)
      : context_(module.getContext()), source_(source), builder_(context_) {
    llvm::Type* const pointer = builder_.getPtrTy();
    llvm::Type* const i64 = builder_.getInt64Ty();
    auto* type = llvm::FunctionType::get(i64, {pointer, i64, i64}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kLoopSymbol, module);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    builder_.SetInsertPoint(block("entry"));
  }

  /// Blocks of `width` lanes first, then of half as many for those that are left, down to one.
  void emit(unsigned width) {
    load_frame();
    std::int64_t lane = 0;
    for (; width > 0; width /= 2) {
      const std::int64_t last = lane + (source_.lanes - lane) / width * width;
      if (last > lane) emit_blocks(lane, last, width);
      lane = last;
    }
    builder_.CreateRet(result_);
  }

 private:
  /// One operand's base address and, of slices and rows, its bytes per step.
  struct Port {
    const LoopOperand* operand;
    llvm::Value* base;
    llvm::Value* step = nullptr;
  };

  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(context_, name, function_);
  }

  llvm::Value* load_at(llvm::Value* array, std::size_t index, llvm::Type* type) {
    return builder_.CreateLoad(type, builder_.CreateConstInBoundsGEP1_64(type, array, index));
  }

  std::vector<Port> load_ports(const std::vector<LoopOperand>& operands, unsigned addresses,
                               int strides) {
    llvm::Type* const pointer = builder_.getPtrTy();
    std::vector<Port> ports;
    if (operands.empty()) return ports;
    llvm::Value* const frame = function_->getArg(0);
    llvm::Value* const bases = load_at(frame, addresses, pointer);
    llvm::Value* const steps =
        strides < 0 ? nullptr : load_at(frame, static_cast<std::size_t>(strides), pointer);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      Port port{&operands[i], load_at(bases, i, pointer)};
      if (steps != nullptr) {
        port.step = load_at(steps, i, builder_.getInt64Ty());
        // The slice of the first step of this call.
        port.base = builder_.CreateGEP(builder_.getInt8Ty(), port.base,
                                       builder_.CreateMul(port.step, function_->getArg(1)));
      }
      ports.push_back(port);
    }
    return ports;
  }

  /// The fields of LoopFrame, in their order.
  void load_frame() {
    captured_ = load_ports(source_.captured, 0, -1);
    carried_in_ = load_ports(source_.carried, 1, -1);
    carried_out_ = load_ports(source_.carried, 2, -1);
    scanned_ = load_ports(source_.scanned, 3, 4);
    stacked_ = load_ports(source_.stacked, 5, 6);
    result_ = function_->getArg(2);
  }

  /// Where lane `lane` of an operand lies, from the address of its lane 0.
  llvm::Value* lane_address(const LoopOperand& operand, llvm::Value* base, llvm::Value* lane) {
    if (operand.lane_stride == 0) return base;
    const auto bytes = operand.lane_stride * static_cast<std::int64_t>(dtype_bytes(operand.dtype));
    llvm::Value* const offset =
        builder_.CreateMul(lane, builder_.getInt64(static_cast<std::uint64_t>(bytes)));
    return add_bytes(builder_, base, offset);
  }

  llvm::Value* load(const LoopOperand& operand, llvm::Value* address, unsigned width) {
    return jit::load_lanes(builder_, operand.dtype, address, operand.lane_stride, width);
  }

  /// The blocks of `width` lanes from lane `first` to `last`.
  void emit_blocks(std::int64_t first, std::int64_t last, unsigned width) {
    llvm::BasicBlock* const before = builder_.GetInsertBlock();
    llvm::BasicBlock* const lanes = block("lanes");
    builder_.CreateBr(lanes);
    builder_.SetInsertPoint(lanes);
    llvm::PHINode* const lane = builder_.CreatePHI(builder_.getInt64Ty(), 2, "lane");
    lane->addIncoming(builder_.getInt64(static_cast<std::uint64_t>(first)), before);
    emit_steps(lane, width);
    llvm::Value* const next = builder_.CreateAdd(lane, builder_.getInt64(width));
    lane->addIncoming(next, builder_.GetInsertBlock());
    llvm::BasicBlock* const after = block("lanes_done");
    builder_.CreateCondBr(
        builder_.CreateICmpSLT(next, builder_.getInt64(static_cast<std::uint64_t>(last))), lanes,
        after);
    builder_.SetInsertPoint(after);
  }

  std::vector<llvm::Value*> load_lanes(const std::vector<Port>& ports, llvm::Value* lane,
                                       unsigned width) {
    std::vector<llvm::Value*> values;
    for (const Port& port : ports)
      values.push_back(load(*port.operand, lane_address(*port.operand, port.base, lane), width));
    return values;
  }

  std::vector<llvm::PHINode*> phis(const std::vector<llvm::Value*>& initial,
                                   llvm::BasicBlock* before) {
    std::vector<llvm::PHINode*> made;
    for (llvm::Value* const value : initial) {
      made.push_back(builder_.CreatePHI(value->getType(), 2));
      made.back()->addIncoming(value, before);
    }
    return made;
  }

  /// All steps of one block of lanes.
  void emit_steps(llvm::Value* lane, unsigned width) {
    const std::vector<llvm::Value*> captured = load_lanes(captured_, lane, width);
    const std::vector<llvm::Value*> initial = load_lanes(carried_in_, lane, width);
    std::vector<llvm::Value*> rows;
    for (const auto* ports : {&scanned_, &stacked_})
      for (const Port& port : *ports) rows.push_back(lane_address(*port.operand, port.base, lane));
    llvm::BasicBlock* const before = builder_.GetInsertBlock();
    llvm::BasicBlock* const steps = block("steps");
    llvm::BasicBlock* const after = block("steps_done");
    builder_.CreateBr(steps);
    builder_.SetInsertPoint(steps);
    llvm::PHINode* const step = builder_.CreatePHI(builder_.getInt64Ty(), 2, "step");
    step->addIncoming(function_->getArg(1), before);
    const std::vector<llvm::PHINode*> carried = phis(initial, before);
    const std::vector<llvm::PHINode*> addresses = phis(rows, before);

    std::vector<llvm::Value*> inputs = captured;
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    for (std::size_t i = 0; i < scanned_.size(); ++i)
      inputs.push_back(load(*scanned_[i].operand, addresses[i], width));
    const std::vector<llvm::Value*> registers =
        emit_program(builder_, source_.program, inputs, width);
    const auto result = [&](std::size_t i) {
      return registers[static_cast<std::size_t>(source_.program.results[i])];
    };
    std::size_t next_result = source_.has_keep_going ? 1 : 0;
    std::vector<llvm::Value*> next;
    for (std::size_t i = 0; i < carried.size(); ++i) next.push_back(result(next_result++));
    for (std::size_t i = 0; i < stacked_.size(); ++i)
      store_lanes(builder_, stacked_[i].operand->dtype, result(next_result++),
                  addresses[scanned_.size() + i], stacked_[i].operand->lane_stride, width);

    llvm::Value* const next_step = builder_.CreateAdd(step, builder_.getInt64(1));
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const Port& port = i < scanned_.size() ? scanned_[i] : stacked_[i - scanned_.size()];
      addresses[i]->addIncoming(builder_.CreateGEP(builder_.getInt8Ty(), addresses[i], port.step),
                                steps);
    }
    step->addIncoming(next_step, steps);
    for (std::size_t i = 0; i < carried.size(); ++i) carried[i]->addIncoming(next[i], steps);
    llvm::Value* again = builder_.CreateICmpSLT(next_step, function_->getArg(2));
    if (source_.has_keep_going) {
      llvm::Value* const goes_on = result(0);
      // Short of `last`, or stopped by the condition: -1 - steps, see CompiledLoopFn.
      result_ = builder_.CreateSelect(goes_on, function_->getArg(2), builder_.CreateNot(next_step));
      again = builder_.CreateAnd(again, goes_on);
    }
    builder_.CreateCondBr(again, steps, after);
    builder_.SetInsertPoint(after);
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const LoopOperand& operand = *carried_out_[i].operand;
      store_lanes(builder_, operand.dtype, next[i],
                  lane_address(operand, carried_out_[i].base, lane), operand.lane_stride, width);
    }
  }

  llvm::LLVMContext& context_;
  const LoopSource& source_;
  llvm::IRBuilder<> builder_;
  llvm::Function* function_ = nullptr;
  llvm::Value* result_ = nullptr;
  std::vector<Port> captured_, carried_in_, carried_out_, scanned_, stacked_;
};

}  // namespace

void emit_loop(llvm::Module& module, const LoopSource& source, unsigned vector_bytes) {
  // Two vectors of four-byte lanes: independent chains hide the latency of the recurrence. Wider
  // elements take more vectors, which LLVM splits.
  const unsigned width = std::max(2u, 2 * vector_bytes / 4);
  LoopEmitter(module, source).emit(source.lanes == 1 ? 1 : width);
}

}  // namespace scanloom::jit
