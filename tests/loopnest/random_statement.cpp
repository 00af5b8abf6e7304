#include "tests/loopnest/random_statement.h"

#include <limits>

namespace scanloom::loopnest::test {

Use all_of(std::int32_t slot) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  return {slot, -kFar, kFar};
}

// Values and rows.

void StatementWriter::add_value() {
  Nest nest = nest_over(shape());
  const Sizes sizes = nest.sizes;
  const Access place = place_in_arena(any_dtype(), sizes);
  write_to(nest, place);
  add_part(std::move(nest));
  know(place, sizes);
}

Access StatementWriter::new_row(DType dtype, const Sizes& sizes) {
  const std::int64_t bytes = product(sizes) * width(dtype);
  const std::int64_t steps = loop_ == nullptr ? kRandomSteps : loop_steps_;
  const std::int32_t result = add_memory(bytes * steps);
  made_.results.push_back({result, dtype, false, static_cast<std::size_t>(bytes * steps)});
  if (loop_ == nullptr) {
    made_.body.source.moves.push_back({result, bytes});
    return {result, dtype, 0, row_major(sizes)};
  }
  const std::int32_t row = add_memory(0);
  const bool is_reversed = chance(3);
  loop_->statement.loop.before.push_back({row, result, is_reversed ? bytes * (steps - 1) : 0});
  loop_->statement.loop.moves.push_back({row, is_reversed ? -bytes : bytes});
  loop_->writes.push_back({result, 0, bytes * steps});
  return {row, dtype, 0, row_major(sizes)};
}

void StatementWriter::add_row() {
  Nest nest = nest_over(shape());
  write_to(nest, new_row(any_dtype(), nest.sizes));
  add_part(std::move(nest));
}

void StatementWriter::add_pieces() {
  Sizes dims = shapes_[0];
  const std::int64_t first = 1 + below(3), second = 1 + below(3);
  dims[0] = first + second;
  const Access whole = place_in_arena(any_dtype(), dims);
  for (const bool is_second : {false, true}) {
    Sizes sizes = dims;
    sizes[0] = is_second ? second : first;
    Nest nest = nest_over(sizes);
    Access place = whole;
    if (is_second) place.offset += first * whole.strides[0] * width(whole.dtype);
    write_to(nest, place);
    add_part(std::move(nest));
  }
  const auto pieces = parts_->end() - 2;
  if (!pieces[0].may_fail() && !pieces[1].may_fail())
    pieces[0].whole = pieces[1].whole =
        Whole{whole.slot, whole.dtype, whole.offset, dims, whole.strides};
  know(whole, dims);
}

void StatementWriter::add_alias() {
  Known known = any_known();
  Part part;
  part.statement.kind = Statement::Kind::set;
  part.statement.set = {add_memory(0), known.written.slot, known.written.offset};
  part.reads.push_back({known.written.slot, known.written.offset,
                        known.written.offset + known.elements * width(known.written.dtype)});
  part.writes.push_back(all_of(part.statement.set.slot));
  known.written.slot = part.statement.set.slot;
  known.written.offset = 0;
  parts_->push_back(std::move(part));
  known_.push_back(std::move(known));
}

void StatementWriter::add_indices() {
  const Known& from = indices_[static_cast<std::size_t>(below(2))];
  const Sizes sizes{kFeedElements / 8, 8};
  Nest nest{.sizes = sizes, .reads = {from.written}, .reductions = {}, .program = {}, .writes = {}};
  nest.reads[0].strides = row_major(sizes);
  nest.program = {.inputs = {from.written.dtype}, .instrs = {}, .results = {0}};
  nest.writes = {place_in_arena(from.written.dtype, sizes)};
  indices_.push_back({nest.writes[0], sizes, kFeedElements});
  add_part(std::move(nest));
}

Access StatementWriter::add_flag(std::vector<Use>& read_later) {
  Nest nest = nest_over({});
  const Access place = place_in_arena(DType::boolean, {});
  write_to(nest, place);
  add_part(std::move(nest));
  read_later.push_back(use_of(place, {}));
  return place;
}

// Writes in place.

/// Memory that no statement has read yet: of the step, or kept from step to step.
Known StatementWriter::new_target() {
  if (chance(2)) {
    const Sizes sizes = shape();
    if (product(sizes) >= 2 * kIndexed) {
      Nest nest = nest_over(sizes);
      const Access place = place_in_arena(any_dtype(), sizes);
      write_to(nest, place);
      add_part(std::move(nest));
      return {place, sizes, product(sizes)};
    }
  }
  const DType dtype = any_dtype();
  const std::int32_t slot = add_filled(dtype, kFeedElements);
  made_.results.push_back(
      {slot, dtype, false, static_cast<std::size_t>(kFeedElements * width(dtype))});
  return {{slot, dtype, 0, {1}}, {kFeedElements}, kFeedElements};
}

void StatementWriter::add_scatter() {
  Nest nest = nest_over(shape());
  const Known target = new_target();
  write_to(nest, access_within(target, nest.sizes, true));
  nest.calls = {0};
  if (chance(2)) {
    const DType dtype = target.written.dtype;
    nest.update.inputs = {dtype, dtype};
    finish(nest.update, {dtype});
    if (nest.update.instrs.empty()) nest.update = {};
  }
  add_part(std::move(nest));
  known_.push_back(target);
}

void StatementWriter::add_slice() {
  Part part;
  part.statement.kind = Statement::Kind::dynamic_slice;
  part.statement.call = 0;
  DynamicSlice& slice = part.statement.slice;
  slice.into = chance(2);
  const Known known = slice.into ? new_target() : any_known();
  const Known moved = known.elements < 2 * kIndexed ? known_[0] : known;
  slice.size = kIndexed;
  slice.bytes = width(moved.written.dtype);
  const DynamicIndex index = index_over({}, moved.written.dtype);
  slice.index = {index.slot, index.dtype, index.offset, {}};
  Sizes sizes = shape();
  if (slice.into && product(sizes) > moved.elements - kIndexed) sizes = {kIndexed};
  Nest nest{.sizes = sizes, .reads = {}, .reductions = {}, .program = {}, .writes = {}};
  Access place = slice.into ? moved.written : place_in_arena(any_dtype(), sizes);
  place.strides = row_major(sizes);
  Access read = slice.into ? read_over(sizes, false) : access_within(moved, sizes, true);
  read.indices.clear();  // which has left room for the slice's
  nest.reads = {read};
  nest.program.inputs = {read.dtype};
  write_to(nest, place);
  part.reads = {use_of(read, sizes), use_of(slice.index, {})};
  part.writes = {use_of(place, sizes)};
  (slice.into ? part.writes : part.reads)[0].last += (kIndexed - 1) * slice.bytes;
  part.statement.nest = std::move(nest);
  parts_->push_back(std::move(part));
  slice.into ? known_.push_back(moved) : know(place, sizes);
}

}  // namespace scanloom::loopnest::test
