// Fuses nests over the same axes, so that there are fewer of them and fewer values in memory, also
// across statements that neither depends on. Values that only the fused nest reads stay in its
// registers. Writes to buffers that nothing reads, in the body or later, are dropped.
#include <algorithm>

#include "loopnest/cost.h"
#include "loopnest/pass.h"
#include "loopnest/program.h"

namespace scanloom::loopnest {
namespace {

/// How many statements back to look for a partner; bounds the time for long bodies.
constexpr std::size_t kReach = 64;

std::size_t operands_of(const Nest& nest) { return nest.reads.size() + nest.writes.size(); }

/// Whether `later` can run element by element with `earlier`: it reads only the element of the
/// other's result that is computed with it.
bool joins(const Part& earlier, const Part& later) {
  const Nest &a = earlier.statement.nest, &b = later.statement.nest;
  if (a.sizes != b.sizes || overlap(earlier.writes, later.writes) ||
      overlap(earlier.reads, later.writes) ||
      operands_of(a) + operands_of(b) > kMaxOperandsOfNest || a.writes_by_index() ||
      b.writes_by_index())
    return false;
  const auto conflicts = [&](const Access& operand, const std::vector<std::int64_t>& sizes) {
    const Use use = use_of(operand, sizes);
    return std::ranges::any_of(earlier.writes,
                               [&](const Use& write) { return write.overlaps(use); });
  };
  for (const Access& read : b.reads)
    if (conflicts(read, b.sizes) && std::ranges::find(a.writes, read) == a.writes.end())
      return false;
  bool makes_index = false;
  for_indices(b, [&](const DynamicIndex& index) {
    makes_index |= overlap(earlier.writes, {use_of(index, b.sizes)});
  });
  if (makes_index) return false;
  for (const Reduction& reduction : b.reductions) {
    const std::vector<std::int64_t> sizes = axes_of(b, reduction);
    for (const Access& read : reduction.reads)
      if (conflicts(read, sizes)) return false;
  }
  return true;
}

/// Fuses both nests: `later` takes results of `earlier` from registers.
Nest joined(const Nest& earlier, const Nest& later) {
  Nest nest;
  nest.sizes = earlier.sizes;
  nest.reads = earlier.reads;
  nest.reductions = earlier.reductions;
  nest.reductions.insert(nest.reductions.end(), later.reductions.begin(), later.reductions.end());
  // The source of each input of `later`: a read of the new nest, or a result of `earlier`.
  std::vector<std::int32_t> read_at, result_at;
  for (const Access& read : later.reads) {
    const auto made = std::ranges::find(earlier.writes, read);
    result_at.push_back(made == earlier.writes.end()
                            ? -1
                            : static_cast<std::int32_t>(made - earlier.writes.begin()));
    const auto known = std::ranges::find(nest.reads, read);
    read_at.push_back(static_cast<std::int32_t>(known - nest.reads.begin()));
    if (result_at.back() < 0 && known == nest.reads.end()) nest.reads.push_back(read);
  }
  for (const Access& read : nest.reads) nest.program.inputs.push_back(read.dtype);
  for (const Reduction& reduction : nest.reductions) nest.program.inputs.push_back(reduction.dtype);
  const auto first_reduction = static_cast<std::int32_t>(nest.reads.size());
  std::vector<std::int32_t> inputs;
  for (std::size_t i = 0; i < earlier.reads.size(); ++i)
    inputs.push_back(static_cast<std::int32_t>(i));
  for (std::size_t i = 0; i < earlier.reductions.size(); ++i)
    inputs.push_back(first_reduction + static_cast<std::int32_t>(i));
  const std::vector<std::int32_t> made = append_program(nest.program, earlier.program, inputs);
  inputs.clear();
  for (std::size_t i = 0; i < later.reads.size(); ++i)
    inputs.push_back(result_at[i] < 0 ? read_at[i] : made[static_cast<std::size_t>(result_at[i])]);
  for (std::size_t i = 0; i < later.reductions.size(); ++i)
    inputs.push_back(first_reduction + static_cast<std::int32_t>(earlier.reductions.size() + i));
  const std::vector<std::int32_t> more = append_program(nest.program, later.program, inputs);
  nest.program.results = made;
  nest.program.results.insert(nest.program.results.end(), more.begin(), more.end());
  nest.writes = earlier.writes;
  nest.writes.insert(nest.writes.end(), later.writes.begin(), later.writes.end());
  nest.calls = earlier.calls;
  nest.calls.insert(nest.calls.end(), later.calls.begin(), later.calls.end());
  return nest;
}

/// Fuses the last part with an earlier one, if there is one that fits.
void join_last(std::vector<Part>& parts) {
  const Part& last = parts.back();
  if (!last.is_nest()) return;
  for (std::size_t back = 2; back <= std::min(kReach, parts.size()); ++back) {
    Part& candidate = parts[parts.size() - back];
    if (candidate.is_nest() && joins(candidate, last)) {
      candidate = part_of(joined(candidate.statement.nest, last.statement.nest),
                          origins_of(candidate, last));
      parts.pop_back();
      return;
    }
    // Of two failures the first one must be reported.
    if (!independent(candidate, last) || (candidate.may_fail() && last.may_fail())) return;
  }
}

/// Drops writes that nothing reads.
void drop_writes(Part& part, const std::vector<Use>& read) {
  Nest& nest = part.statement.nest;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < nest.writes.size(); ++i) {
    // An index is checked where it is used.
    const bool needed =
        !nest.writes[i].indices.empty() ||
        std::ranges::any_of(read, [&](const Use& use) { return use.overlaps(part.writes[i]); });
    if (!needed) continue;
    nest.writes[kept] = nest.writes[i];
    part.writes[kept] = part.writes[i];
    nest.program.results[kept++] = nest.program.results[i];
  }
  if (kept == nest.writes.size()) return;
  nest.writes.resize(kept);
  part.writes.resize(kept);
  nest.program.results.resize(kept);
  drop_dead(nest.program);
}

void drop_unread(std::vector<Part>& parts, const IsBuffer& is_buffer,
                 const std::vector<Use>& read_later) {
  std::vector<Use> read = read_later;
  for (const Part& part : parts) {
    read.insert(read.end(), part.reads.begin(), part.reads.end());
    // Slots of other kinds are states and rows.
    for (const Use& write : part.writes)
      if (!is_buffer(write.slot)) read.push_back(write);
  }
  for (Part& part : parts)
    if (part.is_nest()) drop_writes(part, read);
  std::erase_if(parts, [](const Part& part) {
    return !part.may_fail() && part.statement.nest.writes.empty();
  });
}

}  // namespace

void fuse_nests(BodyParts& body) {
  for (Part& part : body.parts)
    if (part.is_nest()) part = part_of(std::move(part.statement.nest), std::move(part.origins));
  // Producers that have been inlined would otherwise be computed again.
  drop_unread(body.parts, body.is_buffer, body.read_later);
  std::vector<Part> fused;
  for (Part& part : body.parts) {
    fused.push_back(std::move(part));
    join_last(fused);
  }
  drop_unread(fused, body.is_buffer, body.read_later);
  body.parts = std::move(fused);
}

}  // namespace scanloom::loopnest
