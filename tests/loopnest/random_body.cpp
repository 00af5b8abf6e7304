#include "tests/loopnest/random_body.h"

#include <gtest/gtest.h>

#include <utility>

#include "loopnest/run.h"
#include "tests/loopnest/random_statement.h"

namespace scanloom::loopnest::test {
namespace {

/// Inner loops and branches in each other.
constexpr int kMaxDepth = 2;
constexpr std::int64_t kMaxSlices = 20;

/// Steps of counted loops, for each time that the statements run.
std::int64_t steps_inside(const std::vector<Statement>& statements) {
  std::int64_t steps = 0;
  for (const Statement& statement : statements)
    if (statement.kind == Statement::Kind::loop && statement.loop.is_counted())
      steps += statement.loop.trips * (1 + steps_inside(statement.inner));
  return steps;
}

class BodyWriter : StatementWriter {
 public:
  BodyWriter(std::uint64_t seed, bool inner_passes)
      : StatementWriter(seed), inner_passes_(inner_passes) {}

  RandomBody make() {
    if (chance(2)) add_outer_state();
    for (std::int64_t count = 2 + below(5); count > 0; --count) add_statement();
    if (outer_state_ >= 0) write_state(outer_state_ + 1, outer_sizes_);
    if (chance(3)) made_.body.source.keep_going = add_flag(made_.body.read_later);
    add_row();
    made_.body.is_buffer = [](std::int32_t slot) { return slot == kArena; };
    made_.body.extents[1] = 3;
    made_.memory[kArena].resize(static_cast<std::size_t>(arena_bytes_));
    return std::move(made_);
  }

 private:
  void add_statement() {
    switch (below(depth_ < kMaxDepth ? 14 : 12)) {
      case 0:
        return add_pieces();
      case 1:
      case 2:
        return add_row();
      case 3:
        return add_scatter();
      case 4:
        return add_slice();
      case 5:
        return add_alias();
      case 6:
        return add_indices();
      case 12:
        return add_branch();
      case 13:
        return add_loop();
      default:
        return add_value();
    }
  }

  // Branches and loops.

  /// Returns the statements that `fill` adds, as the block's own. What they make is not known after
  /// the block, which may not run.
  template <class Fill>
  std::vector<Statement> block_of(Part& block, Fill&& fill) {
    BodyParts inside;
    std::vector<Part>* const outer = std::exchange(parts_, &inside.parts);
    const std::size_t known = known_.size(), indices = indices_.size();
    ++depth_;
    fill();
    --depth_;
    known_.resize(known);
    indices_.resize(indices);
    parts_ = outer;
    run_inside(inside, Stage::shrink);
    for (const Part& part : inside.parts) {
      block.reads.insert(block.reads.end(), part.reads.begin(), part.reads.end());
      block.writes.insert(block.writes.end(), part.writes.begin(), part.writes.end());
    }
    run_inside(inside, Stage::place);
    std::vector<Statement> statements;
    for (Part& part : inside.parts) statements.push_back(std::move(part.statement));
    return statements;
  }

  void run_inside(BodyParts& inside, Stage stage) const {
    if (!inner_passes_) return;
    const auto done = run(inside, stage, {.verify_each = true});
    EXPECT_TRUE(done) << done.error().text();
  }

  void add_branch() {
    Part block;
    block.statement.kind = Statement::Kind::branch;
    block.statement.condition = {kBooleans, DType::boolean, below(kFeedElements), {}};
    block.reads.push_back(use_of(block.statement.condition, {}));
    const Sizes sizes = shape();
    const Access row = new_row(DType::f32, sizes);
    for (auto* statements : {&block.statement.inner, &block.statement.otherwise})
      *statements = block_of(block, [&] {
        if (chance(2)) add_statement();
        Nest nest = nest_over(sizes);
        write_to(nest, row);
        add_part(std::move(nest));
      });
    parts_->push_back(std::move(block));
  }

  void add_loop() {
    Part block;
    block.statement.kind = Statement::Kind::loop;
    InnerLoop& loop = block.statement.loop;
    const bool is_counted = chance(2), has_state = chance(2);
    const std::int64_t outer_steps =
        std::exchange(loop_steps_, is_counted ? set_trips(loop) : set_control(block));
    Part* const outer = std::exchange(loop_, &block);
    Known after;
    block.statement.inner = block_of(block, [&] {
      if (has_state) after = add_state(block);
      if (chance(2)) add_slices(block);
      for (std::int64_t count = 1 + below(2); count > 0; --count) add_statement();
      if (has_state) write_state(loop.states[0].next, after.sizes);
      if (!is_counted && chance(2)) loop.keep_going = add_flag(block.reads);
      add_row();
    });
    if (!is_counted) loop.weight = 1 + steps_inside(block.statement.inner);
    loop_ = outer;
    loop_steps_ = outer_steps;
    parts_->push_back(std::move(block));
    if (has_state) known_.push_back(std::move(after));
  }

  std::int64_t set_trips(InnerLoop& loop) {
    loop.trips = chance(3) ? 17 + below(3) : 1 + below(4);
    return loop.trips;
  }

  /// The number of steps is decided when the code runs. Returns the most that there may be.
  std::int64_t set_control(Part& block) {
    InnerLoop& loop = block.statement.loop;
    loop.index = static_cast<std::int32_t>(made_.loops++);
    if (chance(2)) loop.slices = kMaxSlices;
    const std::int64_t kind = below(3);
    if (kind == 0) loop.trips = 1 + below(4);
    if (kind == 1) loop.trip_count = {kIntegers, DType::i64, 8 * below(kFeedElements), {}};
    if (kind == 2) {
      loop.trips = loop.endless = 9;
      loop.slices = kMaxSlices;
    }
    if (chance(2)) loop.condition = {kBooleans, DType::boolean, below(kFeedElements), {}};
    for (const auto* operand : {&loop.trip_count, &loop.condition})
      if (*operand) block.reads.push_back(use_of(**operand, {}));
    return kMaxSlices;
  }

  /// Adds slices of a value, one for each step of the loop.
  void add_slices(Part& block) {
    const Sizes sizes = shape();
    const DType dtype = any_dtype();
    const std::int64_t bytes = product(sizes) * width(dtype);
    const std::int32_t all = add_filled(dtype, product(sizes) * loop_steps_);
    const std::int32_t slice = add_memory(0);
    const bool is_reversed = chance(3);
    InnerLoop& loop = block.statement.loop;
    loop.before.push_back({slice, all, is_reversed ? bytes * (loop_steps_ - 1) : 0});
    loop.moves.push_back({slice, is_reversed ? -bytes : bytes});
    block.reads.push_back({all, 0, bytes * loop_steps_});
    if (chance(2)) made_.body.extents[slice] = 2;
    know({slice, dtype, 0, row_major(sizes)}, sizes);
  }

  /// Adds a state of the loop, which begins with some value. Returns the state after the loop.
  Known add_state(Part& block) {
    const Sizes sizes = shape();
    const std::int64_t bytes = product(sizes) * 4;
    const Known known = known_to_share();
    Access initial = known.written;
    if (initial.dtype != DType::f32 || known.elements * 4 < bytes)
      initial = {add_filled(DType::f32, product(sizes)), DType::f32, 0, {}};
    const std::int32_t argument = add_memory(0), next = add_memory(0), last = add_memory(0);
    const std::int32_t first_buffer = add_memory(bytes), second_buffer = add_memory(bytes);
    InnerLoop& loop = block.statement.loop;
    loop.before.push_back({argument, initial.slot, initial.offset});
    loop.before.push_back({next, first_buffer, 0});
    loop.states.push_back({argument, next, {next, second_buffer, 0}});
    loop.after.push_back({last, argument, 0});
    loop.skipped.push_back({last, initial.slot, initial.offset});
    block.reads.push_back({initial.slot, initial.offset, initial.offset + bytes});
    block.writes.push_back(all_of(last));
    know({argument, DType::f32, 0, row_major(sizes)}, sizes);
    return {{last, DType::f32, 0, row_major(sizes)}, sizes, product(sizes)};
  }

  /// Writes the successor of a state.
  void write_state(std::int32_t slot, const Sizes& sizes) {
    Nest nest = nest_over(sizes);
    write_to(nest, {slot, DType::f32, 0, row_major(sizes)});
    add_part(std::move(nest));
  }

  void add_outer_state() {
    outer_sizes_ = shapes_[1];
    outer_state_ = add_filled(DType::f32, product(outer_sizes_));
    add_memory(product(outer_sizes_) * 4);
    made_.body.source.swaps.push_back({outer_state_, outer_state_ + 1});
    made_.results.push_back(
        {outer_state_, DType::f32, true, static_cast<std::size_t>(product(outer_sizes_) * 4)});
    know({outer_state_, DType::f32, 0, row_major(outer_sizes_)}, outer_sizes_);
  }

  const bool inner_passes_;
  int depth_ = 0;
  Sizes outer_sizes_;
  std::int32_t outer_state_ = -1;
};

}  // namespace

RandomBody make_random_body(std::uint64_t seed, bool inner_passes) {
  return BodyWriter(seed, inner_passes).make();
}

}  // namespace scanloom::loopnest::test
