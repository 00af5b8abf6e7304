// Turns everything that differs between numbers of steps into parameters, which the run passes:
// strides of at least the slot's extent, sizes of axes that an index selects from, and, of inner
// loops with more than a few steps, the number of steps and where they begin.
#include <cstdlib>
#include <map>
#include <utility>

#include "loopnest/pass.h"

namespace scanloom::loopnest {
namespace {

/// Loops of at most this many steps may be unrolled.
constexpr std::int64_t kMaxStepsInARow = 16;

class Parametrizer {
 public:
  Parametrizer(const StepExtents& extents, std::vector<std::int64_t>& parameters)
      : extents_(extents), parameters_(parameters) {}

  // kMaxStatementDepth bounds how deeply statements nest.
  void parametrize(Statement& statement) {
    for (Access& read : statement.nest.reads) parametrize_strides(read);
    for (Access& write : statement.nest.writes) parametrize_strides(write);
    for (Reduction& reduction : statement.nest.reductions)
      for (Access& read : reduction.reads) parametrize_strides(read);
    for (auto* operands : {&statement.nest.reads, &statement.nest.writes})
      for (Access& operand : *operands) parametrize_indices(operand);
    if (statement.kind == Statement::Kind::dynamic_slice) parametrize_dynamic_slice(statement);
    if (statement.kind == Statement::Kind::loop) parametrize_loop(statement.loop);
    for (auto* block : {&statement.inner, &statement.otherwise})
      for (Statement& inside : *block) parametrize(inside);
  }

 private:
  template <class Operand>
  void parametrize_strides(Operand& operand) {
    const auto extent = extents_.find(operand.slot);
    if (extent == extents_.end()) return;
    for (std::int64_t& stride : operand.strides) {
      if (std::abs(stride) < extent->second || stride == 0 || stride == 1) continue;
      stride = parameter_once(operand.slot, stride);
    }
  }

  void parametrize_indices(Access& operand) {
    for (DynamicIndex& index : operand.indices) {
      parametrize_strides(index);
      parametrize_move(operand, index.bytes);
      // Operands that share an index share its check.
      index.size = parameter_once(index.slot, index.size);
    }
  }
  void parametrize_dynamic_slice(Statement& statement) {
    parametrize_move(statement.slice.into ? statement.nest.writes[0] : statement.nest.reads[0],
                     statement.slice.bytes);
    add(statement.slice.size);
  }

  /// Replaces the bytes by which an index moves the operand, if a stride of that size were
  /// replaced.
  void parametrize_move(const Access& operand, std::int64_t& bytes) {
    const auto extent = extents_.find(operand.slot);
    const auto element = static_cast<std::int64_t>(dtype_bytes(operand.dtype));
    if (extent != extents_.end() && std::abs(bytes) >= extent->second * element &&
        std::abs(bytes) > element)
      bytes = parameter_once(operand.slot, bytes);
  }

  void parametrize_loop(InnerLoop& loop) {
    if (loop.slices != -1) add(loop.slices);
    // The value that means no end must not change.
    if (loop.trips > kMaxStepsInARow && loop.trips < loop.endless) add(loop.trips);
    if (loop.weight > 1) add(loop.weight);  // includes the steps of counted loops inside
    if (!is_parameter(loop.trips) && loop.slices == -1) return;
    for (auto* sets : {&loop.before, &loop.skipped})
      for (SlotSet& set : *sets)
        if (set.offset != 0) add(set.offset);
  }

  std::int64_t parameter_once(std::int32_t slot, std::int64_t number) {
    const auto [known, is_new] = strides_.try_emplace({slot, number});
    if (is_new) known->second = added(number);
    return known->second;
  }

  void add(std::int64_t& number) { number = added(number); }

  std::int64_t added(std::int64_t number) {
    parameters_.push_back(number);
    return parameter(parameters_.size() - 1);
  }

  const StepExtents& extents_;
  std::vector<std::int64_t>& parameters_;
  /// Numbers that are parameters already, by slot and value.
  std::map<std::pair<std::int32_t, std::int64_t>, std::int64_t> strides_;
};

}  // namespace

void parametrize(BodyParts& body) {
  Parametrizer parametrizer(body.extents, body.parameters);
  for (Part& part : body.parts) parametrizer.parametrize(part.statement);
  body.source.parameters = body.parameters.size();
}

}  // namespace scanloom::loopnest
