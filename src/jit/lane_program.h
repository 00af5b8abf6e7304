// LaneProgram: the element program of a LoopSource, divided into what is uniform (one element for
// all lanes, computed once per step as scalars) and what is computed per lane.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstddef>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "jit/interface.h"

namespace scanloom::jit {

/// Caches vectors with one element in all lanes. Valid as long as the code that created a vector
/// precedes all code that asks for it.
class Splats {
 public:
  llvm::Value* of(llvm::IRBuilder<>& builder, llvm::Value* element, unsigned width);

 private:
  std::map<std::pair<llvm::Value*, unsigned>, llvm::Value*> made_;
};

/// Lets a long program load its operands and pass on its results where it computes with them.
struct LateAccess {
  std::function<llvm::Value*(std::size_t reg)> load;  ///< loads an input that was not given
  std::function<void(std::size_t reg, llvm::Value* made)> made;  ///< called by each instruction
};

class LaneProgram {
 public:
  /// `source` must outlive it.
  explicit LaneProgram(const LoopSource& source);

  /// Rough numbers of machine instructions: for the uniform elements, and for one vector of lanes.
  [[nodiscard]] std::int64_t uniform_work() const { return uniform_work_; }
  [[nodiscard]] std::int64_t lane_work() const { return lane_work_; }
  /// Bytes of the widest element computed per lane; at least 4, since narrow ones are rare.
  [[nodiscard]] unsigned widest_lane() const { return widest_; }
  /// Whether each lane costs as much as the first: functions called per lane, integer divisions,
  /// elements that are not adjacent.
  [[nodiscard]] bool goes_lane_by_lane() const { return lane_by_lane_; }

  /// Calls f(row) for the rows (uniform ones, or per lane) that the instruction of register `reg`
  /// computes, if it is of the same kind.
  template <class F>
  void for_rows_made(std::size_t reg, bool uniform, F&& f) const {
    const auto [first, last] = rows_made_.equal_range({reg, uniform});
    for (auto row = first; row != last; ++row) f(row->second);
  }
  /// Returns the rows stored after the program: all of them. With `late`, only those that no
  /// instruction passes on: rows that are inputs, and per-lane rows of a uniform value.
  [[nodiscard]] std::vector<std::size_t> rows_left(bool late) const;

  /// Returns the registers of the program for such inputs; those per lane are empty.
  std::vector<llvm::Value*> emit_uniform(llvm::IRBuilder<>& builder,
                                         std::vector<llvm::Value*> inputs,
                                         const LateAccess* late = nullptr) const;
  /// Returns the program's results for `width` lanes. `inputs`: vectors, empty for uniform ones.
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
