// Gives all products explicit specifications and folds transposes of the operands into these. It
// runs after canonicalise, which has joined consecutive transposes.
#include <algorithm>

#include "opmath/einsum_text.h"
#include "ops/ops.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Node;
using ir::ValueId;
using tensor::Einsum;
using tensor::Subscripts;

/// Counts the labels that are summed over. Their order is the order of the sum.
int contracted_count(const Einsum& einsum) {
  std::vector<std::uint8_t> found;
  for (const Subscripts* operand : {&einsum.a, &einsum.b})
    for (const std::uint8_t label : operand->view())
      if (einsum.out.find(label) < 0 && std::ranges::find(found, label) == found.end())
        found.push_back(label);
  return static_cast<int>(found.size());
}

/// Whether an axis of the ellipsis has the same size in both operands, so that a letter can name
/// it.
bool is_plain(const Einsum& einsum, std::uint8_t label, const ir::Type& a, const ir::Type& b) {
  const int of_a = einsum.a.find(label), of_b = einsum.b.find(label);
  return of_a < 0 || of_b < 0 ||
         a.dims[static_cast<std::size_t>(of_a)] == b.dims[static_cast<std::size_t>(of_b)];
}

void rename(Subscripts& subscripts, std::uint8_t from, std::uint8_t to) {
  std::replace(subscripts.labels.begin(), subscripts.labels.begin() + subscripts.count, from, to);
}

/// Replaces the ellipsis by letters if nothing broadcasts along it; otherwise leaves it unchanged.
Einsum with_letters(const Einsum& einsum, const ir::Type& a, const ir::Type& b) {
  Einsum named = einsum;
  std::uint8_t letter = 'a';
  for (const std::uint8_t label : einsum.out.view()) {
    if (!tensor::is_ellipsis(label)) continue;
    if (!is_plain(einsum, label, a, b)) return einsum;
    letter = unused_letter(named, letter);
    for (Subscripts* part : {&named.a, &named.b, &named.out}) rename(*part, label, letter);
  }
  return named;
}

/// Relabels for the untransposed operand: axis i of the transpose is axis order[i] of that.
bool take_in(Subscripts& subscripts, const std::vector<std::int64_t>& order) {
  if (order.size() != static_cast<std::size_t>(subscripts.count)) return false;
  Subscripts source;
  source.count = subscripts.count;
  for (std::size_t i = 0; i < order.size(); ++i)
    source.labels[static_cast<std::size_t>(order[i])] = subscripts.labels[i];
  subscripts = source;
  return true;
}

/// Returns the specification with the transpose of one operand folded in, if it can be written.
std::optional<std::string> without_transpose(Rewriter& rewriter, const Node& node,
                                             const Einsum& einsum, std::size_t operand) {
  const Node* transpose = made_by(rewriter.module(), node.inputs[operand], ops::transpose_op);
  if (transpose == nullptr) return std::nullopt;
  const auto order = order_of(rewriter.module(), *transpose);
  if (!order || contracted_count(einsum) > 1) return std::nullopt;
  Einsum changed =
      with_letters(einsum, rewriter.type(node.inputs[0]), rewriter.type(node.inputs[1]));
  if (!take_in(operand == 0 ? changed.a : changed.b, *order)) return std::nullopt;
  return text_of(changed);
}

Expected<bool> simplify_contraction(Rewriter& rewriter, ir::NodeId id) {
  Node node = rewriter.module().node(id);  // by value: adding nodes may move it
  if (node.op != &ops::contract_op) return false;
  std::string spec = node.attrs[0].text();
  bool changed = false;
  const auto read = [&] {
    return tensor::parse_einsum(spec, rewriter.type(node.inputs[0]).rank(),
                                rewriter.type(node.inputs[1]).rank());
  };
  for (const ValueId input : node.inputs)
    if (!rewriter.type(input).ranked) return false;
  if (spec.find("->") == spec.npos) {
    SCANLOOM_TRY(const Einsum einsum, read());
    const auto text = text_of(einsum);
    if (!text) return false;
    spec = *text;
    changed = true;
  }
  for (const std::size_t operand : {0, 1}) {
    SCANLOOM_TRY(const Einsum einsum, read());
    const auto text = without_transpose(rewriter, node, einsum, operand);
    if (!text) continue;
    spec = *text;
    const ir::Module& module = rewriter.module();
    node.inputs[operand] = made_by(module, node.inputs[operand], ops::transpose_op)->inputs[0];
    changed = true;
  }
  if (!changed) return false;
  SCANLOOM_TRY(const ValueId product,
               rewriter.build().op(ops::contract_op, node.inputs, {{"spec", spec}}));
  rewriter.replace(node.outputs[0], product);
  return true;
}

}  // namespace

Expected<Change> simplify_contract(ir::Module& module) {
  return Rewriter(module).sweep(simplify_contraction);
}

}  // namespace scanloom::passes
