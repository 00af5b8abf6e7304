// Lanes for models whose sizes are open: the sizes of a sequence fix all of them but the number of
// steps, so that the states of loops have known sizes.
#include <algorithm>
#include <map>

#include "api/impl.h"
#include "api/many_program.h"
#include "ir/infer.h"
#include "passes/streaming/stream_form.h"

namespace scanloom {
namespace {

using ir::Dim;

const std::vector<Dim>& sizes_of(const ir::Module& module, std::size_t argument) {
  return module.value(module.region(module.top()).args[argument]).type.dims;
}

/// Whether all sizes that the module fixes are those.
bool fits(const ir::Module& module, const std::vector<tensor::Shape>& shapes) {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<Dim>& sizes = sizes_of(module, i);
    if (std::ssize(sizes) != shapes[i].rank()) return false;
    for (int axis = 0; axis < shapes[i].rank(); ++axis) {
      const Dim size = sizes[static_cast<std::size_t>(axis)];
      if (size.is_constant() && size.value() != shapes[i][axis]) return false;
    }
  }
  return true;
}

/// Fixes all open sizes but one. Returns whether there are any. Errors: sizes that do not fit.
Expected<bool> fix_sizes(ir::Module& module, const std::vector<tensor::Shape>& shapes, Dim open) {
  const std::vector<ir::ValueId> args = module.region(module.top()).args;
  std::map<Dim, std::int64_t> numbers;
  for (std::size_t i = 0; i < args.size(); ++i) {
    std::vector<Dim>& sizes = module.value(args[i]).type.dims;
    if (std::ssize(sizes) != shapes[i].rank())
      return fail(Code::invalid_argument, "input {} has {} axes, the value {}",
                  module.describe(args[i]), sizes.size(), shapes[i].rank());
    for (int axis = 0; axis < shapes[i].rank(); ++axis) {
      Dim& size = sizes[static_cast<std::size_t>(axis)];
      if (size.is_constant() || size == open) continue;
      const auto [known, is_new] = numbers.try_emplace(size, shapes[i][axis]);
      if (!is_new && known->second != shapes[i][axis])
        return fail(Code::invalid_argument, "input {} has size {} on axis {}, not {}",
                    module.describe(args[i]), shapes[i][axis], axis, known->second);
      size = Dim(shapes[i][axis]);
    }
  }
  if (numbers.empty()) return false;
  SCANLOOM_CHECK_OK(ir::infer_types(module, ir::Declared::ignore));
  return true;
}

/// Returns the sizes that may be the number of steps: the one that is known to be, then those that
/// loops walk along, then each open size of an input. Rows of a batch are none.
std::vector<Dim> sizes_of_steps(const ir::Module& module, const ManyProgram& open,
                                std::size_t own_inputs) {
  std::vector<Dim> found;
  const auto add = [&](Dim size) {
    if (!size.is_constant() && std::ranges::find(found, size) == found.end()) found.push_back(size);
  };
  for (std::size_t i = 0; i < open.inputs.size(); ++i)
    if (const auto axis = open.inputs[i].steps)
      add(sizes_of(module, i)[static_cast<std::size_t>(*axis)]);
  const std::vector<Dim> rows = open.walks_rows ? found : std::vector<Dim>();
  for (const Dim size : passes::open_walked_sizes(module)) add(size);
  for (std::size_t i = 0; i < own_inputs; ++i)
    for (const Dim size : sizes_of(module, i)) add(size);
  std::erase_if(found, [&](Dim size) { return std::ranges::find(rows, size) != rows.end(); });
  return found;
}

}  // namespace

std::vector<bool> Session::Impl::inputs_fed(std::span<const Feed> feeds) const {
  std::vector<bool> fed(own_inputs);
  for (const Feed& feed : feeds) {
    const std::size_t found = find_by_name(std::span(inputs).first(own_inputs), feed.name);
    if (found < own_inputs) fed[found] = true;
  }
  return fed;
}

Expected<std::shared_ptr<const ManyProgram>> Session::Impl::many_program_for(
    const std::vector<tensor::Shape>& shapes, const std::vector<bool>& common,
    std::size_t tries) const {
  SCANLOOM_TRY(const std::shared_ptr<const ManyProgram> open, many_program(common));
  if (open->sums_at_once) return open;
  const std::scoped_lock lock(sized_mutex);
  // Without lanes for these sizes, there may be some for all sizes. Otherwise the program for these
  // sizes knows more of what stands in the way. Lanes that carry nothing are the last choice: their
  // steps may be the rows of a batch, which are sequences that a loop inside walks along.
  const auto rank = [](const ManyProgram& program) {
    return program.has_lanes() ? program.carries_nothing() ? 1 : 2 : 0;
  };
  const auto better = [&](std::shared_ptr<const ManyProgram> program) {
    return program && rank(*program) >= rank(*open) ? std::move(program) : open;
  };
  if (sized && fits(sized->plan->module, shapes)) {
    SCANLOOM_TRY(auto known, sized->many_program(common));
    return better(std::move(known));
  }
  SCANLOOM_TRY(const ir::Module module, before_passes());
  if (module.region(module.top()).args.size() != shapes.size())
    return fail(Code::unsupported, "the module as read has other inputs");
  std::vector<Dim> steps = sizes_of_steps(module, *open, own_inputs);
  if (steps.size() > tries) steps.resize(tries);
  std::shared_ptr<const ManyProgram> first;
  for (const Dim size : steps) {
    ir::Module fixed = module;
    SCANLOOM_TRY(const bool is_other, fix_sizes(fixed, shapes, size));
    if (!is_other) continue;
    const std::shared_ptr<Impl> made = of_module(fixed, options);
    made->written = std::move(fixed);
    SCANLOOM_TRY(std::shared_ptr<const ManyProgram> program, made->many_program(common));
    if (!first || rank(*program) > rank(*first)) {
      first = program;
      sized = made;
      many_of_sized = program;
    }
    if (rank(*program) == 2) break;
  }
  return better(std::move(first));
}

}  // namespace scanloom
