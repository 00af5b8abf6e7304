#include "plan/codegen/fuse_nests.h"

#include <algorithm>

#include "plan/cost.h"

namespace scanloom::plan {
namespace {

using loopnest::Access;
using loopnest::Nest;
using loopnest::Reduction;

/// How many statements back a partner is looked for, which bounds the time for long bodies.
constexpr std::size_t kReach = 64;

std::size_t operands_of(const Nest& nest) { return nest.reads.size() + nest.writes.size(); }

/// Whether `later` can run element by element together with `earlier`: what it reads of the other's
/// results is the very element.
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
  for_indices(b, [&](const loopnest::DynamicIndex& index) {
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

/// Both nests as one: `later` takes results of `earlier` from registers.
Nest joined(const Nest& earlier, const Nest& later) {
  Nest nest;
  nest.sizes = earlier.sizes;
  nest.reads = earlier.reads;
  nest.reductions = earlier.reductions;
  nest.reductions.insert(nest.reductions.end(), later.reductions.begin(), later.reductions.end());
  // Where each input of `later` comes from: a read of the new nest, or a result of `earlier`.
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

/// Joins the last part to an earlier one, if there is one that takes it.
void join_last(std::vector<Part>& parts) {
  const Part& last = parts.back();
  if (!last.is_nest()) return;
  for (std::size_t back = 2; back <= std::min(kReach, parts.size()); ++back) {
    Part& candidate = parts[parts.size() - back];
    if (candidate.is_nest() && joins(candidate, last)) {
      candidate =
          part_of(joined(candidate.statement.nest, last.statement.nest), nodes_of(candidate, last));
      parts.pop_back();
      return;
    }
    // Of two faults the first one counts.
    if (!independent(candidate, last) || (candidate.may_fail() && last.may_fail())) return;
  }
}

/// Leaves out instructions that no result depends on.
void drop_dead(tensor::ScalarProgram& program) {
  const std::size_t inputs = program.inputs.size();
  std::vector<std::int32_t> registers(inputs + program.instrs.size(), -1);  // new ones
  std::vector<bool> needed(registers.size());
  for (const std::int32_t result : program.results) needed[static_cast<std::size_t>(result)] = true;
  for (std::size_t i = registers.size(); i-- > inputs;)
    if (needed[i])
      for (const std::int32_t arg : program.instrs[i - inputs].args)
        if (arg >= 0) needed[static_cast<std::size_t>(arg)] = true;
  std::vector<tensor::ScalarInstr> kept;
  const auto moved = [&](std::int32_t index) { return registers[static_cast<std::size_t>(index)]; };
  for (std::size_t i = 0; i < registers.size(); ++i) {
    if (i >= inputs && !needed[i]) continue;
    registers[i] = static_cast<std::int32_t>(i < inputs ? i : inputs + kept.size());
    if (i < inputs) continue;
    kept.push_back(program.instrs[i - inputs]);
    for (std::int32_t& arg : kept.back().args)
      if (arg >= 0) arg = moved(arg);
  }
  program.instrs = std::move(kept);
  for (std::int32_t& result : program.results) result = moved(result);
}

/// Leaves out what nobody reads.
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

/// Calls f(strides) for everything that moves along the nest's axes.
template <class F>
void for_strides(Nest& nest, F&& f) {
  for (Access& operand : nest.reads) f(operand.strides);
  for (Access& operand : nest.writes) f(operand.strides);
  for_indices(nest, [&](loopnest::DynamicIndex& index) { f(index.strides); });
  for (Reduction& reduction : nest.reductions)
    for (Access& operand : reduction.reads) f(operand.strides);
}

/// What vectors along that axis cost: strides other than 1 and 0 take a load for each lane.
std::int64_t cost_of_lanes(Nest& nest, std::size_t axis) {
  std::int64_t cost = 0;
  for_strides(nest, [&](const std::vector<std::int64_t>& strides) {
    const std::int64_t stride = strides[axis];
    cost += stride == 1 || stride == 0 ? 0 : 4;
  });
  return cost;
}

}  // namespace

std::vector<Part> fuse_nests(std::vector<Part> parts, const IsBuffer& is_buffer,
                             const std::vector<Use>& read_later) {
  for (Part& part : parts)
    if (part.is_nest()) part = part_of(std::move(part.statement.nest), std::move(part.nodes));
  // What readers have taken in would be computed once more for each of them.
  drop_unread(parts, is_buffer, read_later);
  std::vector<Part> fused;
  for (Part& part : parts) {
    fused.push_back(std::move(part));
    join_last(fused);
  }
  drop_unread(fused, is_buffer, read_later);
  return fused;
}

void order_axes(Nest& nest) {
  if (nest.sizes.empty() || nest.writes_by_index()) return;
  const std::size_t last = nest.sizes.size() - 1;
  std::size_t best = last;
  for (std::size_t axis = last; axis-- > 0;) {
    const bool longer = nest.sizes[axis] > nest.sizes[best] && nest.sizes[best] < 8;
    const std::int64_t gain = cost_of_lanes(nest, best) - cost_of_lanes(nest, axis);
    if (nest.sizes[axis] > 1 && (gain > 0 || (gain == 0 && longer))) best = axis;
  }
  const auto move_last = [&](std::vector<std::int64_t>& list) {
    const auto at = list.begin() + static_cast<std::ptrdiff_t>(best);
    std::rotate(at, at + 1, list.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  };
  move_last(nest.sizes);
  for_strides(nest, [&](std::vector<std::int64_t>& strides) { move_last(strides); });
  // Joined from the inside out.
  for (std::size_t axis = last; axis-- > 0;) {
    bool one_stride = true;
    for_strides(nest, [&](const std::vector<std::int64_t>& strides) {
      one_stride &= strides[axis] == strides[axis + 1] * nest.sizes[axis + 1];
    });
    if (!one_stride) continue;
    const auto at = static_cast<std::ptrdiff_t>(axis);
    nest.sizes[axis + 1] *= nest.sizes[axis];
    nest.sizes.erase(nest.sizes.begin() + at);
    for_strides(nest,
                [&](std::vector<std::int64_t>& strides) { strides.erase(strides.begin() + at); });
  }
}

}  // namespace scanloom::plan
