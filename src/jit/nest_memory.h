// NestMemory: loads and stores the operands of a nest for blocks of lanes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "jit/emit_gather.h"
#include "jit/nest_target.h"

namespace scanloom::jit {

class NestMemory {
 public:
  using Value = llvm::Value*;

  /// Emits the addresses of all operands, which no loop of the nest moves. What is stored in a loop
  /// is not known after it; `in_loop` says that all of the nest is inside one.
  NestMemory(llvm::IRBuilder<>& builder, const loopnest::Nest& nest, NestTarget& target,
             bool in_loop);

  /// By reduction and read.
  [[nodiscard]] const std::vector<std::vector<Value>>& reduction_bases() const {
    return reductions_;
  }

  [[nodiscard]] bool in_loop() const { return in_loop_; }
  /// Emits `loop()`, a loop over blocks of lanes.
  template <class Loop>
  void inside_loop(Loop&& loop) {
    forget_writes();
    const bool was_in_loop = in_loop_;
    in_loop_ = true;
    loop();
    in_loop_ = was_in_loop;
  }

  /// Begins another block of lanes.
  void begin_block() { indexed_.begin_block(); }
  /// Returns `width` lanes of a read, by its number in the nest; `index` is that of the first lane.
  Value load(std::size_t read, std::span<const Value> index, unsigned width);
  void store(std::size_t write, std::span<const Value> index, Value value, unsigned width);

 private:
  void forget_writes();
  Value load_known(const loopnest::Access& operand, std::span<const Value> index, unsigned width);
  Value address(const loopnest::Access& operand, Value base, std::span<const Value> index);

  llvm::IRBuilder<>& builder_;
  const loopnest::Nest& nest_;
  NestTarget& target_;
  GatherScatter indexed_;
  bool in_loop_;
  std::vector<Value> reads_, writes_;
  std::vector<std::vector<Value>> reductions_;
};

}  // namespace scanloom::jit
