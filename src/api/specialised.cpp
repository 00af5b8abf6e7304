#include "api/specialised.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "ir/infer.h"
#include "ir/walk.h"

namespace scanloom {
namespace {

/// Smaller sizes are never open.
constexpr std::int64_t kMinOpenSize = 2;

/// Whether the shapes have the sizes of a version.
bool have_sizes(const std::vector<tensor::Shape>& shapes,
                const std::vector<std::vector<std::int64_t>>& sizes) {
  std::map<std::int64_t, std::int64_t> open;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (shapes[i].rank() != std::ssize(sizes[i])) return false;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (int axis = 0; axis < shapes[i].rank(); ++axis) {
      const std::int64_t wanted = sizes[i][static_cast<std::size_t>(axis)];
      const std::int64_t size = shapes[i][axis];
      if (wanted >= 0 && wanted != size) return false;
      if (wanted < 0 &&
          (size < kMinOpenSize || open.try_emplace(wanted, size).first->second != size))
        return false;
    }
  return true;
}

/// Inputs whose sizes an operator does not accept together.
struct Clash {
  std::optional<Error> told;       ///< the operator's own message, if any
  std::vector<std::string> loops;  ///< the loops around it, innermost first
};

std::vector<std::string> loops_around(const ir::Module& module, ir::RegionId region) {
  std::vector<std::string> loops;
  while (module.region(region).owner.valid()) {
    const ir::NodeId owner = module.region(region).owner;
    if (module.node(owner).loop) loops.push_back("in the steps of " + module.describe(owner));
    region = module.node(owner).parent;
  }
  return loops;
}

/// Finds the operator that fails for these sizes. One without a message of its own is elementwise.
Clash find_clash(ir::Module module, const std::vector<tensor::Shape>& shapes) {
  const std::vector<ir::ValueId> args = module.region(module.top()).args;
  for (std::size_t i = 0; i < args.size(); ++i) {
    std::vector<tensor::Dim>& dims = module.value(args[i]).type.dims;
    for (int axis = 0; axis < shapes[i].rank(); ++axis)
      dims[static_cast<std::size_t>(axis)] = shapes[i][axis];
  }
  const Expected<void> inferred = ir::infer_types(module, ir::Declared::ignore);
  if (inferred) return {};
  const std::string& text = inferred.error().text();
  for (const ir::RegionId region : ir::regions_outer_first(module, module.top()))
    for (const ir::NodeId id : module.region(region).nodes) {
      if (!text.starts_with(module.describe_call(id) + ": ")) continue;
      Clash clash{std::nullopt, loops_around(module, region)};
      if (module.node(id).location.valid()) clash.told = inferred.error();
      return clash;
    }
  return {};
}

/// `both` describes the input and what it does not fit; `why` is used if the operator gives no
/// reason.
Error told(const Clash& clash, const std::string& both, const char* why) {
  Error error = clash.told ? *clash.told : fail(Code::invalid_argument, "{}{}", both, why);
  if (clash.told) error.note(both);
  for (const std::string& loop : clash.loops) error.note(loop);
  return error;
}

}  // namespace

Specialised::Specialised(ir::Module module, ir::Module versions, SessionOptions options)
    : options_(std::move(options)),
      open_(Session::Impl::of_module(std::move(module), options_)),
      source_(std::move(versions)) {}

/// Checks that each symbol has one size.
Expected<void> Specialised::check(const std::vector<tensor::Shape>& shapes) const {
  const ir::Module& module = open_->plan->module;
  const std::vector<ir::ValueId>& args = module.region(module.top()).args;
  std::map<tensor::Dim, std::pair<std::int64_t, std::size_t>> solved;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const tensor::Type& type = module.value(args[i]).type;
    if (type.rank() != shapes[i].rank())
      return fail(Code::invalid_argument, "input {} has {} axes, the value {} ({})",
                  module.describe(args[i]), type.rank(), shapes[i].rank(), shapes[i].to_string());
    for (int axis = 0; axis < shapes[i].rank(); ++axis) {
      const tensor::Dim dim = type.dims[static_cast<std::size_t>(axis)];
      const std::int64_t size = shapes[i][axis];
      if (dim.is_constant() && dim.value() != size) {
        const std::string both = fmt::format("input {} has size {} on axis {}, the value has {}",
                                             module.describe(args[i]), dim.value(), axis, size);
        // A size of 1 was declared for the input.
        return told(dim == tensor::Dim(1) ? Clash() : find_clash(module, shapes), both, "");
      }
      if (dim.is_constant()) continue;
      const auto [known, is_new] = solved.try_emplace(dim, size, i);
      if (is_new || known->second.first == size) continue;
      const std::string both = fmt::format(
          "input {} has {} elements on axis {}, where input {} has {}", module.describe(args[i]),
          size, axis, module.describe(args[known->second.second]), known->second.first);
      return told(find_clash(module, shapes), both, ": they are combined element by element");
    }
  }
  return {};
}

/// The sizes of the last version, open where `shapes` differs; `shapes` itself if there is none.
Specialised::Sizes Specialised::widened(const std::vector<tensor::Shape>& shapes) const {
  Sizes sizes;
  for (const tensor::Shape& shape : shapes) sizes.emplace_back(shape.begin(), shape.end());
  if (versions_.empty()) return sizes;
  const Sizes& before = versions_.front().sizes;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> open;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    for (std::size_t axis = 0; axis < sizes[i].size(); ++axis) {
      std::int64_t& size = sizes[i][axis];
      if (size < kMinOpenSize || before[i][axis] == size) continue;
      const auto next = -1 - std::ssize(open);
      size = open.try_emplace({before[i][axis], size}, next).first->second;
    }
  return sizes;
}

Expected<Specialised::Version> Specialised::make(Sizes sizes,
                                                 const std::vector<tensor::Shape>& shapes) const {
  Version version{std::move(sizes), {}, nullptr};
  Loaded loaded{.module = source_, .info = {}, .defaults = {}};
  ir::Module& module = loaded.module;
  std::map<tensor::Dim, std::int64_t> numbers;  // by symbol
  std::map<std::int64_t, tensor::Dim> open;     // by negative number: one of the symbols
  const std::vector<ir::ValueId> args = module.region(module.top()).args;
  for (std::size_t i = 0; i < args.size(); ++i)
    for (std::size_t axis = 0; axis < version.sizes[i].size(); ++axis) {
      const tensor::Dim dim = module.value(args[i]).type.dims[axis];
      const auto [symbol, is_new] = numbers.try_emplace(dim, version.sizes[i][axis]);
      if (dim.is_constant() || symbol->second >= 0 || !is_new) continue;
      if (!open.try_emplace(symbol->second, dim).second || shapes.empty()) continue;
      module.choices.expect(dim, shapes[i][static_cast<int>(axis)]);
      version.open.emplace_back(i, static_cast<int>(axis));
    }
  for (const ir::ValueId arg : args)
    for (tensor::Dim& dim : module.value(arg).type.dims) {
      if (dim.is_constant()) continue;
      const std::int64_t number = numbers.at(dim);
      dim = number >= 0 ? tensor::Dim(number) : open.at(number);
    }
  SCANLOOM_CHECK_OK(ir::infer_types(module, ir::Declared::ignore));
  SCANLOOM_CHECK_OK(optimise(loaded, options_));
  version.program = Session::Impl::of_module(std::move(loaded.module), options_);
  return version;
}

bool Specialised::fits(const Version& version, const std::vector<tensor::Shape>& shapes) {
  if (!have_sizes(shapes, version.sizes)) return false;
  const ir::Module& module = version.program->plan->module;
  if (module.choices.is_empty()) return true;
  std::vector<std::int64_t> sizes;
  for (const auto& [input, axis] : version.open) sizes.push_back(shapes[input][axis]);
  return module.choices.hold_for(module.dims, sizes);
}

std::shared_ptr<Session::Impl> Specialised::find(const std::vector<tensor::Shape>& shapes) const {
  for (std::size_t i = 0; i < versions_.size(); ++i) {
    if (!fits(versions_[i], shapes)) continue;
    const auto found = versions_.begin() + static_cast<std::ptrdiff_t>(i);
    std::rotate(versions_.begin(), found, found + 1);
    return versions_.front().program;
  }
  return nullptr;
}

Expected<std::shared_ptr<Session::Impl>> Specialised::for_sizes(
    const std::vector<tensor::Shape>& shapes) const {
  std::unique_lock lock(mutex_);
  if (auto program = find(shapes)) return program;
  SCANLOOM_CHECK_OK(check(shapes));
  Sizes sizes = widened(shapes);
  // Calls of other sizes need not wait for the passes.
  lock.unlock();
  SCANLOOM_TRY(Version version, make(std::move(sizes), shapes));
  lock.lock();
  if (auto program = find(shapes)) return program;
  if (versions_.size() == kVersions) versions_.pop_back();
  versions_.insert(versions_.begin(), version);
  return version.program;
}

Expected<std::shared_ptr<Session::Impl>> Specialised::latest() const {
  const std::scoped_lock lock(mutex_);
  if (!versions_.empty()) return versions_.front().program;
  Sizes sizes;
  std::int64_t next = 0;
  for (const ValueInfo& input : open_->inputs) {
    sizes.emplace_back(input.shape.size());
    for (std::int64_t& size : sizes.back()) size = --next;
  }
  SCANLOOM_TRY(Version version, make(std::move(sizes), {}));
  return std::move(version.program);
}

}  // namespace scanloom
