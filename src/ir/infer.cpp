#include "ir/infer.h"

#include <algorithm>
#include <utility>

#include "ir/evaluate.h"
#include "ir/infer_driver.h"
#include "ir/op_def.h"

namespace scanloom::ir {
namespace {

/// Elements up to which known values are compared.
constexpr std::int64_t kMaxCompared = 64;

bool is_numbers(const Type& type, const Known* known) {
  return type.is_static() &&
         (known == nullptr || !known->integers ||
          std::ranges::all_of(*known->integers, [](Dim dim) { return dim.is_constant(); }));
}

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.dtype() != DType::string && a.shape() == b.shape() &&
         a.elements() <= kMaxCompared &&
         std::ranges::equal(std::span(static_cast<const std::byte*>(a.data()), a.bytes()),
                            std::span(static_cast<const std::byte*>(b.data()), b.bytes()));
}

bool same_known(const Known* a, const Known* b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr || a->tensor.has_value() != b->tensor.has_value()) return false;
  return a->integers == b->integers && (!a->tensor || same_elements(*a->tensor, *b->tensor));
}

}  // namespace

bool InferenceBefore::take_over(const Node& node, Inference& now) {
  if (before_ == nullptr || node.parent != module_.top()) return false;
  const auto is_same = [this](ValueId input) { return !input.valid() || same_[input.index]; };
  const auto can_be_taken = [this](ValueId output) {
    return is_numbers(before_->types[output.index], before_->known[output.index].get());
  };
  if (!std::ranges::all_of(node.inputs, is_same) ||
      !std::ranges::all_of(node.outputs, can_be_taken))
    return false;
  for (const ValueId output : node.outputs) {
    now.types[output.index] = std::move(before_->types[output.index]);
    now.known[output.index] = std::move(before_->known[output.index]);
    same_[output.index] = true;
  }
  return true;
}

void InferenceBefore::note(ValueId value, const Inference& now) {
  if (before_ == nullptr || module_.value(value).region != module_.top()) return;
  const Type& type = now.types[value.index];
  const Known* const known = now.known[value.index].get();
  same_[value.index] = is_numbers(type, known) && type == before_->types[value.index] &&
                       same_known(known, before_->known[value.index].get());
}

InferDriver::InferDriver(const Module& module, DimTable& dims, const InferOptions& options,
                         Inference* before)
    : module_(module), dims_(dims), options_(options), before_(module, before) {}

Expected<void> InferDriver::start(std::span<const Type> argument_types) {
  result_ = {};
  result_.types.resize(module_.value_count());
  result_.known.resize(module_.value_count());
  result_.taken_branch.resize(module_.node_count(), -1);
  result_.visited.resize(module_.region_count(), false);
  const Region& top = module_.region(module_.top());
  if (argument_types.size() != top.args.size())
    return fail(Code::internal, "the module has {} arguments, but {} types are given",
                top.args.size(), argument_types.size());
  for (std::size_t i = 0; i < top.args.size(); ++i) {
    if (auto fits = check_type(argument_types[i], dims_); !fits)
      return std::move(fits).error().at("argument " + module_.describe(top.args[i]));
    set(top.args[i], argument_types[i]);
    before_.note(top.args[i], result_);
  }
  result_.visited[module_.top().index] = true;
  frames_.clear();
  frames_.push_back({.region = module_.top()});
  return {};
}

Expected<Inference> InferDriver::run(std::span<const Type> argument_types) {
  // Nested bodies whose states all change size are inferred once per depth. Beyond any sensible
  // depth, precision gives way to linear time.
  const std::size_t patience = 10000 + 16 * module_.node_count();
  SCANLOOM_CHECK_OK(start(argument_types));
  while (!frames_.empty()) {
    if (!hasty_ && visits_ > patience) {
      hasty_ = true;
      before_.forget();
      SCANLOOM_CHECK_OK(start(argument_types));
    }
    InferFrame& frame = frames_.back();
    const std::vector<NodeId>& nodes = module_.region(frame.region).nodes;
    if (frame.next == nodes.size()) {
      SCANLOOM_CHECK_OK(leave());
      continue;
    }
    const NodeId id = nodes[frame.next++];
    ++visits_;
    if (auto visited = visit(id); !visited)
      return std::move(visited).error().at(module_.describe_call(id));
  }
  return std::move(result_);
}

Expected<void> InferDriver::leave() {
  const NodeId owner = frames_.back().owner;
  if (!owner.valid()) {
    frames_.pop_back();
    return {};
  }
  auto left = module_.node(owner).op == &loop_op ? leave_loop(owner) : leave_branch(owner);
  if (!left) return std::move(left).error().at(module_.describe(owner));
  return {};
}

Expected<void> InferDriver::visit(NodeId id) {
  const Node& node = module_.node(id);
  if (node.op == &loop_op) return enter_loop(id);
  if (node.op == &branch_op) return enter_branch(id);
  if (node.op != &constant_op) return visit_plain(id);
  if (node.outputs.size() != 1 || node.attrs.size() != 1 ||
      node.attrs[0].kind() != tensor::AttrKind::tensor)
    return fail(Code::internal, "a constant has one result and a tensor");
  if (before_.take_over(node, result_)) return {};
  const Tensor& value = node.attrs[0].tensor();
  set(node.outputs[0], Type::of(value.dtype(), value.shape()), known_tensor(value));
  return {};
}

namespace {

/// A node that must run because it may fail is not replaced by its value; its integers are still
/// used.
void forget_values(NodeTypes& result) {
  for (auto& known : result.known)
    if (known != nullptr && known->tensor)
      known = std::make_shared<const Known>(Known{std::nullopt, known->integers});
}

}  // namespace

Expected<void> InferDriver::visit_plain(NodeId id) {
  const Node& node = module_.node(id);
  if (node.op == nullptr || node.op->infer == nullptr)
    return fail(Code::internal, "has no operator that infers types");
  if (before_.take_over(node, result_)) return {};
  input_types_.clear();
  input_known_.clear();
  for (const ValueId input : node.inputs) {
    input_types_.push_back(input.valid() ? &type(input) : nullptr);
    input_known_.push_back(input.valid() ? known(input).get() : nullptr);
  }
  auto result =
      infer_node(*node.op, input_types_, input_known_, node.attrs, node.outputs.size(), dims_);
  if (!result) {
    if (!frames_.back().may_defer) return std::move(result).error();
    defer(id);
    return {};
  }
  bool evaluated = false;
  if (options_.evaluate) {
    SCANLOOM_TRY(evaluated, evaluate_plain(id, *result));
  }
  if (node.op->effects != Effects::pure && !evaluated) forget_values(*result);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    set(node.outputs[i], std::move(result->types[i]), std::move(result->known[i]));
    before_.note(node.outputs[i], result_);
  }
  return {};
}

std::optional<Tensor> InferDriver::input_tensor(std::size_t i) const {
  const Known* known = input_known_[i];
  if (known == nullptr) return std::nullopt;
  if (known->tensor || !known->integers) return known->tensor;
  return tensor_of(*known->integers, *input_types_[i]);
}

Expected<bool> InferDriver::evaluate_plain(NodeId id, NodeTypes& result) {
  const Node& node = module_.node(id);
  const auto has_tensor = [](const auto& known) {
    return known != nullptr && known->tensor.has_value();
  };
  // A node that may fail runs even if its result is known, so that it can report its fault.
  if (node.op->effects == Effects::pure && std::ranges::all_of(result.known, has_tensor))
    return true;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    std::optional<Tensor> input = node.inputs[i].valid() ? input_tensor(i) : Tensor();
    if (!input) return false;
    inputs.push_back(*std::move(input));
  }
  auto values =
      evaluate(*node.op, inputs, node.attrs, result.types, options_.max_evaluated_elements);
  if (!values) {
    // In a region that may not run, the run reports the fault.
    if (frames_.back().certain) return std::move(values).error();
    return false;
  }
  if (!*values) return false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    result.known[i] = known_tensor(std::move((**values)[i]));
  return true;
}

void InferDriver::defer(NodeId id) {
  for (const ValueId output : module_.node(id).outputs) {
    Type unranked = module_.value(output).type;
    unranked.ranked = false;
    unranked.dims.clear();
    set(output, std::move(unranked));
  }
}

namespace {

/// The inferred type, completed by facts that only the declared type has.
Type refined(const Type& inferred, const Type& declared, const DimTable& dims) {
  if (!same_kind(inferred, declared) || !declared.ranked) return inferred;
  if (!inferred.ranked) return declared;
  if (inferred.rank() != declared.rank()) return inferred;
  Type type = inferred;
  for (std::size_t axis = 0; axis < type.dims.size(); ++axis)
    if (dims.is_fresh(type.dims[axis]) && !dims.is_fresh(declared.dims[axis]))
      type.dims[axis] = declared.dims[axis];
  return type;
}

}  // namespace

Expected<Inference> infer(const Module& module, std::span<const Type> argument_types,
                          DimTable& dims, const InferOptions& options) {
  return InferDriver(module, dims, options, nullptr).run(argument_types);
}

Expected<Inference> infer_again(const Module& module, std::span<const Type> argument_types,
                                DimTable& dims, const InferOptions& options, Inference* before) {
  return InferDriver(module, dims, options, before).run(argument_types);
}

Expected<void> infer_types(Module& module, Declared declared) {
  std::vector<Type> arguments;
  for (const ValueId id : module.region(module.top()).args)
    arguments.push_back(module.value(id).type);
  SCANLOOM_TRY(Inference result, infer(module, arguments, module.dims));
  for (std::uint32_t i = 0; i < module.value_count(); ++i) {
    Value& value = module.value(ValueId(i));
    if (!value.region.valid() || !result.visited[value.region.index]) continue;
    // Types inferred for the first step, or for one region of a branch, may be too narrow.
    value.type = result.varying_sizes || declared == Declared::ignore
                     ? std::move(result.types[i])
                     : refined(result.types[i], value.type, module.dims);
  }
  return {};
}

}  // namespace scanloom::ir
