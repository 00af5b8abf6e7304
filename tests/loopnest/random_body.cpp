#include "tests/loopnest/random_body.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "tensor/scalar_eval.h"

namespace scanloom::loopnest::test {
namespace {

using tensor::ScalarOp;
using tensor::ScalarProgram;
using Sizes = std::vector<std::int64_t>;

constexpr DType kTypes[] = {DType::f32, DType::f32, DType::f64, DType::i32, DType::i64};
constexpr std::int64_t kFeedElements = 96, kIndexed = 4;
constexpr std::int32_t kArena = 0;

std::int64_t product(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

Sizes row_major(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

std::int64_t width(DType dtype) { return static_cast<std::int64_t>(dtype_bytes(dtype)); }

/// A value that nests may read: as it was written, and all its elements from the offset on.
struct Known {
  Access written;
  Sizes sizes;
  std::int64_t elements = 0;
};

/// Makes choices, and element programs by them.
class ProgramWriter {
 protected:
  explicit ProgramWriter(std::uint64_t seed) : random_(seed) {}

  // The generator's own arithmetic: distributions of the library differ from one to the next.
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  bool chance(std::int64_t one_in) { return below(one_in) == 0; }

  void finish(ScalarProgram& program, const std::vector<DType>& results) {
    for (std::int64_t count = below(5); count > 0; --count) append_instruction(program);
    for (const DType dtype : results) program.results.push_back(some(program, dtype));
  }

 private:
  std::int32_t any_of(const ScalarProgram& program, DType dtype) {
    std::vector<std::int32_t> found;
    const auto count = static_cast<std::int32_t>(program.inputs.size() + program.instrs.size());
    for (std::int32_t i = 0; i < count; ++i)
      if (program.register_dtype(i) == dtype) found.push_back(i);
    if (!found.empty()) return found[static_cast<std::size_t>(below(std::ssize(found)))];
    return -1;
  }

  /// Returns a register of that type, or casts another one if there is none.
  std::int32_t some(ScalarProgram& program, DType dtype) {
    const std::int32_t found = any_of(program, dtype);
    if (found >= 0) return found;
    const auto count = static_cast<std::int64_t>(program.inputs.size() + program.instrs.size());
    if (count == 0)
      return program.append({.op = ScalarOp::constant,
                             .dtype = dtype,
                             .bits = tensor::scalar_bits(std::int64_t{3}, dtype)});
    return program.append({.op = ScalarOp::cast,
                           .dtype = dtype,
                           .args = {static_cast<std::int32_t>(below(count)), -1, -1}});
  }

  void append_instruction(ScalarProgram& program) {
    constexpr ScalarOp kOps[] = {ScalarOp::add,   ScalarOp::sub,   ScalarOp::mul, ScalarOp::min,
                                 ScalarOp::max,   ScalarOp::neg,   ScalarOp::abs, ScalarOp::less,
                                 ScalarOp::equal, ScalarOp::select};
    const DType dtype = kTypes[below(std::ssize(kTypes))];
    const ScalarOp op =
        is_floating_point(dtype) && chance(12) ? ScalarOp::tanh : kOps[below(std::ssize(kOps))];
    tensor::ScalarInstr instr{.op = op, .dtype = dtype};
    for (int i = 0; i < tensor::scalar_op_arguments(op); ++i)
      instr.args[i] = some(program, op == ScalarOp::select && i == 0 ? DType::boolean : dtype);
    program.append(instr);
  }

 protected:
  std::mt19937_64 random_;
};

class BodyWriter : ProgramWriter {
 public:
  explicit BodyWriter(std::uint64_t seed) : ProgramWriter(seed) {}

  RandomBody make() {
    add_memory(0);
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean})
      add_feed(dtype);
    add_indices(DType::i32);
    add_indices(DType::i64);
    for (auto& shape : shapes_)
      for (std::int64_t axes = below(4); axes > 0; --axes) shape.push_back(1 + below(6));
    shapes_[0].push_back(chance(3) ? 19 : 8);
    if (chance(2)) add_state();
    for (std::int64_t nests = 2 + below(5); nests > 0; --nests) add_statement();
    if (state_ >= 0) write_state();
    add_row(nest_over(shape()));
    made_.body.is_buffer = [](std::int32_t slot) { return slot == kArena; };
    made_.body.extents[1] = 3;
    made_.memory[kArena].resize(static_cast<std::size_t>(arena_bytes_));
    return std::move(made_);
  }

 private:
  const Sizes& shape() { return shapes_[below(2)]; }

  std::int32_t add_memory(std::int64_t bytes) {
    made_.memory.emplace_back(static_cast<std::size_t>(bytes));
    return static_cast<std::int32_t>(made_.memory.size() - 1);
  }

  void fill(std::int32_t slot, DType dtype, bool as_index) {
    std::vector<std::byte>& bytes = made_.memory[static_cast<std::size_t>(slot)];
    for (std::size_t at = 0; at < bytes.size(); at += dtype_bytes(dtype)) {
      const std::int64_t number = as_index ? below(2 * kIndexed) - kIndexed : below(33) - 16;
      std::uint64_t bits = tensor::scalar_bits(number, dtype);
      if (!as_index && is_floating_point(dtype))
        bits = tensor::scalar_bits(static_cast<double>(number) * 0.37, dtype);
      if (dtype == DType::boolean) bits = static_cast<std::uint64_t>(below(2));
      std::memcpy(&bytes[at], &bits, dtype_bytes(dtype));
    }
  }

  void add_feed(DType dtype) {
    const std::int32_t slot = add_memory(kFeedElements * width(dtype));
    fill(slot, dtype, false);
    known_.push_back({{slot, dtype, 0, {1}}, {kFeedElements}, kFeedElements});
  }

  void add_indices(DType dtype) {
    const std::int32_t slot = add_memory(kFeedElements * width(dtype));
    fill(slot, dtype, true);
    indices_.push_back({{slot, dtype, 0, {1}}, {kFeedElements}, kFeedElements});
  }

  void add_state() {
    state_sizes_ = shapes_[1];
    const std::int64_t elements = product(state_sizes_);
    state_ = add_memory(elements * 4);
    add_memory(elements * 4);
    fill(state_, DType::f32, false);
    made_.body.source.swaps.push_back({state_, state_ + 1});
    made_.results.push_back({state_, DType::f32, true, static_cast<std::size_t>(elements * 4)});
    known_.push_back({{state_, DType::f32, 0, row_major(state_sizes_)}, state_sizes_, elements});
  }

  // Accesses.

  /// Strides over the axes that stay among so many elements; sets how far on they begin.
  Sizes strides_within(const Sizes& sizes, std::int64_t elements, std::int64_t& first) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      Sizes strides = row_major(sizes);
      std::int64_t low = 0, high = 0;
      if (chance(3)) std::ranges::shuffle(strides, random_);
      for (std::size_t i = 0; i < strides.size(); ++i) {
        if (chance(5)) strides[i] = 0;
        if (chance(5)) strides[i] = -strides[i];
        if (chance(8)) strides[i] *= 2;
        (strides[i] < 0 ? low : high) += strides[i] * (sizes[i] - 1);
      }
      if (high - low >= elements) continue;
      first = below(elements - (high - low)) - low;
      return strides;
    }
    first = below(elements);
    return Sizes(sizes.size(), 0);
  }

  /// One of the last four values more often than others, so that nests read what others make.
  const Known& any_known() {
    const std::int64_t count = std::ssize(known_);
    const std::int64_t at =
        chance(3) ? below(count) : count - 1 - below(std::min<std::int64_t>(4, count));
    return known_[static_cast<std::size_t>(at)];
  }

  Access read_over(const Sizes& sizes, bool may_be_indexed) {
    const Known& known = any_known();
    if (known.sizes == sizes && !chance(4)) return known.written;
    Access read = known.written;
    const bool is_indexed = may_be_indexed && known.elements >= 2 * kIndexed && chance(5);
    std::int64_t first = 0;
    read.strides = strides_within(sizes, known.elements - (is_indexed ? kIndexed - 1 : 0), first);
    read.offset += first * width(read.dtype);
    if (!is_indexed) return read;
    const Known& chosen = indices_[static_cast<std::size_t>(below(2))];
    DynamicIndex index{.slot = chosen.written.slot, .dtype = chosen.written.dtype};
    index.strides = strides_within(sizes, chosen.elements, first);
    index.offset = first * width(index.dtype);
    index.size = kIndexed;
    index.bytes = width(read.dtype);
    read.indices.push_back(std::move(index));
    return read;
  }

  // Nests.

  Reduction reduction_over(const Sizes& sizes) {
    Reduction reduction;
    reduction.kind = static_cast<Reduction::Kind>(below(7));
    DType dtype = kTypes[below(std::ssize(kTypes))];
    reduction.sizes = {1 + below(chance(3) ? 20 : 5)};
    Sizes axes = sizes;
    const bool finds_index =
        reduction.kind == Reduction::Kind::argmax || reduction.kind == Reduction::Kind::argmin;
    if (!finds_index && chance(3)) reduction.sizes.push_back(1 + below(4));
    axes.insert(axes.end(), reduction.sizes.begin(), reduction.sizes.end());
    for (std::int64_t reads = 1 + below(2); reads > 0; --reads) {
      reduction.reads.push_back(read_over(axes, false));
      reduction.program.inputs.push_back(reduction.reads.back().dtype);
    }
    std::vector<DType> results(reduction.kind == Reduction::Kind::multiply_add ? 2 : 1, dtype);
    finish(reduction.program, results);
    reduction.dtype = finds_index ? DType::i64 : dtype;
    reduction.takes_last = finds_index && chance(2);
    return reduction;
  }

  /// A nest without its writes and results.
  Nest nest_over(const Sizes& sizes) {
    Nest nest{.sizes = sizes, .reads = {}, .reductions = {}, .program = {}, .writes = {}};
    for (std::int64_t reads = 1 + below(3); reads > 0; --reads)
      nest.reads.push_back(read_over(sizes, true));
    if (chance(3)) nest.reductions.push_back(reduction_over(sizes));
    for (const Access& read : nest.reads) nest.program.inputs.push_back(read.dtype);
    for (const Reduction& each : nest.reductions) nest.program.inputs.push_back(each.dtype);
    for (const Access& read : nest.reads)
      if (!read.indices.empty()) nest.calls = {0};
    return nest;
  }

  Access place_in_arena(DType dtype, const Sizes& sizes) {
    arena_bytes_ = (arena_bytes_ + 63) / 64 * 64;
    Access place{kArena, dtype, arena_bytes_, row_major(sizes)};
    arena_bytes_ += product(sizes) * width(dtype);
    return place;
  }

  void add_part(Nest nest) { made_.body.parts.push_back(part_of(std::move(nest), {})); }

  void write_to(Nest& nest, Access place) {
    finish(nest.program, {place.dtype});
    nest.writes.push_back(std::move(place));
  }

  /// A row of a result, one in each step.
  Access new_row(DType dtype, const Sizes& sizes) {
    const std::int64_t bytes = product(sizes) * width(dtype);
    const std::int32_t slot = add_memory(bytes * kRandomSteps);
    made_.body.source.moves.push_back({slot, bytes});
    made_.results.push_back({slot, dtype, false, static_cast<std::size_t>(bytes * kRandomSteps)});
    return {slot, dtype, 0, row_major(sizes)};
  }

  void add_row(Nest nest) {
    write_to(nest, new_row(kTypes[below(std::ssize(kTypes))], nest.sizes));
    add_part(std::move(nest));
  }

  void add_value() {
    Nest nest = nest_over(shape());
    const Sizes sizes = nest.sizes;
    const Access place = place_in_arena(kTypes[below(std::ssize(kTypes))], sizes);
    write_to(nest, place);
    add_part(std::move(nest));
    known_.push_back({place, sizes, product(sizes)});
  }

  /// A value that two nests put together along the first axis.
  void add_pieces() {
    Sizes dims = shapes_[0];
    const std::int64_t first = 1 + below(3), second = 1 + below(3);
    dims[0] = first + second;
    const Access whole = place_in_arena(kTypes[below(std::ssize(kTypes))], dims);
    for (const bool is_second : {false, true}) {
      Sizes sizes = dims;
      sizes[0] = is_second ? second : first;
      Nest nest = nest_over(sizes);
      Access place = whole;
      if (is_second) place.offset += first * whole.strides[0] * width(whole.dtype);
      write_to(nest, place);
      add_part(std::move(nest));
    }
    const auto pieces = made_.body.parts.end() - 2;
    if (!pieces[0].may_fail() && !pieces[1].may_fail())
      pieces[0].whole = pieces[1].whole =
          Whole{whole.slot, whole.dtype, whole.offset, dims, whole.strides};
    known_.push_back({whole, dims, product(dims)});
  }

  /// A row that one of two nests writes.
  void add_branch() {
    Part block;
    block.statement.kind = Statement::Kind::branch;
    block.statement.condition = {5, DType::boolean, below(kFeedElements), {}};
    block.reads.push_back(use_of(block.statement.condition, {}));
    const Sizes sizes = shape();
    const Access row = new_row(DType::f32, sizes);
    for (auto* statements : {&block.statement.inner, &block.statement.otherwise}) {
      Nest nest = nest_over(sizes);
      write_to(nest, row);
      Part part = part_of(std::move(nest), {});
      block.reads.insert(block.reads.end(), part.reads.begin(), part.reads.end());
      block.writes.insert(block.writes.end(), part.writes.begin(), part.writes.end());
      statements->push_back(std::move(part.statement));
    }
    made_.body.parts.push_back(std::move(block));
  }

  void add_statement() {
    const std::int64_t kind = below(8);
    if (kind == 0) return add_branch();
    if (kind == 1) return add_pieces();
    if (kind == 2) return add_row(nest_over(shape()));
    add_value();
  }

  void write_state() {
    Nest nest = nest_over(state_sizes_);
    write_to(nest, {state_ + 1, DType::f32, 0, row_major(state_sizes_)});
    add_part(std::move(nest));
  }

  RandomBody made_;
  std::vector<Known> known_, indices_;
  Sizes shapes_[2];
  Sizes state_sizes_;
  std::int32_t state_ = -1;
  std::int64_t arena_bytes_ = 0;
};

}  // namespace

RandomBody make_random_body(std::uint64_t seed) { return BodyWriter(seed).make(); }

}  // namespace scanloom::loopnest::test
