#include "tests/loopnest/random_nest.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "tensor/scalar_eval.h"

namespace scanloom::loopnest::test {

using tensor::ScalarProgram;

std::int64_t product(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

Sizes row_major(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

NestWriter::NestWriter(std::uint64_t seed) : ProgramWriter(seed) {
  add_memory(0);  // the arena
  for (const DType dtype :
       {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean, DType::f16, DType::bf16})
    known_.push_back(
        {{add_filled(dtype, kFeedElements), dtype, 0, {1}}, {kFeedElements}, kFeedElements});
  for (const DType dtype : {DType::i32, DType::i64})
    indices_.push_back(
        {{add_filled(dtype, kFeedElements, true), dtype, 0, {1}}, {kFeedElements}, kFeedElements});
  for (auto& shape : shapes_)
    for (std::int64_t axes = below(4); axes > 0; --axes) shape.push_back(1 + below(6));
  shapes_[0].push_back(chance(3) ? 19 : 8);
}

std::int32_t NestWriter::add_memory(std::int64_t bytes) {
  made_.memory.emplace_back(static_cast<std::size_t>(bytes));
  return static_cast<std::int32_t>(made_.memory.size() - 1);
}

std::int32_t NestWriter::add_filled(DType dtype, std::int64_t elements, bool as_index) {
  const std::int32_t slot = add_memory(elements * width(dtype));
  std::vector<std::byte>& bytes = made_.memory.back();
  for (std::size_t at = 0; at < bytes.size(); at += dtype_bytes(dtype)) {
    const std::int64_t number = as_index ? below(2 * kIndexed) - kIndexed : below(33) - 16;
    std::uint64_t bits = tensor::scalar_bits(number, dtype);
    if (is_floating_point(dtype))
      bits = tensor::scalar_bits(static_cast<double>(number) * 0.37, dtype);
    if (dtype == DType::boolean) bits = static_cast<std::uint64_t>(below(2));
    std::memcpy(&bytes[at], &bits, dtype_bytes(dtype));
  }
  return slot;
}

Access NestWriter::place_in_arena(DType dtype, const Sizes& sizes) {
  arena_bytes_ = (arena_bytes_ + 63) / 64 * 64;
  Access place{kArena, dtype, arena_bytes_, row_major(sizes)};
  arena_bytes_ += product(sizes) * width(dtype);
  return place;
}

/// Strides over the axes that stay among so many elements; sets how far on they begin.
Sizes NestWriter::strides_within(const Sizes& sizes, std::int64_t elements, std::int64_t& first) {
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

const Known& NestWriter::any_known() {
  const std::int64_t count = std::ssize(known_);
  const std::int64_t at =
      chance(3) ? below(count) : count - 1 - below(std::min<std::int64_t>(4, count));
  return known_[static_cast<std::size_t>(at)];
}

DynamicIndex NestWriter::index_over(const Sizes& sizes, DType moved) {
  const Known& chosen = indices_[static_cast<std::size_t>(below(std::ssize(indices_)))];
  DynamicIndex index{.slot = chosen.written.slot, .dtype = chosen.written.dtype};
  std::int64_t first = 0;
  index.strides = strides_within(sizes, chosen.elements, first);
  index.offset = chosen.written.offset + first * width(index.dtype);
  index.size = kIndexed;
  index.bytes = width(moved);
  return index;
}

Access NestWriter::access_within(const Known& known, const Sizes& sizes, bool is_indexed) {
  Access access = known.written;
  std::int64_t first = 0;
  access.strides = strides_within(sizes, known.elements - (is_indexed ? kIndexed - 1 : 0), first);
  access.offset += first * width(access.dtype);
  if (is_indexed) access.indices.push_back(index_over(sizes, access.dtype));
  return access;
}

Access NestWriter::read_over(const Sizes& sizes, bool may_be_indexed) {
  const Known& known = any_known();
  if (known.sizes == sizes && !chance(4)) return known.written;
  const bool is_indexed = may_be_indexed && known.elements >= 2 * kIndexed && chance(5);
  return access_within(known, sizes, is_indexed);
}

Reduction NestWriter::reduction_over(const Sizes& sizes) {
  Reduction reduction;
  reduction.kind = static_cast<Reduction::Kind>(below(7));
  const DType dtype = any_accumulator();
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

Nest NestWriter::nest_over(const Sizes& sizes) {
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

void NestWriter::write_to(Nest& nest, Access place) {
  finish(nest.program, {place.dtype});
  nest.writes.push_back(std::move(place));
}

}  // namespace scanloom::loopnest::test
