#include "jit/emit_wide_loop.h"

#include <algorithm>

#include "jit/counting_loop.h"
#include "jit/emit_memory.h"
#include "jit/lane_blocks.h"
#include "jit/lane_program.h"
#include "jit/loop_function.h"
#include "loopnest/cost.h"

namespace scanloom::jit {
namespace {

// Measured on rows of 16 MB and of 200 kB: twice as fast and equally fast from here on.
constexpr std::int64_t kMinWideLanes = 128;
/// Rows of one call. Calls grow, so twice as many bytes have then been written: more than fit.
constexpr std::int64_t kMinBytesPastCaches = std::int64_t{1} << 20;

/// Upper bound on the length of blocks that are emitted one after the other.
constexpr std::int64_t kInstructionsInARow = 1600;

/// States are updated in place, where they must be after the last step. Uniform elements are
/// computed separately, once per step.
class WideEmitter {
 public:
  WideEmitter(llvm::Module& module, const LoopSource& source, const LaneProgram& program,
              unsigned vector_bytes)
      : loop_(module, source),
        builder_(loop_.builder),
        source_(source),
        program_(program),
        vector_bytes_(vector_bytes),
        is_long_(loop_.is_long()) {}

  void emit() {
    copy_states();
    // Long programs are limited by computation.
    if (is_wide(source_) && !is_long_) emit_past_caches();
    emit_steps(false);
    builder_.CreateRet(loop_.last_step());
  }

 private:
  using Port = LoopFunction::Port;
  using Values = std::vector<llvm::Value*>;

  static bool is_uniform(const LoopOperand& operand) { return operand.lane_stride == 0; }
  [[nodiscard]] std::size_t result_of_state(std::size_t i) const {
    return static_cast<std::size_t>(source_.program.results[i]);
  }
  [[nodiscard]] std::size_t result_of_row(std::size_t i) const {
    return static_cast<std::size_t>(source_.program.results[source_.carried.size() + i]);
  }

  llvm::Value* load_uniform(const Port& port, llvm::Value* address) {
    return load_lanes(builder_, port.operand->dtype, address, 0, 1);
  }
  void store_uniform(const Port& port, llvm::Value* value, llvm::Value* address) {
    store_lanes(builder_, port.operand->dtype, value, address, 0, 1);
  }

  /// Emits another version for rows that exceed the caches; the builder is then after it.
  void emit_past_caches() {
    llvm::BasicBlock* const past_caches = loop_.block("past_caches");
    llvm::BasicBlock* const usual = loop_.block("usual");
    builder_.CreateCondBr(rows_may_pass_caches(), past_caches, usual);
    builder_.SetInsertPoint(past_caches);
    emit_steps(true);
    builder_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
    builder_.CreateRet(loop_.last_step());
    builder_.SetInsertPoint(usual);
  }

  /// Emits all steps, with rows that bypass the caches or not.
  void emit_steps(bool past_caches) {
    past_caches_ = past_caches;
    emit_counting_loop(builder_, loop_.first_step(), loop_.last_step(), loop_.integer(1), {},
                       [&](llvm::Value* step, const auto&) {
                         emit_step(builder_.CreateSub(step, loop_.first_step()));
                         return std::vector<llvm::Value*>();
                       });
  }

  void emit_step(llvm::Value* passed) {
    passed_ = passed;
    Values scanned(loop_.scanned.size()), stacked(loop_.stacked.size());
    // A long program loads them from the frame where it needs them.
    for (std::size_t i = 0; i < scanned.size() && !is_long_; ++i)
      scanned[i] = loop_.at_step(loop_.scanned[i], passed);
    for (std::size_t i = 0; i < stacked.size() && !is_long_; ++i)
      stacked[i] = loop_.at_step(loop_.stacked[i], passed);
    const Values uniform = emit_uniform(scanned, stacked);
    const unsigned vector = vector_bytes_ / program_.widest_lane(), width = 2 * vector;
    const LaneReuse reuse =
        program_.goes_lane_by_lane() ? LaneReuse::none : LaneReuse::within_block;
    const std::int64_t whole = source_.lanes / width * width;
    const auto block = [&](llvm::Value* lane) {
      emit_lanes(lane, {0, width, width}, uniform, scanned, stacked);
    };
    const std::int64_t blocks = whole / width;
    if (blocks <= loopnest::kBlocksInARow &&
        2 * blocks * program_.lane_work() <= kInstructionsInARow) {
      for (std::int64_t lane = 0; lane < whole; lane += width) block(loop_.integer(lane));
    } else {
      counted(builder_, {0, whole, width}, {}, [&](llvm::Value* lane, const auto&) {
        block(lane);
        return Values();
      });
    }
    if (whole < source_.lanes)
      for (const LaneBlock& block : cut_lanes(source_.lanes - whole, {vector, width}, reuse))
        emit_lanes(loop_.integer(whole + block.first), block, uniform, scanned, stacked);
    for (std::size_t i = 0; i < loop_.carried_out.size(); ++i)
      if (is_uniform(*loop_.carried_out[i].operand))
        store_uniform(loop_.carried_out[i], uniform[result_of_state(i)], loop_.carried_out[i].base);
  }

  [[nodiscard]] std::int64_t row_bytes(const Port& port) const {
    return source_.lanes * static_cast<std::int64_t>(dtype_bytes(port.operand->dtype));
  }
  [[nodiscard]] static bool is_dense(const Port& port) { return port.operand->lane_stride == 1; }

  /// Returns whether this call writes more rows than caches hold, aligned as such stores require.
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
        aligned, builder_.CreateICmpSGE(steps, loop_.integer(kMinBytesPastCaches / bytes + 1)));
  }

  /// Copies the states, which are row-major.
  void copy_states() {
    for (std::size_t i = 0; i < loop_.carried_in.size(); ++i) {
      const LoopOperand& operand = *loop_.carried_in[i].operand;
      const std::int64_t lanes = is_uniform(operand) ? 1 : source_.lanes;
      const auto bytes = lanes * static_cast<std::int64_t>(dtype_bytes(operand.dtype));
      builder_.CreateMemCpy(loop_.carried_out[i].base, llvm::MaybeAlign(), loop_.carried_in[i].base,
                            llvm::MaybeAlign(), loop_.integer(bytes));
    }
  }

  /// Returns the operands of the program, in order; at(port, base) returns an operand's address.
  template <class F>
  std::vector<llvm::Value*> operands(const std::vector<llvm::Value*>& scanned, F&& at) {
    std::vector<llvm::Value*> values;
    for (const Port& port : loop_.captured) values.push_back(at(port, port.base));
    for (const Port& port : loop_.carried_out) values.push_back(at(port, port.base));
    for (std::size_t i = 0; i < scanned.size(); ++i)
      values.push_back(is_long_ ? nullptr : at(loop_.scanned[i], scanned[i]));
    return values;
  }

  /// Stores the uniform rows; returns the registers of everything uniform.
  Values emit_uniform(const Values& scanned, const Values& stacked) {
    const auto store = [&](std::size_t i, llvm::Value* value) {
      store_uniform(loop_.stacked[i], value, address(loop_.stacked[i], stacked[i]));
    };
    const LateAccess late{[&](std::size_t reg) { return load_slice(reg, nullptr, nullptr); },
                          [&](std::size_t reg, llvm::Value* made) {
                            program_.for_rows_made(reg, true,
                                                   [&](std::size_t i) { store(i, made); });
                          }};
    const Values registers = program_.emit_uniform(
        builder_,
        operands(scanned,
                 [&](const Port& port, llvm::Value* base) -> llvm::Value* {
                   return is_uniform(*port.operand) ? load_uniform(port, base) : nullptr;
                 }),
        is_long_ ? &late : nullptr);
    for (const std::size_t i : program_.rows_left(is_long_))
      if (is_uniform(*loop_.stacked[i].operand)) store(i, registers[result_of_row(i)]);
    return registers;
  }

  /// Emits the block of lanes that begins at `lane`.
  void emit_lanes(llvm::Value* lane, const LaneBlock& block, const Values& uniform,
                  const Values& scanned, const Values& stacked) {
    const Values inputs =
        operands(scanned, [&](const Port& port, llvm::Value* base) -> llvm::Value* {
          if (is_uniform(*port.operand)) return nullptr;
          return load_block(builder_, *port.operand, loop_.at_lane(*port.operand, base, lane),
                            block);
        });
    Splats splats;
    const auto store = [&](std::size_t i, llvm::Value* value) {
      const Port& port = loop_.stacked[i];
      store_row(port, value, loop_.at_lane(*port.operand, address(port, stacked[i]), lane), block);
    };
    const LateAccess late{[&](std::size_t reg) { return load_slice(reg, lane, &block); },
                          [&](std::size_t reg, llvm::Value* made) {
                            program_.for_rows_made(reg, false,
                                                   [&](std::size_t i) { store(i, made); });
                          }};
    const Values results = program_.emit_lanes(builder_, uniform, inputs, block.width, splats,
                                               is_long_ ? &late : nullptr);
    const std::size_t states = loop_.carried_out.size();
    for (std::size_t i = 0; i < states; ++i) {
      const Port& port = loop_.carried_out[i];
      if (!is_uniform(*port.operand))
        store_block(builder_, *port.operand, results[i],
                    loop_.at_lane(*port.operand, port.base, lane), block);
    }
    for (const std::size_t i : program_.rows_left(is_long_))
      if (!is_uniform(*loop_.stacked[i].operand)) store(i, results[states + i]);
  }

  /// Returns the address of a slice or row in the current step: `known`, unless the program is
  /// long.
  llvm::Value* address(const Port& port, llvm::Value* known) {
    return is_long_ ? loop_.at_step(port, passed_) : known;
  }

  /// Loads an input of a long program: a uniform element, or a block of lanes.
  llvm::Value* load_slice(std::size_t reg, llvm::Value* lane, const LaneBlock* block) {
    const Port& port = loop_.scanned[reg - source_.captured.size() - source_.carried.size()];
    llvm::Value* const at = loop_.at_step(port, passed_);
    if (is_uniform(*port.operand)) return load_uniform(port, at);
    return load_block(builder_, *port.operand, loop_.at_lane(*port.operand, at, lane), *block);
  }

  void store_row(const Port& port, llvm::Value* value, llvm::Value* address,
                 const LaneBlock& block) {
    const auto bytes = block.lanes * static_cast<unsigned>(dtype_bytes(port.operand->dtype));
    const bool whole = bytes % vector_bytes_ == 0 && port.operand->dtype != DType::boolean &&
                       block.lanes == block.width;
    if (!past_caches_ || !is_dense(port) || !whole)
      return store_block(builder_, *port.operand, value, address, block);
    auto* const made = builder_.CreateAlignedStore(value, address, llvm::Align(vector_bytes_));
    llvm::LLVMContext& context = builder_.getContext();
    llvm::Metadata* const one = llvm::ConstantAsMetadata::get(builder_.getInt32(1));
    made->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context, one));
  }

  LoopFunction loop_;
  llvm::IRBuilder<>& builder_;
  const LoopSource& source_;
  const LaneProgram& program_;
  const unsigned vector_bytes_;
  const bool is_long_;
  bool past_caches_ = false;
  llvm::Value* passed_ = nullptr;  ///< steps of the call before the current one
};

}  // namespace

bool has_rows(const LoopSource& source) {
  const auto is_row = [](const LoopOperand& operand) { return operand.lane_stride != 0; };
  return std::ranges::any_of(source.scanned, is_row) || std::ranges::any_of(source.stacked, is_row);
}

bool is_wide(const LoopSource& source) { return source.lanes >= kMinWideLanes && has_rows(source); }

void emit_wide_loop(llvm::Module& module, const LoopSource& source, const LaneProgram& program,
                    unsigned vector_bytes) {
  WideEmitter(module, source, program, vector_bytes).emit();
}

}  // namespace scanloom::jit
