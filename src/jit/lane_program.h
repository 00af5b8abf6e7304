// The element program of a LoopSource, divided into what is one element for all lanes, computed
// once per step as scalars, and what is computed per lane.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstddef>
#include <functional>
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

/// How a long program reads its operands and hands on what it makes: where it does so.
struct LateAccess {
  std::function<llvm::Value*(std::size_t reg)> load;             ///< of an input that was not given
  std::function<void(std::size_t reg, llvm::Value* made)> made;  ///< by each instruction
};

class LaneProgram {
 public:
  /// `source` must outlive it.
  explicit LaneProgram(const LoopSource& source);

  /// Rough numbers of machine instructions: of all lanes' elements, and of one vector of lanes.
  [[nodiscard]] std::int64_t uniform_work() const { return uniform_work_; }
  [[nodiscard]] std::int64_t lane_work() const { return lane_work_; }
  /// Bytes of the widest element that is computed with per lane; 4 at least, as narrow ones are
  /// rare.
  [[nodiscard]] unsigned widest_lane() const { return widest_; }
  /// Whether each lane costs as much as the first: functions that are called per lane, divisions of
  /// integers, elements that lie apart.
  [[nodiscard]] bool goes_lane_by_lane() const { return lane_by_lane_; }

  /// Calls f(row) for the rows, all of them one element or all of them lanes, that an instruction
  /// of their kind makes: that of register `reg`.
  template <class F>
  void for_rows_made(std::size_t reg, bool uniform, F&& f) const {
    const auto [first, last] = rows_made_.equal_range({reg, uniform});
    for (auto row = first; row != last; ++row) f(row->second);
  }
  /// The rows that are stored behind the program: all, or, of a program that hands on what it makes
  /// (`late`), those for which that calls nothing: of inputs, or lanes of what is one element.
  [[nodiscard]] std::vector<std::size_t> rows_left(bool late) const;

  /// Registers of the program, those per lane empty, from such inputs.
  std::vector<llvm::Value*> emit_uniform(llvm::IRBuilder<>& builder,
                                         std::vector<llvm::Value*> inputs,
                                         const LateAccess* late = nullptr) const;
  /// The results of the program for `width` lanes; `inputs`: vectors, those that are uniform empty.
  std::vector<llvm::Value*> emit_lanes(llvm::IRBuilder<>& builder,
                                       const std::vector<llvm::Value*>& uniform,
                                       const std::vector<llvm::Value*>& inputs, unsigned width,
                                       Splats& splats, const LateAccess* late = nullptr) const;

 private:
  void measure(const tensor::ScalarInstr& instr, std::size_t reg);
  void look_at_lanes(const LoopOperand& operand);

  const tensor::ScalarProgram& program_;
  std::vector<bool> uniform_;
  std::multimap<std::pair<std::size_t, bool>, std::size_t> rows_made_;
  std::vector<std::size_t> rows_not_made_;
  std::size_t rows_ = 0;
  std::int64_t uniform_work_ = 0, lane_work_ = 0;
  unsigned widest_ = 4;
  bool lane_by_lane_ = false;
};

}  // namespace scanloom::jit
