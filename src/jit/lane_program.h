// The element program of a LoopSource, divided into what is one element for all lanes, computed
// once per step as scalars, and what is computed per lane.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "jit/interface.h"

namespace scanloom::jit {

/// Vectors of one element in all lanes, each made once. Of use while the places where they were
/// made come before every place where they are asked for.
class Splats {
 public:
  llvm::Value* of(llvm::IRBuilder<>& builder, llvm::Value* element, unsigned width);

 private:
  std::map<std::pair<llvm::Value*, unsigned>, llvm::Value*> made_;
};

class LaneProgram {
 public:
  /// `source` must outlive it.
  explicit LaneProgram(const LoopSource& source);

  /// Whether a register of the program is one element for all lanes.
  [[nodiscard]] bool is_uniform(std::size_t reg) const { return uniform_[reg]; }
  /// Rough numbers of machine instructions: of all lanes' elements, and of one vector of lanes.
  [[nodiscard]] std::int64_t uniform_work() const { return uniform_work_; }
  [[nodiscard]] std::int64_t lane_work() const { return lane_work_; }
  /// Bytes of the widest element that is computed with per lane; 4 at least, as narrow ones are
  /// rare.
  [[nodiscard]] unsigned widest_lane() const { return widest_; }
  /// Whether each lane costs as much as the first: functions that are called per lane, divisions of
  /// integers, elements that lie apart.
  [[nodiscard]] bool goes_lane_by_lane() const { return lane_by_lane_; }

  /// Registers of the program, those per lane empty, from such inputs.
  std::vector<llvm::Value*> emit_uniform(llvm::IRBuilder<>& builder,
                                         std::vector<llvm::Value*> inputs) const;
  /// The results of the program for `width` lanes; `inputs`: vectors, those that are uniform empty.
  std::vector<llvm::Value*> emit_lanes(llvm::IRBuilder<>& builder,
                                       const std::vector<llvm::Value*>& uniform,
                                       const std::vector<llvm::Value*>& inputs, unsigned width,
                                       Splats& splats) const;

 private:
  void measure(const tensor::ScalarInstr& instr, std::size_t reg);
  void look_at_lanes(const LoopOperand& operand);

  const tensor::ScalarProgram& program_;
  std::vector<bool> uniform_;
  std::int64_t uniform_work_ = 0, lane_work_ = 0;
  unsigned widest_ = 4;
  bool lane_by_lane_ = false;
};

}  // namespace scanloom::jit
