#include "tests/loopnest/random_statement.h"

#include <algorithm>
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
  Known known = known_to_share();
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

Known StatementWriter::known_to_share() {
  const Access chosen = any_known().written;
  Known shared;
  for (Known& known : known_) {
    if (known.written.slot != chosen.slot || known.written.offset != chosen.offset) continue;
    known.may_change = false;
    if (known.written == chosen) shared = known;
  }
  return shared;
}

/// Returns memory of enough elements that `reads` leave alone: a value of the step that others have
/// read, or a new one, or one that is kept from step to step.
Known StatementWriter::target_for(const std::vector<Use>& reads, std::int64_t elements) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    const Known& known = any_known();
    const Use all{known.written.slot, known.written.offset,
                  known.written.offset + known.elements * width(known.written.dtype)};
    if (known.may_change && known.elements >= elements && !overlap(reads, {all})) return known;
  }
  if (const Sizes sizes = shape(); chance(2) && product(sizes) >= elements) {
    Nest nest = nest_over(sizes);
    const Access place = place_in_arena(any_dtype(), sizes);
    write_to(nest, place);
    add_part(std::move(nest));
    return {place, sizes, product(sizes), true};
  }
  const DType dtype = any_dtype();
  const std::int64_t count = std::max(elements, kFeedElements);
  const std::int32_t slot = add_filled(dtype, count);
  made_.results.push_back({slot, dtype, false, static_cast<std::size_t>(count * width(dtype))});
  return {{slot, dtype, 0, {1}}, {count}, count, true};
}

void StatementWriter::add_scatter() {
  Nest nest = nest_over(shape());
  const Known target = target_for(part_of(nest, {}).reads, 2 * kIndexed);
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
  const Sizes sizes = shape();
  Nest nest{.sizes = sizes, .reads = {}, .reductions = {}, .program = {}, .writes = {}};
  Access read, place;
  Known moved;
  if (slice.into) {
    read = read_over(sizes, false);
    moved = target_for({use_of(read, sizes)}, product(sizes) + kIndexed);
    place = moved.written;
    place.strides = row_major(sizes);
  } else {
    moved = any_known();
    if (moved.elements < 2 * kIndexed) moved = known_[0];
    read = access_within(moved, sizes, true);
    read.indices.clear();  // which has left room for the slice's
    place = place_in_arena(any_dtype(), sizes);
  }
  slice.size = kIndexed;
  slice.bytes = width(moved.written.dtype);
  const DynamicIndex index = index_over({}, moved.written.dtype);
  slice.index = {index.slot, index.dtype, index.offset, {}};
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
