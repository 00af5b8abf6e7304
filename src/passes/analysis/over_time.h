// Facts for the passes that move work across the steps of a loop: whether all steps run, how many
// there are, which tensors are sequences of its slices, and which work becomes faster that way.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ir/infer.h"
#include "passes/lifting/lift.h"

namespace scanloom::passes {

/// Whether neither a condition nor what the body yields can end the loop before its trip count.
bool takes_all_steps(const ir::Module& module, ir::NodeId loop);

/// The known values of trip counts, as sizes.
class KnownTripCounts {
 public:
  /// Infers the types of the module as it is now.
  explicit KnownTripCounts(const ir::Module& module);
  /// Returns all sizes that the loop's trip count is known to equal; empty if it has no trip count.
  [[nodiscard]] std::vector<ir::Dim> of(ir::NodeId loop) const;

 private:
  void add(ir::ValueId value, std::vector<ir::Dim>& counts) const;

  const ir::Module& module_;
  std::size_t first_unknown_ = 0;  ///< sizes from here on exist only in this inference
  std::vector<std::shared_ptr<const ir::Known>> known_;
};

/// Which element of a sequence belongs to which step. Sequences of the same course can be combined
/// element by element.
struct Course {
  bool backward = false;
  ir::Dim steps;
  friend bool operator==(const Course&, const Course&) = default;
};

/// Returns the course of a scanned port whose slices are all elements of the axis, each once;
/// nullopt for other ports. `counts`: from StepCounts.
std::optional<Course> course_of(const ir::Module& module, ir::NodeId loop, std::size_t scanned,
                                const std::vector<ir::Dim>& counts);

/// Returns the courses of all scanned ports, of equally many steps, whose sizes are known outside
/// of loops; nullopt if one has none. `counts`: as in course_of.
std::optional<std::vector<Course>> courses_of(const ir::Module& module, ir::NodeId loop,
                                              const std::vector<ir::Dim>& counts,
                                              const KnownSizes& sizes);

/// Returns the scanned tensor as a sequence whose elements have the shape of the body's argument.
/// Precondition: the port has a course.
Expected<Lifted> scanned_sequence(ir::Builder& builder, ir::NodeId loop, std::size_t scanned);

/// Whether the operator may be worth computing for all steps at once: a product, or an operator
/// with a kernel of its own that each step would call.
bool may_gain_over_time(const ir::OpDef& op);
/// Whether the node is worth computing for all steps at once, if the operands marked in `varies`
/// differ from step to step: a product with one operand that is the same in all steps, or a kernel
/// call that computes little. Work that only gains from threads does not count if `parallel_steps`:
/// the steps already run in parallel.
bool gains_over_time(const ir::Module& module, const ir::Node& node,
                     const std::vector<bool>& varies, bool parallel_steps);

/// Returns the increment of each carried value, if all are counters (ops/loop_counters.h).
std::optional<std::vector<std::int64_t>> increments_of(const ir::Module& module, ir::NodeId loop);
/// Whether steps of the loop wait for no other ones and threads may take them as they are: as far
/// as plan/bind/parallel_steps can see before sizes are known.
bool runs_parallel_steps(const ir::Module& module, ir::NodeId loop);

/// Returns the product of those sizes that are numbers.
std::int64_t known_elements(const ir::Type& type);

}  // namespace scanloom::passes
