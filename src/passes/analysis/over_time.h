// What the passes that move work across the steps of a loop ask of it: whether all steps run, how
// many there are, which tensors are sequences of its slices, and which work gains.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ir/infer.h"
#include "passes/lifting/lift.h"

namespace scanloom::passes {

/// Whether neither a condition nor what the body yields can end the loop before its trip count.
bool takes_all_steps(const ir::Module& module, ir::NodeId loop);

/// The sizes that trip counts are known to be. Infers the module when first asked.
class KnownTripCounts {
 public:
  /// Infers the module as it is now.
  explicit KnownTripCounts(const ir::Module& module);
  /// All that are known for the loop's trip count; none where it has none.
  [[nodiscard]] std::vector<ir::Dim> of(ir::NodeId loop) const;

 private:
  void add(ir::ValueId value, std::vector<ir::Dim>& counts) const;

  const ir::Module& module_;
  std::size_t first_unknown_ = 0;  ///< sizes from here on are of the inference alone
  std::vector<std::shared_ptr<const ir::Known>> known_;
};

/// Which element of a sequence a step has: the sequences of one course can be computed with.
struct Course {
  bool backward = false;
  ir::Dim steps;
  friend bool operator==(const Course&, const Course&) = default;
};

/// The course of a scanned port whose slices are the elements of the whole axis, each once; nullopt
/// for others. `counts`: of StepCounts.
std::optional<Course> course_of(const ir::Module& module, ir::NodeId loop, std::size_t scanned,
                                const std::vector<ir::Dim>& counts);

/// The scanned tensor as a sequence of what the body's argument is. Precondition: it has a course.
Expected<Lifted> scanned_sequence(ir::Builder& builder, ir::NodeId loop, std::size_t scanned);

/// Whether it is a product, or computes in a kernel of its own that a step would call: what may be
/// worth doing for all steps at once.
bool may_gain_over_time(const ir::OpDef& op);
/// Whether it is worth that, when those of its operands vary from step to step: a product, one of
/// whose operands is the same in all of them, or a kernel that computes little in a step. What only
/// gains by threads does not where the steps run in parallel.
bool gains_over_time(const ir::Module& module, const ir::Node& node,
                     const std::vector<bool>& varies, bool parallel_steps);

/// What each step adds to the carried values, where all of them are counters (ops/loop_counters.h).
std::optional<std::vector<std::int64_t>> increments_of(const ir::Module& module, ir::NodeId loop);
/// Whether steps of the loop wait for no other ones and threads may take them as they are: as far
/// as plan/bind/parallel_steps can see before sizes are known.
bool runs_parallel_steps(const ir::Module& module, ir::NodeId loop);

/// The product of those sizes that are numbers.
std::int64_t known_elements(const ir::Type& type);

}  // namespace scanloom::passes
