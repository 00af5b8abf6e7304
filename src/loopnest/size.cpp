#include "loopnest/size.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "loopnest/access.h"
#include "loopnest/cost.h"
#include "tensor/scalar_functions.h"

namespace scanloom::loopnest {
namespace {

using tensor::ScalarInstr;
using tensor::ScalarOp;
using tensor::ScalarProgram;

/// Functions such as exp become many operations, or one call.
constexpr std::int64_t kOperationsOfFunction = 24, kOperationsOfPow = 120, kOperationsOfCall = 2;
/// Per lane of an operand with indices, and additionally per index.
constexpr std::int64_t kOperationsOfIndexed = 2, kOperationsOfIndex = 3;
/// Elements of a transposed block, over all vector widths.
constexpr std::int64_t kElementsInARow = 6;
/// Lanes of a block of the widest vectors.
constexpr std::int64_t kLanesOfBlock = 32;

/// Operations that LLVM emits lane by lane.
bool is_per_lane(const ScalarInstr& instr) {
  return tensor::divides(instr.op) && !is_floating_point(instr.dtype);
}

/// Calls f(nest) for each nest of the statement, including nested ones.
template <class F>
void for_nests(const Statement& statement, F&& f) {
  if (statement.kind == Statement::Kind::nest || statement.kind == Statement::Kind::dynamic_slice)
    f(statement.nest);
  for (const auto* block : {&statement.inner, &statement.otherwise})
    for (const Statement& inner : *block) for_nests(inner, f);
}

class Counter {
 public:
  explicit Counter(std::span<const Part> parts) {
    for (const Part& part : parts)
      for_nests(part.statement, [&](const Nest& nest) {
        for_programs(nest, [&](const ScalarProgram& program) { count_functions(program); });
      });
  }

  /// A program is emitted once per block of lanes that is not part of a loop.
  [[nodiscard]] std::int64_t operations_of(const Nest& nest) const {
    const std::int64_t lanes = nest.sizes.empty() ? 1 : nest.sizes.back();
    const std::int64_t times = blocks_of(lanes, !nest.reductions.empty());
    std::int64_t operations = operations_of(nest.program, lanes, times, 1);
    if (nest.writes_by_index())
      operations += operations_of(nest.update, lanes, times * lanes_apart(nest, nest.writes[0]), 1);
    for (const auto* operands : {&nest.reads, &nest.writes})
      for (const Access& operand : *operands) operations += accesses_of(nest, operand, times);
    for (const Reduction& reduction : nest.reductions) {
      const bool across = std::ranges::any_of(
          reduction.reads, [&](const Access& read) { return is_across(nest, read); });
      // Transposed blocks are unrolled element by element; max, min and indices have three forms.
      const bool adds = reduction.kind == Reduction::Kind::sum ||
                        reduction.kind == Reduction::Kind::prod ||
                        reduction.kind == Reduction::Kind::multiply_add;
      operations += operations_of(reduction.program, lanes, times,
                                  across ? kElementsInARow
                                  : adds ? 1
                                         : 3);
      for (const Access& operand : reduction.reads) operations += accesses_of(nest, operand, times);
    }
    return operations;
  }

 private:
  void count_functions(const ScalarProgram& program) {
    for (const ScalarInstr& instr : program.instrs)
      if (tensor::is_function(instr.op)) ++functions_[instr.op];
  }

  /// With reductions there is a block for every vector width.
  static std::int64_t blocks_of(std::int64_t lanes, bool reductions) {
    const auto bits = [](std::int64_t count) { return static_cast<std::uint64_t>(count); };
    if (reductions) return std::min<std::int64_t>(std::bit_width(bits(lanes)), 8);
    const std::int64_t whole = lanes / kLanesOfBlock;
    return (whole <= kBlocksInARow ? whole : 1) + std::popcount(bits(lanes % kLanesOfBlock));
  }

  [[nodiscard]] std::int64_t operations_of(const ScalarProgram& program, std::int64_t lanes,
                                           std::int64_t blocks, std::int64_t forms) const {
    std::int64_t operations = 0;
    for (const ScalarInstr& instr : program.instrs)
      operations +=
          forms * (is_per_lane(instr)              ? std::min<std::int64_t>(lanes, 64)
                   : tensor::is_written_out(instr) ? operations_of_function(instr.op) * blocks
                                                   : blocks);
    return operations;
  }

  [[nodiscard]] std::int64_t operations_of_function(ScalarOp op) const {
    const auto count = functions_.find(op);
    if (count != functions_.end() && count->second > kMaxWrittenOut) return kOperationsOfCall;
    return op == ScalarOp::pow ? kOperationsOfPow : kOperationsOfFunction;
  }

  /// Returns how many lanes of a block are accessed one by one because each has its own index.
  static std::int64_t lanes_apart(const Nest& nest, const Access& operand) {
    const std::size_t axes = nest.sizes.size();
    const bool apart = axes > 0 && std::ranges::any_of(operand.indices, [&](const auto& index) {
                         return index.strides[axes - 1] != 0;
                       });
    return apart ? std::min<std::int64_t>(nest.sizes.back(), kLanesOfBlock) : 1;
  }

  /// Elements that are not adjacent are accessed one by one.
  static std::int64_t accesses_of(const Nest& nest, const Access& operand, std::int64_t blocks) {
    const std::size_t axes = nest.sizes.size();
    if (!operand.indices.empty()) {
      const auto indices = static_cast<std::int64_t>(operand.indices.size());
      return (kOperationsOfIndexed + kOperationsOfIndex * indices) * blocks *
             lanes_apart(nest, operand);
    }
    const std::int64_t stride = axes == 0 ? 0 : operand.strides[axes - 1];
    return stride == 0 || stride == 1 ? blocks : std::min<std::int64_t>(nest.sizes.back(), 64);
  }

  std::map<ScalarOp, std::int64_t> functions_;
};

}  // namespace

std::int64_t emitted_of(std::span<const Part> parts) {
  const Counter counter(parts);
  std::int64_t operations = 0;
  for (const Part& part : parts)
    for_nests(part.statement, [&](const Nest& nest) { operations += counter.operations_of(nest); });
  return operations;
}

}  // namespace scanloom::loopnest
