#include "passes/nodes/quantized_moves.h"

#include <algorithm>
#include <cmath>

#include "ops/ops.h"

namespace scanloom::passes {
namespace {

using ir::Node;
using ir::ValueId;
using tensor::Tensor;

// Nodes that are followed from one result, over all operands.
constexpr int kMaxMoves = 32;

/// Whether the operator moves elements of its first operand, or of all if it is concat. max_pool
/// counts: the greatest element stays the greatest.
bool only_moves(const Node& node) {
  const ir::OpDef* const moving[] = {
      &ops::concat_op,  &ops::flatten_op, &ops::gather_op,  &ops::identity_op,  &ops::max_pool_op,
      &ops::reshape_op, &ops::slice_op,   &ops::squeeze_op, &ops::transpose_op, &ops::unsqueeze_op};
  if (node.op == &ops::resample_op) return attr_of(node, "mode").text().starts_with("nearest_");
  return std::ranges::find(moving, node.op) != std::end(moving);
}

std::size_t moved_operands(const Node& node) {
  return node.op == &ops::concat_op ? node.inputs.size() : 1;
}

const Node* producer_of(const ir::Module& module, ValueId value) {
  if (!value.valid() || !module.value(value).producer.valid()) return nullptr;
  return &module.node(module.value(value).producer);
}

/// One scale and zero point, as constants; nothing is known of others.
struct Parameters {
  const Tensor *scale = nullptr, *zero = nullptr;
  DType dtype = DType::u8;

  [[nodiscard]] float factor() const { return scale->as<float>()[0]; }
  [[nodiscard]] int offset() const {
    if (zero == nullptr) return 0;
    return dtype == DType::u8 ? int{zero->as<std::uint8_t>()[0]} : int{zero->as<std::int8_t>()[0]};
  }
};

std::optional<Parameters> parameters_of(const ir::Module& module, const Node& node, DType dtype) {
  Parameters found{.scale = constant_of(module, node.inputs[1]), .dtype = dtype};
  const bool has_zero = node.inputs.size() > 2 && node.inputs[2].valid();
  if (has_zero) found.zero = constant_of(module, node.inputs[2]);
  if (found.scale == nullptr || found.scale->dtype() != DType::f32 ||
      found.scale->elements() != 1 || (has_zero && found.zero == nullptr))
    return std::nullopt;
  if (has_zero && (found.zero->elements() != 1 || found.zero->dtype() != dtype))
    return std::nullopt;
  // What is dequantized is finite then, and in the order of the bytes.
  const float scale = found.factor();
  if (!(scale > 0) || !std::isfinite(scale * 510)) return std::nullopt;
  return found;
}

/// The parameters of a node that dequantizes bytes; nullopt if it is none, or they are not
/// constant.
std::optional<Parameters> of_dequantized(const ir::Module& module, const Node& node) {
  if (node.op != &ops::dequantize_linear_op) return std::nullopt;
  const DType dtype = module.value(node.inputs[0]).type.dtype;
  const bool is_byte = dtype == DType::u8 || dtype == DType::i8;
  if (!is_byte || module.value(node.outputs[0]).type.dtype != DType::f32) return std::nullopt;
  return parameters_of(module, node, dtype);
}

/// Whether quantizing what `from` dequantizes gives the same bytes.
bool gives_itself(const Parameters& from, const Parameters& to) {
  if (from.dtype != to.dtype || from.offset() != to.offset()) return false;
  const int least = from.dtype == DType::u8 ? 0 : -128;
  for (int byte = least; byte < least + 256; ++byte) {
    const float real = static_cast<float>(byte - from.offset()) * from.factor();
    if (std::nearbyint(real / to.factor()) + static_cast<float>(to.offset()) !=
        static_cast<float>(byte))
      return false;
  }
  return true;
}

class ByteMoves {
 public:
  ByteMoves(Rewriter& rewriter, const ReadOnce& read_once, const Node& quantize,
            const Parameters& to)
      : rewriter_(rewriter), read_once_(read_once), quantize_(quantize), to_(to) {}

  /// Whether the value is moved from dequantized bytes.
  bool begins_with_bytes(ValueId value) {
    if (++visited_ > kMaxMoves) return false;
    const Node* const node = producer_of(rewriter_.module(), value);
    if (node == nullptr) return false;
    if (of_dequantized(rewriter_.module(), *node)) return true;
    if (!only_moves(*node) || node->outputs[0] != value || !read_once_(value)) return false;
    if (node->op == &ops::max_pool_op && node->outputs.size() > 1) return false;
    const Node given = *node;
    for (std::size_t i = 0; i < moved_operands(given); ++i)
      if (!begins_with_bytes(given.inputs[i])) return false;
    return true;
  }

  /// The value, quantized. Precondition: begins_with_bytes(value).
  Expected<ValueId> bytes_of(ValueId value) {
    const Node node = *producer_of(rewriter_.module(), value);  // adding nodes moves nodes
    if (const auto from = of_dequantized(rewriter_.module(), node)) {
      if (gives_itself(*from, to_)) return node.inputs[0];
      return rewriter_.build().op(ops::quantize_linear_op,
                                  {value, quantize_.inputs[1], quantize_.inputs[2]},
                                  attrs_of(quantize_));
    }
    std::vector<ValueId> operands = node.inputs;
    for (std::size_t i = 0; i < moved_operands(node); ++i) {
      SCANLOOM_TRY(operands[i], bytes_of(node.inputs[i]));
    }
    return rewriter_.build().op(*node.op, std::move(operands), attrs_of(node));
  }

 private:
  Rewriter& rewriter_;
  const ReadOnce& read_once_;
  const Node& quantize_;
  const Parameters& to_;
  int visited_ = 0;
};

}  // namespace

Expected<ValueId> moved_bytes(Rewriter& rewriter, const ReadOnce& read_once, const Node& quantize) {
  const ir::Module& module = rewriter.module();
  const auto to = parameters_of(module, quantize, module.value(quantize.outputs[0]).type.dtype);
  const Node* const node = producer_of(module, quantize.inputs[0]);
  if (!to || node == nullptr) return ValueId();
  if (const auto from = of_dequantized(module, *node))
    return gives_itself(*from, *to) ? node->inputs[0] : ValueId();
  ByteMoves moved(rewriter, read_once, quantize, *to);
  if (!only_moves(*node) || !moved.begins_with_bytes(quantize.inputs[0])) return ValueId();
  return moved.bytes_of(quantize.inputs[0]);
}

}  // namespace scanloom::passes
