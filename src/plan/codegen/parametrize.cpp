#include "plan/codegen/parametrize.h"

#include <cstdlib>
#include <map>
#include <utility>

#include "plan/codegen/parts.h"

namespace scanloom::plan {
namespace {

using loopnest::Access;
using loopnest::Statement;

/// Loops of no more steps may be written out, each step after the other.
constexpr std::int64_t kMostStepsInARow = 16;

class Parametrizer {
 public:
  Parametrizer(Body& body, const Binding& binding, const BoundLoop& loop)
      : body_(body), binding_(binding) {
    for (const BoundLoop& inner : binding.loops)
      if (inner.body >= loop.body && inner.exit <= loop.exit) add_extents(inner);
  }

  void run() {
    parametrize(body_.source.statements);
    body_.source.parameters = body_.parameters.size();
  }

 private:
  void add_extents(const BoundLoop& loop) {
    for (const BoundScanned& port : loop.scanned)
      add_extent(port.argument.slot, port.outer, port.slices.axis);
    for (const BoundStacked& port : loop.stacked) add_extent(port.row.slot, port.result, port.axis);
  }

  /// What neighbours lie apart on an axis around that of the steps, at least.
  void add_extent(SlotId slot, const Spot& whole, std::int64_t axis) {
    if (!whole.present() || whole.is_dynamic() || whole.is_object()) return;
    const Layout& layout = binding_.layouts[static_cast<std::size_t>(whole.layout)];
    const int at = static_cast<int>(axis);
    extents_[slot] = std::abs(layout.dims[at] * layout.strides[at]);
  }

  // The planner bounds how deep statements nest.
  void parametrize(std::vector<Statement>& statements) {
    for (Statement& statement : statements) {
      for (Access& read : statement.nest.reads) parametrize_strides(read);
      for (Access& write : statement.nest.writes) parametrize_strides(write);
      for (loopnest::Reduction& reduction : statement.nest.reductions)
        for (Access& read : reduction.reads) parametrize_strides(read);
      for (auto* operands : {&statement.nest.reads, &statement.nest.writes})
        for (Access& operand : *operands) parametrize_indices(operand);
      if (statement.kind == Statement::Kind::dynamic_slice) parametrize_dynamic_slice(statement);
      if (statement.kind == Statement::Kind::loop) parametrize_loop(statement.loop);
      parametrize(statement.inner);
      parametrize(statement.otherwise);
    }
  }

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
    for (loopnest::DynamicIndex& index : operand.indices) {
      parametrize_strides(index);
      parametrize_move(operand, index.bytes);
      // Operands that share an index have one check of it.
      index.size = parameter_once(index.slot, index.size);
    }
  }
  void parametrize_dynamic_slice(Statement& statement) {
    parametrize_move(statement.slice.into ? statement.nest.writes[0] : statement.nest.reads[0],
                     statement.slice.bytes);
    add(statement.slice.size);
  }

  /// By how many bytes an index moves the operand: a parameter where a stride would be one.
  void parametrize_move(const Access& operand, std::int64_t& bytes) {
    const auto extent = extents_.find(operand.slot);
    const auto element = static_cast<std::int64_t>(dtype_bytes(operand.dtype));
    if (extent != extents_.end() && std::abs(bytes) >= extent->second * element &&
        std::abs(bytes) > element)
      bytes = parameter_once(operand.slot, bytes);
  }

  void parametrize_loop(loopnest::InnerLoop& loop) {
    if (loop.slices != -1) add(loop.slices);
    // The value that means no end stays what it is.
    if (loop.trips > kMostStepsInARow && loop.trips < loop.endless) add(loop.trips);
    if (loop.weight > 1) add(loop.weight);  // with the steps of counted loops inside
    if (!loopnest::is_parameter(loop.trips) && loop.slices == -1) return;
    for (auto* sets : {&loop.before, &loop.skipped})
      for (loopnest::SlotSet& set : *sets)
        if (set.offset != 0) add(set.offset);
  }

  std::int64_t parameter_once(SlotId slot, std::int64_t number) {
    const auto [known, is_new] = strides_.try_emplace({slot, number});
    if (is_new) known->second = added(number);
    return known->second;
  }

  void add(std::int64_t& number) { number = added(number); }

  std::int64_t added(std::int64_t number) {
    body_.parameters.push_back(number);
    return loopnest::parameter(body_.parameters.size() - 1);
  }

  Body& body_;
  const Binding& binding_;
  std::map<SlotId, std::int64_t> extents_;
  /// Those that are parameters already, by slot and value.
  std::map<std::pair<SlotId, std::int64_t>, std::int64_t> strides_;
};

}  // namespace

void parametrize(Body& body, const Binding& binding, const BoundLoop& loop) {
  Parametrizer(body, binding, loop).run();
}

}  // namespace scanloom::plan
