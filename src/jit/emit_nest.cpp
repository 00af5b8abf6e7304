#include "jit/emit_nest.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "jit/counting_loop.h"
#include "jit/emit_memory.h"
#include "jit/emit_program.h"
#include "jit/emit_reduction.h"
#include "jit/nest_blocks.h"
#include "jit/nest_memory.h"
#include "loopnest/cost.h"

namespace scanloom::jit {

using loopnest::Nest;

namespace {

using Value = llvm::Value*;

/// Emits the loops over the axes of a nest, and its program for blocks of lanes.
class NestEmitter {
 public:
  NestEmitter(llvm::IRBuilder<>& builder, const Nest& nest, NestTarget& target)
      : builder_(builder),
        nest_(nest),
        target_(target),
        memory_(builder, nest, target, nest.sizes.size() > 1) {}

  void emit() {
    std::vector<Value> index;
    outer(0, index);
  }

 private:
  Value number(std::int64_t value) { return builder_.getInt64(static_cast<std::uint64_t>(value)); }

  void outer(std::size_t axis, std::vector<Value>& index) {
    if (axis + 1 >= nest_.sizes.size()) return lanes(index);
    const std::int64_t size = nest_.sizes[axis];
    const unsigned rows = axis + 2 == nest_.sizes.size() ? rows_of_block(nest_, target_) : 1;
    const std::int64_t whole = rows > 1 ? size / rows * rows : 0;
    const auto pass = [&](std::int64_t first, std::int64_t last, unsigned step) {
      if (first == last) return;
      counted(builder_, {first, last, step}, {}, [&](Value i, const std::vector<Value>&) {
        index.push_back(i);
        step > 1 ? elements_of_rows(index, step) : outer(axis + 1, index);
        index.pop_back();
        return std::vector<Value>{};
      });
    };
    pass(0, whole, rows);
    pass(whole, size, 1);
  }

  /// Emits all lanes of `rows` rows; `index` is that of the first row.
  void elements_of_rows(std::span<const Value> index, unsigned rows) {
    std::vector<std::vector<Value>> begins;
    for (unsigned row = 0; row < rows; ++row) {
      std::vector<Value>& begin = begins.emplace_back(index.begin(), index.end());
      begin.back() = builder_.CreateAdd(begin.back(), number(row));
      begin.push_back(number(0));
    }
    interleaved_elements(begins, static_cast<unsigned>(nest_.sizes.back()));
  }

  /// Emits `lanes` lanes (2^n) from each of these positions on. Reads all before it writes any, so
  /// that lanes may overlap.
  void interleaved_elements(const std::vector<std::vector<Value>>& begins, unsigned lanes) {
    const auto count = static_cast<unsigned>(begins.size());
    std::vector<std::vector<Value>> parts(nest_.reads.size());
    for (const std::vector<Value>& begin : begins) {
      memory_.begin_block();
      for (std::size_t i = 0; i < parts.size(); ++i)
        parts[i].push_back(memory_.load(i, begin, lanes));
    }
    std::vector<Value> inputs;
    for (std::vector<Value>& joined : parts) {
      for (unsigned width = 2 * lanes; joined.size() > 1; width *= 2) {
        std::vector<Value> pairs;
        for (std::size_t k = 0; k < joined.size(); k += 2)
          pairs.push_back(
              builder_.CreateShuffleVector(joined[k], joined[k + 1], lanes_from(0, width)));
        joined = std::move(pairs);
      }
      inputs.push_back(joined[0]);
    }
    const std::vector<Value> registers =
        emit_program(builder_, nest_.program, inputs, count * lanes);
    for (std::size_t i = 0; i < nest_.writes.size(); ++i) {
      Value const result = registers[static_cast<std::size_t>(nest_.program.results[i])];
      for (unsigned k = 0; k < count; ++k) {
        Value const part = builder_.CreateShuffleVector(result, lanes_from(k * lanes, lanes));
        memory_.store(i, begins[k], part, lanes);
      }
    }
  }

  /// Emits blocks of many lanes first, then of half as many for the rest, down to one.
  void lanes(std::vector<Value>& index) {
    std::int64_t count = nest_.sizes.empty() ? 1 : nest_.sizes.back();
    const std::int64_t row = count;
    const std::optional<LastVectors> last = last_vectors(nest_, target_, row);
    if (last) count = last->first;
    unsigned width = nest_.reductions.empty() ? lanes_of_block(nest_, target_)
                                              : lanes_of_reductions(nest_, target_);
    std::int64_t lane = 0;
    for (; width > 0; width /= 2) {
      const std::int64_t end = lane + (count - lane) / width * width;
      if (end > lane) blocks(lane, end, width, index);
      lane = end;
    }
    if (!last) return;
    std::vector<std::vector<Value>> begins(last->count, index);
    for (std::vector<Value>& begin : begins) {
      begin.push_back(number(std::min(lane, row - last->lanes)));
      lane += last->lanes;
    }
    interleaved_elements(begins, static_cast<unsigned>(last->lanes));
  }

  void blocks(std::int64_t first, std::int64_t last, unsigned width, std::vector<Value>& index) {
    const auto block = [&](Value lane) {
      if (!nest_.sizes.empty()) index.push_back(lane);
      elements(index, width);
      if (!nest_.sizes.empty()) index.pop_back();
    };
    if (!memory_.in_loop() && nest_.reductions.empty() &&
        last - first <= loopnest::kBlocksInARow * width) {
      for (std::int64_t lane = first; lane < last; lane += width) block(number(lane));
      return;
    }
    const auto emit_blocks = [&] {
      counted(builder_, {first, last, width}, {}, [&](Value lane, const std::vector<Value>&) {
        block(lane);
        return std::vector<Value>{};
      });
    };
    first + width < last ? memory_.inside_loop(emit_blocks) : emit_blocks();
  }

  void elements(std::span<const Value> index, unsigned width) {
    memory_.begin_block();
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < nest_.reads.size(); ++i)
      inputs.push_back(memory_.load(i, index, width));
    const std::vector<Value> reduced =
        emit_reductions(builder_, {nest_, target_, memory_.reduction_bases(), index, width});
    inputs.insert(inputs.end(), reduced.begin(), reduced.end());
    const std::vector<Value> registers = emit_program(builder_, nest_.program, inputs, width);
    for (std::size_t i = 0; i < nest_.writes.size(); ++i)
      memory_.store(i, index, registers[static_cast<std::size_t>(nest_.program.results[i])], width);
  }

  llvm::IRBuilder<>& builder_;
  const Nest& nest_;
  NestTarget& target_;
  NestMemory memory_;
};

}  // namespace

void emit_nest(llvm::IRBuilder<>& builder, const Nest& nest, NestTarget& target) {
  NestEmitter(builder, nest, target).emit();
}

}  // namespace scanloom::jit
