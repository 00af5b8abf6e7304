#include "plan/check_feeds.h"

namespace scanloom::plan {
namespace {

std::string dim_text(const tensor::DimTable& dims, const tensor::Type& type) {
  std::string text = "[";
  for (const tensor::Dim dim : type.dims) {
    if (text.size() > 1) text += ',';
    text += dims.to_string(dim);
  }
  return text + "]";
}

/// The size that an earlier input gave a symbol, and that input.
struct Solved {
  std::int64_t value = -1;
  std::size_t input = 0;
};

}  // namespace

Expected<void> check_feed(const ir::Module& module, std::size_t input, const tensor::Shape& given) {
  const ir::ValueId arg = module.region(module.top()).args[input];
  const tensor::Type& declared = module.value(arg).type;
  if (!declared.is_tensor()) return {};
  if (declared.ranked && declared.rank() != given.rank())
    return fail(Code::invalid_argument, "input {} has rank {}, but the feed has rank {} ({})",
                module.describe(arg), declared.rank(), given.rank(), given.to_string())
        .note("the model declares " + dim_text(module.dims, declared));
  for (int axis = 0; axis < declared.rank(); ++axis) {
    const tensor::Dim dim = declared.dims[static_cast<std::size_t>(axis)];
    if (dim.is_constant() && dim.value() != given[axis])
      return fail(Code::invalid_argument, "input {} has size {} on axis {}, but the feed has {}",
                  module.describe(arg), dim.value(), axis, given[axis]);
  }
  return {};
}

Expected<void> check_feeds(const ir::Module& module, std::span<const tensor::Shape> shapes) {
  const ir::Region& top = module.region(module.top());
  std::vector<Solved> symbols(module.dims.size());
  for (std::size_t i = 0; i < top.args.size(); ++i) {
    const tensor::Type& declared = module.value(top.args[i]).type;
    const tensor::Shape& given = shapes[i];
    if (!declared.is_tensor()) continue;
    const auto name = [&] { return module.describe(top.args[i]); };
    SCANLOOM_CHECK_OK(check_feed(module, i, given));
    for (int axis = 0; axis < declared.rank(); ++axis) {
      const tensor::Dim dim = declared.dims[static_cast<std::size_t>(axis)];
      if (dim.is_constant()) continue;
      Solved& solved = symbols[dim.expr()];
      const tensor::DimKind kind = module.dims.node(dim.expr()).kind;
      if (kind != tensor::DimKind::symbol && kind != tensor::DimKind::fresh) continue;
      if (solved.value >= 0 && solved.value != given[axis])
        return fail(Code::invalid_argument,
                    "input {} has {} for '{}' on axis {}, but input {} has {}", name(), given[axis],
                    module.dims.to_string(dim), axis, module.describe(top.args[solved.input]),
                    solved.value);
      solved = {given[axis], i};
    }
  }
  return {};
}

}  // namespace scanloom::plan
