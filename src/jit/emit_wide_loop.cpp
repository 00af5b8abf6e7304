#include "jit/emit_wide_loop.h"

#include <algorithm>

#include "jit/counting_loop.h"
#include "jit/emit_memory.h"
#include "jit/emit_program.h"
#include "jit/loop_function.h"

namespace scanloom::jit {
namespace {

// Measured on rows of 16 MB, and of 200 kB: from here on twice as fast, or as fast.
constexpr std::int64_t kLeastWideLanes = 128;
/// Rows of one call: calls grow, so twice as many bytes have been written with it, more than fit.
constexpr std::int64_t kLeastBytesPastCaches = std::int64_t{1} << 20;

/// States lie where they belong after the last step and are updated there. What is one element for
/// all lanes is computed apart, once per step.
class WideEmitter {
 public:
  WideEmitter(llvm::Module& module, const LoopSource& source, unsigned width, unsigned vector_bytes)
      : loop_(module, source),
        builder_(loop_.builder),
        source_(source),
        width_(width),
        vector_bytes_(vector_bytes) {}

  void emit() {
    copy_states();
    llvm::BasicBlock* const past_caches = loop_.block("past_caches");
    llvm::BasicBlock* const usual = loop_.block("usual");
    builder_.CreateCondBr(rows_may_pass_caches(), past_caches, usual);
    builder_.SetInsertPoint(past_caches);
    emit_steps(true);
    builder_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
    builder_.CreateRet(loop_.last_step());
    builder_.SetInsertPoint(usual);
    emit_steps(false);
    builder_.CreateRet(loop_.last_step());
  }

 private:
  using Port = LoopFunction::Port;

  static bool is_uniform(const LoopOperand& operand) { return operand.lane_stride == 0; }
  [[nodiscard]] std::size_t result_of_state(std::size_t i) const {
    return static_cast<std::size_t>(source_.program.results[i]);
  }
  [[nodiscard]] std::size_t result_of_row(std::size_t i) const {
    return static_cast<std::size_t>(source_.program.results[source_.carried.size() + i]);
  }

  llvm::Value* load(const Port& port, llvm::Value* address, unsigned width) {
    return load_lanes(builder_, port.operand->dtype, address, port.operand->lane_stride, width);
  }
  void store(const Port& port, llvm::Value* value, llvm::Value* address, unsigned width) {
    store_lanes(builder_, port.operand->dtype, value, address, port.operand->lane_stride, width);
  }

  /// All steps; with rows that pass the caches by, or not.
  void emit_steps(bool past_caches) {
    past_caches_ = past_caches;
    emit_counting_loop(builder_, loop_.first_step(), loop_.last_step(), loop_.integer(1), {},
                       [&](llvm::Value* step, const auto&) {
                         emit_step(builder_.CreateSub(step, loop_.first_step()));
                         return std::vector<llvm::Value*>();
                       });
  }

  void emit_step(llvm::Value* passed) {
    std::vector<llvm::Value*> scanned, stacked;
    for (const Port& port : loop_.scanned) scanned.push_back(loop_.at_step(port, passed));
    for (const Port& port : loop_.stacked) stacked.push_back(loop_.at_step(port, passed));
    const std::vector<llvm::Value*> uniform = emit_uniform(scanned, stacked);
    std::int64_t first = 0;
    for (unsigned width = width_; width > 0; width /= 2) {
      const std::int64_t last = first + (source_.lanes - first) / width * width;
      if (last > first)
        emit_counting_loop(builder_, loop_.integer(first), loop_.integer(last),
                           loop_.integer(width), {}, [&](llvm::Value* lane, const auto&) {
                             emit_lanes(lane, width, scanned, stacked);
                             return std::vector<llvm::Value*>();
                           });
      first = last;
    }
    for (std::size_t i = 0; i < uniform.size(); ++i)
      if (uniform[i] != nullptr)
        store(loop_.carried_out[i], uniform[i], loop_.carried_out[i].base, 1);
  }

  [[nodiscard]] std::int64_t row_bytes(const Port& port) const {
    return source_.lanes * static_cast<std::int64_t>(dtype_bytes(port.operand->dtype));
  }
  [[nodiscard]] static bool is_dense(const Port& port) { return port.operand->lane_stride == 1; }

  /// Whether this call makes more rows than caches hold, aligned as such stores must be.
  llvm::Value* rows_may_pass_caches() {
    std::int64_t bytes = 0;
    llvm::Value* places = loop_.integer(0);
    for (const Port& port : loop_.stacked) {
      if (!is_dense(port)) continue;
      bytes += row_bytes(port);
      llvm::Value* const base = builder_.CreatePtrToInt(port.base, builder_.getInt64Ty());
      places = builder_.CreateOr(places, builder_.CreateOr(base, port.step));
    }
    llvm::Value* const aligned = builder_.CreateICmpEQ(
        builder_.CreateAnd(places, loop_.integer(vector_bytes_ - 1)), loop_.integer(0));
    if (bytes == 0) return builder_.getFalse();
    llvm::Value* const steps = builder_.CreateSub(loop_.last_step(), loop_.first_step());
    return builder_.CreateAnd(
        aligned, builder_.CreateICmpSGE(steps, loop_.integer(kLeastBytesPastCaches / bytes + 1)));
  }

  /// States are row-major.
  void copy_states() {
    for (std::size_t i = 0; i < loop_.carried_in.size(); ++i) {
      const LoopOperand& operand = *loop_.carried_in[i].operand;
      const std::int64_t lanes = is_uniform(operand) ? 1 : source_.lanes;
      const auto bytes = lanes * static_cast<std::int64_t>(dtype_bytes(operand.dtype));
      builder_.CreateMemCpy(loop_.carried_out[i].base, llvm::MaybeAlign(), loop_.carried_in[i].base,
                            llvm::MaybeAlign(), loop_.integer(bytes));
    }
  }

  /// The operands of the program, in its order; at(port, base) is where one lies.
  template <class F>
  std::vector<llvm::Value*> operands(const std::vector<llvm::Value*>& scanned, F&& at) {
    std::vector<llvm::Value*> values;
    for (const Port& port : loop_.captured) values.push_back(at(port, port.base));
    for (const Port& port : loop_.carried_out) values.push_back(at(port, port.base));
    for (std::size_t i = 0; i < scanned.size(); ++i)
      values.push_back(at(loop_.scanned[i], scanned[i]));
    return values;
  }

  /// Stores the rows of one element; returns the next states of one element. These depend on
  /// operands of one element alone: for the others, any value serves.
  std::vector<llvm::Value*> emit_uniform(const std::vector<llvm::Value*>& scanned,
                                         const std::vector<llvm::Value*>& stacked) {
    const auto inputs = operands(scanned, [&](const Port& port, llvm::Value* base) -> llvm::Value* {
      if (is_uniform(*port.operand)) return load(port, base, 1);
      return llvm::Constant::getNullValue(
          register_type(builder_.getContext(), port.operand->dtype, 1));
    });
    const auto registers = emit_program(builder_, source_.program, inputs, 1);
    std::vector<llvm::Value*> next(loop_.carried_out.size());
    for (std::size_t i = 0; i < next.size(); ++i)
      if (is_uniform(*loop_.carried_out[i].operand)) next[i] = registers[result_of_state(i)];
    for (std::size_t i = 0; i < stacked.size(); ++i)
      if (is_uniform(*loop_.stacked[i].operand))
        store(loop_.stacked[i], registers[result_of_row(i)], stacked[i], 1);
    return next;
  }

  /// `width` lanes from that one on.
  void emit_lanes(llvm::Value* lane, unsigned width, const std::vector<llvm::Value*>& scanned,
                  const std::vector<llvm::Value*>& stacked) {
    const auto inputs = operands(scanned, [&](const Port& port, llvm::Value* base) {
      return load(port, loop_.at_lane(*port.operand, base, lane), width);
    });
    const auto registers = emit_program(builder_, source_.program, inputs, width);
    for (std::size_t i = 0; i < loop_.carried_out.size(); ++i) {
      const Port& port = loop_.carried_out[i];
      if (!is_uniform(*port.operand))
        store(port, registers[result_of_state(i)], loop_.at_lane(*port.operand, port.base, lane),
              width);
    }
    for (std::size_t i = 0; i < stacked.size(); ++i) {
      const Port& port = loop_.stacked[i];
      if (!is_uniform(*port.operand))
        store_row(port, registers[result_of_row(i)], loop_.at_lane(*port.operand, stacked[i], lane),
                  width);
    }
  }

  void store_row(const Port& port, llvm::Value* value, llvm::Value* address, unsigned width) {
    const auto bytes = width * static_cast<unsigned>(dtype_bytes(port.operand->dtype));
    const bool whole = bytes % vector_bytes_ == 0 && port.operand->dtype != DType::boolean;
    if (!past_caches_ || !is_dense(port) || !whole) return store(port, value, address, width);
    auto* const made = builder_.CreateAlignedStore(value, address, llvm::Align(vector_bytes_));
    llvm::LLVMContext& context = builder_.getContext();
    llvm::Metadata* const one = llvm::ConstantAsMetadata::get(builder_.getInt32(1));
    made->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context, one));
  }

  LoopFunction loop_;
  llvm::IRBuilder<>& builder_;
  const LoopSource& source_;
  const unsigned width_, vector_bytes_;
  bool past_caches_ = false;
};

}  // namespace

bool is_wide(const LoopSource& source) {
  const auto is_row = [](const LoopOperand& operand) { return operand.lane_stride != 0; };
  return source.lanes >= kLeastWideLanes && (std::ranges::any_of(source.scanned, is_row) ||
                                             std::ranges::any_of(source.stacked, is_row));
}

void emit_wide_loop(llvm::Module& module, const LoopSource& source, unsigned width,
                    unsigned vector_bytes) {
  WideEmitter(module, source, width, vector_bytes).emit();
}

}  // namespace scanloom::jit
