#include <scanloom/from_onnx.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "api/guard.h"
#include "api/impl.h"
#include "base/utf8.h"
#include "expr/raise.h"
#include "ir/infer.h"
#include "ir/op_def.h"
#include "passes/run.h"
#include "tensor/view.h"

namespace scanloom {
namespace {

/// Operators in their plainest forms, for which there are gradients; loops as they were written.
SessionOptions plain_forms(SessionOptions options) {
  constexpr std::string_view kWanted[] = {"inline_branch", "sink_constants", "simplify_ports",
                                          "canonicalise",  "spell_out",      "fold_constants",
                                          "merge_common",  "drop_dead_code"};
  options.optimize = true;
  for (const passes::PassDef& pass : passes::all_passes())
    if (std::ranges::find(kWanted, pass.name) == std::end(kWanted))
      options.disabled_passes.emplace_back(pass.name);
  return options;
}

/// The argument of the module with that name.
Expected<ir::ValueId> input_of(const ir::Module& module, const std::string& name) {
  const std::vector<ir::ValueId>& args = module.region(module.top()).args;
  const auto arg =
      std::ranges::find_if(args, [&](ir::ValueId id) { return module.value(id).name == name; });
  if (arg == args.end()) return fail(Code::not_found, "the model has no input '{}'", name);
  return *arg;
}

/// What a size of an input is by its symbol, from what is said of some inputs.
class Solution {
 public:
  explicit Solution(const ir::Module& module) : module_(module) {}

  Expected<void> add(const std::string& name, const std::vector<std::int64_t>& sizes) {
    SCANLOOM_TRY(const ir::ValueId arg, input_of(module_, name));
    const tensor::Type& type = module_.value(arg).type;
    if (!type.is_tensor() || !type.ranked || type.rank() != std::ssize(sizes))
      return fail(Code::invalid_argument, "input '{}' is {}, but {} sizes are given for it", name,
                  to_string(type, module_.dims), sizes.size());
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      if (sizes[axis] < 0) continue;
      const tensor::Dim dim = type.dims[axis];
      const std::int64_t known =
          dim.is_constant() ? dim.value() : sizes_.emplace(dim, sizes[axis]).first->second;
      if (known != sizes[axis])
        return fail(Code::invalid_argument, "input '{}' has {} elements on axis {}, not {}", name,
                    known, axis, sizes[axis]);
    }
    return {};
  }

  void put_into(ir::Module& module) const {
    const std::vector<ir::ValueId> args = module.region(module.top()).args;
    for (const ir::ValueId arg : args)
      for (tensor::Dim& dim : module.value(arg).type.dims)
        if (const auto known = sizes_.find(dim); known != sizes_.end()) dim = known->second;
  }

 private:
  const ir::Module& module_;
  std::map<tensor::Dim, std::int64_t> sizes_;
};

/// Puts a constant in the place of an input, which nothing reads then. Regions are isolated: what
/// reads it stands in the top one.
Expected<void> fix(ir::Module& module, const std::string& name, const View& value) {
  SCANLOOM_TRY(const ir::ValueId arg, input_of(module, name));
  SCANLOOM_TRY(tensor::Tensor copy, tensor::copy_of(value, "input '" + name + "'"));
  if (!module.value(arg).type.is_tensor() || module.value(arg).type.dtype != copy.dtype())
    return fail(Code::invalid_argument, "input '{}' is {}, the value for it {}", name,
                to_string(module.value(arg).type, module.dims), dtype_name(copy.dtype()));
  tensor::Type type = tensor::Type::of(copy.dtype(), copy.shape());
  const ir::NodeId made =
      module.add_node(module.top(), ir::constant_op, {}, {std::move(copy)}, {std::move(type)});
  const ir::ValueId constant = module.node(made).outputs[0];
  ir::Region& top = module.region(module.top());
  std::ranges::rotate(top.nodes, top.nodes.end() - 1);
  for (const ir::NodeId node : top.nodes)
    std::ranges::replace(module.node(node).inputs, arg, constant);
  std::ranges::replace(top.yields, arg, constant);
  return {};
}

Expected<ModelExpressions> expressions_of(const Source& source, const FromOnnxOptions& options) {
  Diagnostics diagnostics;
  SessionOptions as_written = options.session;
  as_written.optimize = false;
  SCANLOOM_TRY(Loaded loaded, load_module(source, as_written, diagnostics));
  Solution solution(loaded.module);
  for (const auto& [name, sizes] : options.sizes) SCANLOOM_CHECK_OK(solution.add(name, sizes));
  for (const auto& [name, value] : options.values) {
    SCANLOOM_CHECK_OK(solution.add(name, value.shape));
    SCANLOOM_CHECK_OK(fix(loaded.module, name, value));
  }
  solution.put_into(loaded.module);
  SCANLOOM_CHECK_OK(ir::infer_types(loaded.module, ir::Declared::ignore));
  SCANLOOM_CHECK_OK(optimise(loaded, plain_forms(options.session)));
  SCANLOOM_TRY(expr::Raised raised, expr::raise(loaded.module));
  std::erase_if(raised.inputs, [&](const Expr& x) {
    return std::ranges::any_of(options.values,
                               [&](const auto& value) { return value.first == x.name(); });
  });
  ModelExpressions made{std::move(raised.inputs), {}, std::move(raised.outputs)};
  for (const std::string& name : loaded.module.output_names)
    made.output_names.push_back(to_valid_utf8(name));
  return made;
}

}  // namespace

Expected<ModelExpressions> from_onnx(const std::string& path, const FromOnnxOptions& options) {
  return guard([&]() -> Expected<ModelExpressions> {
    SCANLOOM_TRY(const Source source, Source::of_file(path));
    return expressions_of(source, options);
  });
}

Expected<ModelExpressions> from_onnx_bytes(std::span<const std::byte> bytes,
                                           const FromOnnxOptions& options) {
  return guard([&]() -> Expected<ModelExpressions> {
    // Constants may point into the bytes for as long as the expressions live.
    const auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    const std::string_view view(reinterpret_cast<const char*>(copy->data()), copy->size());
    return expressions_of({copy, view, {}}, options);
  });
}

}  // namespace scanloom
