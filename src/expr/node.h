// Node: one use of an operator in a graph of expressions, or a leaf of it. Nodes are shared and do
// not change, except that they may be named and that a loop may get additional stacks (for
// gradients). A node is younger than what it reads, so ids are a topological order.
//
// The body of a loop is a graph of its own over `args`: it reaches no node outside. What it needs
// from outside is an operand of the node, as in the IR. Regions of branches are operands
// (branch.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <scanloom/expr.h>

#include "ir/loop_ports.h"
#include "ir/op_def.h"
#include "tensor/attr.h"

namespace scanloom::expr {

struct SharedVariable;

enum class Kind : std::uint8_t { input, constant, shared, op, loop, branch, failed };

/// The type of a value as known before anything runs. -1: the size is known only at run time.
struct StaticType {
  DType dtype = DType::f32;
  std::vector<std::int64_t> sizes;

  [[nodiscard]] int rank() const { return static_cast<int>(sizes.size()); }
  friend bool operator==(const StaticType&, const StaticType&) = default;
};

struct Body {
  std::vector<Expr> args;
  std::vector<Expr> yields;
};

/// Properties of a loop node in addition to its operands: its ports, and facts for gradients.
struct LoopFacts {
  ir::LoopPorts ports;
  /// By stacked port: the carried port whose next value is the row; -1: none.
  std::vector<int> state_of_row;
  std::uint32_t updates = 0;  ///< how many carried ports, the last ones, are shared variables
  std::int64_t truncate_gradient = -1;  ///< how many steps the gradient goes back; -1: all
  /// Whether the gradient keeps only the states and computes the rest of a step again.
  bool recompute = false;
};

/// Which part of which tensor an expression is: the arguments of subtensor.
struct PartOf {
  Expr whole;
  std::vector<Index> items;
};

/// Another way to compute the same number, without overflow or cancellation (expr/stable.h).
struct StableForm {
  Expr value;
  std::vector<Expr> arguments;  ///< what both `value` and the node are computed from
  std::vector<Expr> passed;  ///< the nodes between these and the node; `value` reads none of them
};

struct Node : std::enable_shared_from_this<Node> {
  Node(Kind kind_of, std::vector<StaticType> types);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();

  const std::uint64_t id;
  const Kind kind;
  const ir::OpDef* op = nullptr;  ///< for op, loop and branch
  std::vector<Expr> inputs;       ///< undefined: an absent optional operand
  std::vector<tensor::Attr> attrs;
  std::vector<StaticType> outputs;
  std::vector<std::string> names;  ///< by output; if shorter, the others have none
  tensor::Tensor value;            ///< for a constant
  bool weak = false;  ///< a number, or made only of numbers: adapts to the type of tensors
  std::shared_ptr<SharedVariable> shared;
  std::optional<Error> error;
  std::optional<LoopFacts> loop;
  Body body;  ///< for a loop
  std::shared_ptr<const PartOf> part;
  /// For a write into a part: the tensor that the first of the writes before it changed.
  Expr written;
  /// For rows of states that are not a result of a loop: the state after the last step.
  std::shared_ptr<const Expr> last_row;
  /// Only for a node with one output; older than the node.
  std::unique_ptr<const StableForm> stable;
  bool stops_gradient = false;
  std::optional<std::pair<double, double>> gradient_limits;  ///< the range that its cotangent is
                                                             ///< clipped to
  std::optional<double> gradient_factor;   ///< what its cotangent is multiplied by
  std::optional<std::string> no_gradient;  ///< why it is an error to differentiate through it
  /// Whether the gradient differs from the operator's.
  [[nodiscard]] bool marks_gradient() const {
    return stops_gradient || gradient_limits || gradient_factor || no_gradient;
  }
  std::string location;  ///< the user's name of a loop, "" if there is none
  /// Expressions it was built from, though it may not read them; origins() follows these.
  std::vector<Expr> built_of;
};

using NodePtr = std::shared_ptr<Node>;

/// For an undefined expression an arbitrary type: apply() reports an error for whatever reads it.
[[nodiscard]] const StaticType& type_of(const Expr& x);

/// Returns the sizes on which two types of the same dtype and rank agree.
[[nodiscard]] StaticType joined(const StaticType& a, const StaticType& b);

/// How deep loops and branches may nest: as deep as in models.
constexpr int kDeepestNest = 1000;

/// Returns an expression that holds an error.
[[nodiscard]] Expr failed(Error error);
/// Returns x itself if it holds an error, an expression with an error if x is missing; otherwise
/// undefined.
[[nodiscard]] Expr unusable(const Expr& x);
/// Returns the first of `inputs` that holds an error; nullptr if none does. Undefined ones hold
/// none.
[[nodiscard]] const Expr* first_failed(std::span<const Expr> inputs);

/// Returns a constant that shares these elements.
[[nodiscard]] Expr constant_of(tensor::Tensor value);
/// Returns a placeholder, which a body reads.
[[nodiscard]] Expr placeholder(StaticType type, std::string name = {});
/// Records that x, a node that nothing else reads yet, was built from `parts`. Returns x.
Expr built_of(Expr x, std::span<const Expr> parts);
/// Returns the elements of an integer constant; nullopt for other expressions.
[[nodiscard]] std::optional<std::vector<std::int64_t>> constant_integers(const Expr& x);

/// "f32[3,?]".
[[nodiscard]] std::string to_string(const StaticType& type);
/// The name in quotes, or a description.
[[nodiscard]] std::string describe(const Expr& x);

/// Whether the item takes its whole axis unchanged.
[[nodiscard]] bool is_whole_axis(const Index& item);

/// Returns the nodes that the expressions reach, each after those it reads; bodies are not entered.
[[nodiscard]] std::vector<const Node*> reachable(std::span<const Expr> outputs);
/// The same, including what the stable forms of the nodes reach.
[[nodiscard]] std::vector<const Node*> reachable_in_any_form(std::span<const Expr> outputs);
/// Returns the nodes that are computed: follows a node's stable form instead of the node if `uses`
/// returns true for it.
[[nodiscard]] std::vector<const Node*> reachable(std::span<const Expr> outputs,
                                                 const std::function<bool(const Node&)>& uses);

}  // namespace scanloom::expr
