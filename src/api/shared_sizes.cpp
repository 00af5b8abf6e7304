#include "api/shared_sizes.h"

#include <algorithm>
#include <map>

#include "api/impl.h"
#include "tensor/symbol_name.h"

namespace scanloom {

std::vector<SharedSize> shared_sizes(const ir::Module& module, std::size_t inputs) {
  std::vector<SharedSize> shared;
  std::map<tensor::Dim, InputAxis> first;
  const std::vector<ir::ValueId>& args = module.region(module.top()).args;
  for (std::size_t i = 0; i < inputs; ++i) {
    const tensor::Type& type = module.value(args[i]).type;
    if (!type.is_tensor()) continue;
    for (int axis = 0; axis < type.rank(); ++axis) {
      const tensor::Dim dim = type.dims[static_cast<std::size_t>(axis)];
      if (dim.is_constant() || module.dims.node(dim.expr()).kind != tensor::DimKind::symbol)
        continue;
      const auto [known, is_new] = first.try_emplace(dim, InputAxis{i, axis});
      if (!is_new)
        shared.push_back({tensor::symbol_name(module.dims, dim), known->second, {i, axis}});
    }
  }
  return shared;
}

const SharedSize* find_contradiction(std::span<const SharedSize> shared,
                                     std::span<const tensor::Shape> shapes) {
  const auto has = [&](InputAxis at) { return at.axis < shapes[at.input].rank(); };
  const auto differ = [&](const SharedSize& size) {
    return has(size.first) && has(size.second) &&
           shapes[size.first.input][size.first.axis] != shapes[size.second.input][size.second.axis];
  };
  const auto found = std::ranges::find_if(shared, differ);
  return found == shared.end() ? nullptr : &*found;
}

namespace {

std::string words_of(const SharedSize& size, std::span<const ValueInfo> inputs,
                     std::span<const tensor::Shape> shapes) {
  const auto words = [&](InputAxis at) {
    return fmt::format("input '{}' has {} on axis {}", inputs[at.input].name,
                       shapes[at.input][at.axis], at.axis);
  };
  return fmt::format(
      "the model calls two sizes '{}', but {} and {}: they are accepted as they are (strict "
      "refuses them)",
      size.name, words(size.first), words(size.second));
}

/// Whether the names are equal and in the same order, so that feeds arranged for one fit the other.
bool same_names(std::span<const ValueInfo> a, std::span<const ValueInfo> b) {
  return std::ranges::equal(a, b, {}, &ValueInfo::name, &ValueInfo::name);
}

}  // namespace

Expected<std::shared_ptr<Session::Impl>> Session::Impl::unshared_for(
    std::span<const tensor::Shape> shapes) const {
  const SharedSize* const found = find_contradiction(shared_sizes, shapes);
  if (found == nullptr) return std::shared_ptr<Impl>();
  const std::scoped_lock lock(unshared_mutex);
  const std::string words = words_of(*found, inputs, shapes);
  Expected<std::shared_ptr<Impl>> made = make_unshared();
  if (!made) return std::move(made).error().note(words);
  if (contradicted.insert(found->name).second) warn(words);
  return made;
}

Expected<std::shared_ptr<Session::Impl>> Session::Impl::make_unshared() const {
  if (unshared) return unshared;
  Source again = source;
  again.distinct_sizes = true;
  SessionOptions silent = options;
  silent.on_warning = {};  // the warnings were already given
  SCANLOOM_TRY(std::shared_ptr<Impl> made, make(again, silent));
  if (!same_names(made->inputs, inputs) || !same_names(made->outputs, outputs))
    return fail(Code::invalid_argument,
                "the states that the session's loops keep depend on sizes being equal, but the "
                "feeds differ in them");
  made->runs = runs;
  made->result_memory = result_memory;
  unshared = std::move(made);
  return unshared;
}

}  // namespace scanloom
