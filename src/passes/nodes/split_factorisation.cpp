// Replaces the product of an inverse with a matrix or vector, inv(A) b, by a solution with the
// factors of A, if nothing else reads the inverse: fewer operations, and a smaller error. The
// solution starts from the factors, which hoist_invariant moves before a loop if A does not change.
// So it runs before that pass, and after merge_common, which leaves one inverse of several.
//
// Bits change: the sums are different.
#include <vector>

#include "opmath/einsum_text.h"
#include "ops/ops.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Node;
using ir::ValueId;
using tensor::Einsum;
using tensor::Subscripts;

bool is_inverse(const Node* node) {
  return node != nullptr && (node->inputs.size() <= 2 || !node->inputs[2].valid());
}

/// The form of a product of an inverse X and some b: X b or X^T b, where b and the result have
/// their columns last or first.
struct Product {
  bool transposed = false;
  bool vector = false;
  bool turn_b = false, turn_result = false;
};

/// nullopt if it is not a product of two matrices, or of a matrix and a vector.
std::optional<Product> product_of(const Subscripts& x, const Subscripts& b, const Subscripts& out) {
  if (x.count != 2 || b.count < 1 || b.count > 2 || x.labels[0] == x.labels[1]) return std::nullopt;
  Product product;
  const bool columns = b.find(x.labels[1]) >= 0, rows = b.find(x.labels[0]) >= 0;
  if (columns == rows) return std::nullopt;
  product.transposed = rows;
  const std::uint8_t summed = x.labels[rows ? 0 : 1], kept = x.labels[rows ? 1 : 0];
  if (out.count != b.count || out.find(summed) >= 0 || out.find(kept) < 0) return std::nullopt;
  product.vector = b.count == 1;
  if (product.vector) return product;
  product.turn_b = b.labels[1] == summed;
  const std::uint8_t column = b.labels[product.turn_b ? 0 : 1];
  if (column == summed || out.find(column) < 0) return std::nullopt;
  product.turn_result = out.labels[0] == column;
  return product;
}

Expected<ValueId> turned(ir::Builder& builder, ValueId matrix) {
  return builder.op(ops::transpose_op, {matrix}, {{"perm", std::vector<std::int64_t>{1, 0}}});
}

Expected<ValueId> solution(ir::Builder& builder, const Node& inverse, ValueId b,
                           const Product& product) {
  const bool transposed = (attr_of(inverse, "transposed").integer() != 0) != product.transposed;
  const std::vector<ir::NamedAttr> last{{"axes", std::vector<std::int64_t>{1}}};
  if (product.vector) {
    SCANLOOM_TRY(b, builder.op(ops::unsqueeze_op, {b}, last));
  }
  if (product.turn_b) {
    SCANLOOM_TRY(b, turned(builder, b));
  }
  SCANLOOM_TRY(ValueId x, builder.op(ops::lu_solve_op, {inverse.inputs[0], inverse.inputs[1], b},
                                     {{"transposed", transposed ? 1 : 0}}));
  if (product.turn_result) return turned(builder, x);
  if (product.vector) return builder.op(ops::squeeze_op, {x}, last);
  return x;
}

}  // namespace

Expected<Change> split_factorisation(ir::Module& module) {
  const std::vector<std::uint32_t> uses = ir::count_uses(module);
  const auto simplify = [&](Rewriter& rewriter, ir::NodeId id) -> Expected<bool> {
    const Node node = rewriter.module().node(id);  // by value: adding nodes may move it
    if (node.op != &ops::contract_op) return false;
    for (const std::size_t at : {0, 1}) {
      const ValueId x = node.inputs[at], b = node.inputs[1 - at];
      const Node* made = made_by(rewriter.module(), x, ops::lu_solve_op);
      if (!is_inverse(made) || x.index >= uses.size() || uses[x.index] != 1) continue;
      if (!rewriter.type(x).ranked || !rewriter.type(b).ranked) continue;
      const auto einsum =
          tensor::parse_einsum(node.attrs[0].text(), rewriter.type(node.inputs[0]).rank(),
                               rewriter.type(node.inputs[1]).rank());
      if (!einsum) return false;
      const auto product = at == 0 ? product_of(einsum->a, einsum->b, einsum->out)
                                   : product_of(einsum->b, einsum->a, einsum->out);
      if (!product) continue;
      const Node inverse = *made;
      SCANLOOM_TRY(const ValueId solved, solution(rewriter.build(), inverse, b, *product));
      rewriter.replace(node.outputs[0], solved);
      return true;
    }
    return false;
  };
  return Rewriter(module).sweep(simplify);
}

}  // namespace scanloom::passes
