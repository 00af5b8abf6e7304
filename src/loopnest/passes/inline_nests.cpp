// Inlines element programs into the reductions and nests that read their results: each read of a
// nest's result becomes the nest's program, if the nest has no reductions and all readers are nests
// that read every element once. Nothing is computed more often, except that programs of a few cheap
// instructions may have several readers. Results that are no longer read stay; fuse_nests drops
// them.
#include <algorithm>
#include <optional>

#include "loopnest/pass.h"
#include "loopnest/program.h"
#include "tensor/scalar_functions.h"

namespace scanloom::loopnest {
namespace {

using tensor::ScalarInstr;
using tensor::ScalarOp;
using tensor::ScalarProgram;

/// Upper bound on the instructions of a program that several readers may each compute.
constexpr std::size_t kMaxRepeated = 2;
/// Larger programs are not inlined: a reader that reads the result in several orders computes the
/// program for each.
constexpr std::size_t kMaxInlined = 256;
/// With fewer lanes a reduction takes its elements one by one.
constexpr std::int64_t kMinLanes = 4;
/// Upper bound on functions per element inlined into a reduction. Their instructions depend on each
/// other, and a reduction has few lanes to hide the latency; a nest of its own has all elements.
constexpr std::int64_t kMaxFunctionsOfReduction = 2;

bool is_cheap(const ScalarProgram& program) {
  constexpr ScalarOp kCheap[] = {ScalarOp::constant, ScalarOp::add,   ScalarOp::sub, ScalarOp::mul,
                                 ScalarOp::min,      ScalarOp::max,   ScalarOp::neg, ScalarOp::abs,
                                 ScalarOp::mul_add,  ScalarOp::select};
  return program.instrs.size() <= kMaxRepeated &&
         std::ranges::all_of(program.instrs, [&](const ScalarInstr& instr) {
           return std::ranges::find(kCheap, instr.op) != std::end(kCheap);
         });
}

std::int64_t functions_in(const ScalarProgram& program) {
  return std::ranges::count_if(
      program.instrs, [](const ScalarInstr& instr) { return tensor::is_function(instr.op); });
}

/// Returns the producer's axis that each axis of a reader walks (-1: none), if the reader reads
/// each element once.
std::optional<std::vector<int>> axes_read(const Nest& producer, const Access& read,
                                          const std::vector<std::int64_t>& sizes) {
  const Access& write = producer.writes[0];
  if (read.offset != write.offset || read.dtype != write.dtype || !read.indices.empty())
    return std::nullopt;
  std::vector<int> map;
  std::vector<bool> walked(producer.sizes.size());
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const auto fits = [&](std::size_t own) {
      return !walked[own] && producer.sizes[own] == sizes[axis] &&
             write.strides[own] == read.strides[axis];
    };
    std::size_t own = 0;
    while (own < walked.size() && !fits(own)) ++own;
    if (own == walked.size()) return std::nullopt;
    walked[own] = true;
    map.push_back(static_cast<int>(own));
  }
  if (!std::ranges::all_of(walked, [](bool value) { return value; })) return std::nullopt;
  return map;
}

/// Returns the strides along those axes.
std::vector<std::int64_t> along(const std::vector<int>& axes,
                                const std::vector<std::int64_t>& strides) {
  std::vector<std::int64_t> picked;
  for (const int axis : axes) picked.push_back(strides[static_cast<std::size_t>(axis)]);
  return picked;
}

/// Rewrites `program` over `reads` (and further inputs): each read for which `maps` gives axes
/// becomes the program of `producer`.
void inline_into(const Nest& producer, const std::vector<std::optional<std::vector<int>>>& maps,
                 ScalarProgram& program, std::vector<Access>& reads) {
  std::vector<Access> merged;
  const auto place_of = [&](Access read) {
    const auto known = std::ranges::find(merged, read);
    const auto at = static_cast<std::int32_t>(known - merged.begin());
    if (known == merged.end()) merged.push_back(std::move(read));
    return at;
  };
  std::vector<std::int32_t> kept(reads.size(), -1);
  std::vector<std::vector<std::int32_t>> taken(reads.size());
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (!maps[i]) {
      kept[i] = place_of(reads[i]);
      continue;
    }
    for (const Access& from : producer.reads) {
      Access read{from.slot, from.dtype, from.offset, along(*maps[i], from.strides)};
      for (DynamicIndex index : from.indices) {
        index.strides = along(*maps[i], index.strides);
        read.indices.push_back(std::move(index));
      }
      taken[i].push_back(place_of(std::move(read)));
    }
  }
  ScalarProgram result;
  for (const Access& read : merged) result.inputs.push_back(read.dtype);
  result.inputs.insert(result.inputs.end(),
                       program.inputs.begin() + static_cast<std::ptrdiff_t>(reads.size()),
                       program.inputs.end());
  std::vector<std::int32_t> inputs;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const auto same =
        std::ranges::find(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(i), taken[i]);
    const auto first = static_cast<std::size_t>(same - taken.begin());
    if (!maps[i])
      inputs.push_back(kept[i]);
    else if (first < i && maps[first])
      inputs.push_back(inputs[first]);
    else
      inputs.push_back(append_program(result, producer.program, taken[i])[0]);
  }
  for (std::size_t i = merged.size(); i < result.inputs.size(); ++i)
    inputs.push_back(static_cast<std::int32_t>(i));
  result.results = append_program(result, program, inputs);
  program = std::move(result);
  reads = std::move(merged);
}

class Inliner {
 public:
  explicit Inliner(BodyParts& body)
      : parts_(body.parts), is_buffer_(body.is_buffer), read_later_(body.read_later) {}

  void run() {
    for (std::size_t at = 0; at < parts_.size(); ++at)
      if (is_candidate(parts_[at])) try_inline(at);
    std::erase_if(parts_, [](const Part& part) { return !part.may_fail() && part.writes.empty(); });
  }

 private:
  [[nodiscard]] bool is_candidate(const Part& part) const {
    if (!part.is_nest() || !part.statement.nest.reductions.empty() || part.writes.size() != 1 ||
        part.statement.nest.writes_by_index())
      return false;
    const Use& made = part.writes[0];
    return is_buffer_(made.slot) &&
           std::ranges::none_of(read_later_, [&](const Use& use) { return use.overlaps(made); });
  }

  /// Returns the parts that read this one's result. nullopt if one of them cannot take the program,
  /// or if operands are overwritten before that.
  std::optional<std::vector<std::size_t>> readers_of(std::size_t producer) const {
    const Part& made = parts_[producer];
    std::vector<std::size_t> readers;
    bool overwritten = false, fails_before = false;
    for (std::size_t at = producer + 1; at < parts_.size(); ++at) {
      const Part& part = parts_[at];
      const bool reads = overlap(part.reads, made.writes);
      overwritten |= overlap(part.writes, made.reads);
      if (overlap(part.writes, made.writes)) return std::nullopt;
      if (reads) {
        // Of two failures the first one must be reported.
        const bool too_late = made.may_fail() && (fails_before || !readers.empty());
        if (overwritten || too_late || !part.is_nest() || part.whole ||
            !takes(part.statement.nest, made))
          return std::nullopt;
        readers.push_back(at);
      }
      fails_before |= part.may_fail();
    }
    return readers;
  }

  /// Whether every read of the other's result can become the program.
  [[nodiscard]] static bool takes(const Nest& reader, const Part& made) {
    const auto fits = [&](const Access& read, const std::vector<std::int64_t>& sizes) {
      return !use_of(read, sizes).overlaps(made.writes[0]) ||
             axes_read(made.statement.nest, read, sizes);
    };
    bool is_index = false;
    for_indices(reader, [&](const DynamicIndex& index) {
      is_index |= use_of(index, reader.sizes).overlaps(made.writes[0]);
    });
    if (is_index) return false;
    const bool has_lanes =
        is_cheap(made.statement.nest.program) ||
        std::ranges::any_of(reader.sizes, [](std::int64_t size) { return size >= kMinLanes; });
    return std::ranges::all_of(reader.reads,
                               [&](const Access& read) { return fits(read, reader.sizes); }) &&
           std::ranges::all_of(reader.reductions, [&](const Reduction& reduction) {
             const std::vector<std::int64_t> sizes = axes_of(reader, reduction);
             const bool pays =
                 has_lanes && !made.may_fail() &&
                 functions_in(made.statement.nest.program) + functions_in(reduction.program) <=
                     kMaxFunctionsOfReduction;
             return std::ranges::all_of(reduction.reads, [&](const Access& read) {
               return fits(read, sizes) && (pays || !use_of(read, sizes).overlaps(made.writes[0]));
             });
           });
  }

  void try_inline(std::size_t producer) {
    const auto readers = readers_of(producer);
    const Nest made = parts_[producer].statement.nest;
    if (!readers || readers->empty() || made.program.instrs.size() > kMaxInlined ||
        (readers->size() > 1 && !is_cheap(made.program)))
      return;
    for (const std::size_t at : *readers) {
      Nest nest = std::move(parts_[at].statement.nest);
      substitute(made, nest);
      parts_[at] = part_of(std::move(nest), origins_of(parts_[producer], parts_[at]));
    }
    // Others stay until it is known that nothing reads them. A part that may fail would always be
    // kept.
    if (made.may_fail()) parts_[producer] = part_of({}, {});
  }

  static void substitute(const Nest& made, Nest& nest) {
    const Use result = use_of(made.writes[0], made.sizes);
    const auto maps_of = [&](const std::vector<Access>& reads,
                             const std::vector<std::int64_t>& sizes) {
      std::vector<std::optional<std::vector<int>>> maps;
      for (const Access& read : reads)
        maps.push_back(use_of(read, sizes).overlaps(result) ? axes_read(made, read, sizes)
                                                            : std::nullopt);
      return maps;
    };
    inline_into(made, maps_of(nest.reads, nest.sizes), nest.program, nest.reads);
    nest.calls.insert(nest.calls.begin(), made.calls.begin(), made.calls.end());
    for (Reduction& reduction : nest.reductions)
      inline_into(made, maps_of(reduction.reads, axes_of(nest, reduction)), reduction.program,
                  reduction.reads);
  }

  std::vector<Part>& parts_;
  const IsBuffer& is_buffer_;
  const std::vector<Use>& read_later_;
};

}  // namespace

void inline_nests(BodyParts& body) { Inliner(body).run(); }

}  // namespace scanloom::loopnest
