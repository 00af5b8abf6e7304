#include "plan/bind/dynamic.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "ir/call_reference.h"
#include "ir/check_operands.h"
#include "ir/empty_stacks.h"
#include "ir/infer_node.h"
#include "ir/op_def.h"
#include "ir/run_node.h"
#include "ops/index/slice_cuts.h"
#include "ops/sized_results.h"
#include "plan/bind/builder.h"
#include "plan/plan.h"
#include "tensor/strided_copy.h"

namespace scanloom::plan {

Expected<tensor::Tensor> as_tensor(const tensor::Operand& operand) {
  const tensor::Shape shape = operand.shape();
  if (shape.elements() == 0) return tensor::Tensor::zeros(operand.dtype, shape);
  if (operand.contiguous)
    return tensor::Tensor(operand.dtype, shape, nullptr, operand.data<const std::byte>());
  SCANLOOM_TRY(tensor::Tensor copy, tensor::Tensor::zeros(operand.dtype, shape));
  tensor::copy_strided(operand.dtype, shape.dims(), operand.data<const std::byte>(),
                       operand.strides, static_cast<std::byte*>(copy.mutable_data()),
                       tensor::contiguous_strides(shape).data());
  return copy;
}

namespace {

/// Maximum words of one input's elements in a key: enough for sizes, axes, starts and ends.
constexpr std::int64_t kMaxValueWords = 32;

bool append_values(const tensor::Operand& operand, CallKey& key) {
  constexpr std::int64_t kWord = sizeof(std::int64_t);
  const std::int64_t bytes =
      operand.elements() * static_cast<std::int64_t>(dtype_bytes(operand.dtype));
  const std::int64_t words = (bytes + kWord - 1) / kWord;
  if (!operand.contiguous || words > kMaxValueWords) return false;
  const std::size_t at = key.size();
  key.resize(at + static_cast<std::size_t>(words), 0);
  if (bytes != 0)
    std::memcpy(key.data() + at, operand.data<const std::byte>(), static_cast<std::size_t>(bytes));
  return true;
}

/// Shape inference of one node for actual operands and the values of some of them.
class SizeInference {
 public:
  SizeInference(const ir::Node& node, std::span<const tensor::Operand> inputs)
      : node_(node),
        inputs_(inputs),
        types_(inputs.size()),
        known_(inputs.size()),
        type_pointers_(inputs.size(), nullptr),
        known_pointers_(inputs.size(), nullptr) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].present()) continue;
      types_[i] = tensor::Type::of(inputs[i].dtype, inputs[i].shape());
      type_pointers_[i] = &types_[i];
    }
  }

  Expected<ir::NodeTypes> infer(DecidingValues told) {
    dims_ = tensor::DimTable();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      known_pointers_[i] = nullptr;
      if (!inputs_[i].present() || (told & ir::value_bit(i)) == 0) continue;
      if (!known_[i].tensor) {
        SCANLOOM_TRY(known_[i].tensor, as_tensor(inputs_[i]));
      }
      known_pointers_[i] = &known_[i];
    }
    return ir::infer_node(*node_.op, type_pointers_, known_pointers_, node_.attrs,
                          node_.outputs.size(), dims_);
  }
  /// Same as infer, but nullopt unless that determines all sizes.
  std::optional<ir::NodeTypes> infer_all_sizes(DecidingValues told) {
    auto inferred = infer(told);
    if (!inferred || !std::ranges::all_of(inferred->types, &tensor::Type::is_static))
      return std::nullopt;
    return *std::move(inferred);
  }
  /// Of what infer() made last.
  [[nodiscard]] Expected<void> check_reported_sizes(const ir::NodeTypes& inferred) const {
    return ir::check_reported_sizes(*node_.op, type_pointers_, inferred.types, dims_);
  }

 private:
  const ir::Node& node_;
  std::span<const tensor::Operand> inputs_;
  std::vector<tensor::Type> types_;
  std::vector<ir::Known> known_;
  std::vector<const tensor::Type*> type_pointers_;
  std::vector<const ir::Known*> known_pointers_;
  tensor::DimTable dims_;
};

ResultSizes sizes_of(const ir::NodeTypes& inferred, DecidingValues deciding) {
  ResultSizes sizes{.shapes = {}, .deciding = deciding};
  for (const tensor::Type& type : inferred.types) sizes.shapes.push_back(type.shape());
  return sizes;
}

}  // namespace

Expected<ResultSizes> resolve_shapes(const Plan& plan, ir::NodeId id,
                                     std::span<const tensor::Operand> inputs,
                                     DecidingValues deciding) {
  SizeInference inference(plan.module.node(id), inputs);
  // Sizes that follow from some values do not depend on the others.
  if (const auto inferred = inference.infer_all_sizes(deciding))
    return sizes_of(*inferred, deciding);
  auto inferred = inference.infer(~DecidingValues{0});
  if (!inferred) return std::move(inferred).error().at(plan.module.describe_call(id));
  if (auto told = inference.check_reported_sizes(*inferred); !told)
    return std::move(told).error().at(plan.module.describe_call(id));
  // Inference also asks for values that it only forwards.
  DecidingValues needed = inferred->values_asked;
  for (std::size_t i = 0; i < std::numeric_limits<DecidingValues>::digits; ++i)
    if ((needed & ir::value_bit(i)) != 0 && inference.infer_all_sizes(needed & ~ir::value_bit(i)))
      needed &= ~ir::value_bit(i);
  return sizes_of(*inferred, deciding | needed);
}

bool describe_inputs(std::span<const tensor::Operand> inputs, DecidingValues deciding,
                     CallKey& key) {
  key.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const tensor::Operand& operand = inputs[i];
    key.push_back(operand.present() ? operand.rank : -1);
    if (!operand.present()) continue;
    key.insert(key.end(), operand.dims, operand.dims + operand.rank);
    key.insert(key.end(), operand.strides, operand.strides + operand.rank);
    if ((deciding & ir::value_bit(i)) != 0 && !append_values(operand, key)) return false;
  }
  return true;
}

bool makes_nothing(const Plan& plan, const DynamicCall& dynamic,
                   std::span<const tensor::Operand> outputs) {
  // A copy for a loop or branch names that node, whose operator is not a copy.
  if (dynamic.call.is_copy) return outputs[0].empty();
  return ir::makes_nothing(*plan.module.node(dynamic.call.node).op, outputs);
}

kernels::Prepared prepare_kernel(const Binding& binding, const DynamicCall& dynamic,
                                 std::span<const tensor::Operand> inputs,
                                 std::span<const tensor::Operand> outputs) {
  const Plan& plan = *binding.plan;
  const ir::Node& node = plan.module.node(dynamic.call.node);
  const bool is_copy = dynamic.call.is_copy;
  if (!is_copy && node.op->scalar != nullptr && dynamic.program == nullptr)
    return kernels::Prepared::no("an operand is absent");
  constexpr kernels::KernelId kCopy[] = {kernels::KernelId::copy};
  const auto spots = std::span(binding.operands).subspan(dynamic.call.first_operand, inputs.size());
  for (const kernels::KernelId id : is_copy ? kCopy : candidates(*node.op)) {
    const kernels::KernelDef& def = kernels::kernel(id);
    bool of_plan = true;
    const std::vector<const void*> constants = constants_for(def, binding, spots, of_plan);
    kernels::Prepared prepared =
        def.prepare({inputs, outputs, constants, node.attrs, dynamic.program.get(),
                     of_plan ? &plan.packs : nullptr});
    if (prepared.refusal) continue;
    if (prepared.run == nullptr) prepared.run = def.run;
    return prepared;
  }
  return kernels::Prepared::no("no kernel takes these operands");
}

Expected<ResultSizes> sizes_of_input(const Plan&, ir::NodeId,
                                     std::span<const tensor::Operand> inputs, DecidingValues) {
  return ResultSizes{.shapes = {inputs[0].shape()}};
}

std::optional<ir::ViewOf> view_of_slice(std::span<const tensor::Operand> inputs) {
  return ops::slice_view(inputs);
}

Expected<std::vector<tensor::Shape>> empty_stacks(const Plan& plan, ir::NodeId loop,
                                                  std::span<const tensor::Tensor> inputs) {
  auto shapes = ir::empty_stacks(plan.module, loop, inputs);
  if (!shapes) return std::move(shapes).error().at(plan.module.describe(loop));
  return shapes;
}

Expected<void> run_object(const Plan& plan, ir::NodeId id, std::span<tensor::ObjectRef> inputs,
                          std::span<tensor::ObjectRef> outputs, tensor::MemoryAccount& memory) {
  const ir::Node& node = plan.module.node(id);
  const tensor::ObjectCall call{inputs, outputs, node.attrs, memory};
  Expected<void> done;
  if (const tensor::ObjectFn sized = ops::sized_results_of(*node.op)) {
    done = ir::check_operands(*node.op, call);
    if (done) done = sized(call);
  } else {
    done = ir::run_on_objects(*node.op, call);
  }
  if (!done) return std::move(done).error().at(plan.module.describe(id));
  return done;
}

}  // namespace scanloom::plan
