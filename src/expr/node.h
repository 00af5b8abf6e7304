// Node: one use of an operator in a graph of expressions, or a leaf of it. Nodes are shared and do
// not change but for names, and for stacks that a loop may get in addition (grad does that). A
// node is younger than what it reads, so ids are a topological order.
//
// The body of a loop is a graph of its own over `args`: it reaches no node outside. What it needs
// from there is an operand of the node, as in the IR. Sides of branches are operands (branch.h).
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

/// What is known of a value before anything runs. -1: only a run knows the size.
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

/// What the loop node knows beyond its ports.
struct LoopFacts {
  ir::LoopPorts ports;
  /// By stacked port: the carried port whose next value is its row; -1: none.
  std::vector<int> state_of_row;
  std::uint32_t updates = 0;  ///< how many of the carried ports, the last, are shared variables
  std::int64_t truncate_gradient = -1;  ///< steps that the gradient goes back; -1: all
  /// Whether the gradient keeps the states alone and computes all else of a step again.
  bool recompute = false;
};

/// Which part of what tensor an expression is: subtensor's arguments.
struct PartOf {
  Expr whole;
  std::vector<Index> items;
};

/// Another way to compute the same number, which neither overflows nor cancels (expr/stable.h).
struct StableForm {
  Expr value;
  std::vector<Expr> arguments;  ///< what `value` is computed of, and the node, too
  std::vector<Expr> passed;     ///< what lies between these and the node; `value` reads none of it
};

struct Node : std::enable_shared_from_this<Node> {
  Node(Kind kind_of, std::vector<StaticType> types);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();

  const std::uint64_t id;
  const Kind kind;
  const ir::OpDef* op = nullptr;  ///< of op, loop and branch
  std::vector<Expr> inputs;       ///< undefined: an optional operand that is absent
  std::vector<tensor::Attr> attrs;
  std::vector<StaticType> outputs;
  std::vector<std::string> names;  ///< by output; shorter: the rest has none
  tensor::Tensor value;            ///< of a constant
  bool weak = false;  ///< a number, or made of numbers alone: adapts to the type of tensors
  std::shared_ptr<SharedVariable> shared;
  std::optional<Error> error;
  std::optional<LoopFacts> loop;
  Body body;  ///< of a loop
  std::shared_ptr<const PartOf> part;
  /// Of rows of states that are no result of a loop: the state after the last step.
  std::shared_ptr<const Expr> last_row;
  /// Of a node with one output; older than the node.
  std::unique_ptr<const StableForm> stable;
  bool stops_gradient = false;
  std::optional<std::pair<double, double>> gradient_limits;  ///< what its cotangent is cut to
  std::optional<double> gradient_factor;                     ///< what its cotangent is times
  std::optional<std::string> no_gradient;  ///< why a gradient through it is an error
  /// Whether the gradient is another one than the operator's.
  [[nodiscard]] bool marks_gradient() const {
    return stops_gradient || gradient_limits || gradient_factor || no_gradient;
  }
  std::string location;  ///< the user's name of a loop, "" where there is none
  /// What it was built from and need not read: origins() follows these.
  std::vector<Expr> built_of;
};

using NodePtr = std::shared_ptr<Node>;

/// Of an undefined expression some type: what reads it is an error that apply() finds.
[[nodiscard]] const StaticType& type_of(const Expr& x);

/// The sizes on which two types of one dtype and rank agree.
[[nodiscard]] StaticType joined(const StaticType& a, const StaticType& b);

/// How deep loops and branches may lie in each other: as deep as in models.
constexpr int kDeepestNest = 1000;

/// An expression that holds an error.
[[nodiscard]] Expr failed(Error error);
/// x itself where it holds an error, one that does where x is missing; undefined otherwise.
[[nodiscard]] Expr unusable(const Expr& x);
/// The first of `inputs` that holds an error; nullptr where none does. Undefined ones hold none.
[[nodiscard]] const Expr* first_failed(std::span<const Expr> inputs);

/// A constant of these elements, which it shares.
[[nodiscard]] Expr constant_of(tensor::Tensor value);
/// A placeholder: what a body reads.
[[nodiscard]] Expr placeholder(StaticType type, std::string name = {});
/// Notes that x, a node that nothing else reads yet, was built from `parts`. Returns x.
Expr built_of(Expr x, std::span<const Expr> parts);
/// The elements of an integer constant; nullopt where x is none.
[[nodiscard]] std::optional<std::vector<std::int64_t>> constant_integers(const Expr& x);

/// "f32[3,?]".
[[nodiscard]] std::string to_string(const StaticType& type);
/// The name in quotes, or what it is.
[[nodiscard]] std::string describe(const Expr& x);

/// Whether the item takes all of its axis as it is.
[[nodiscard]] bool is_whole_axis(const Index& item);

/// Nodes that the expressions reach, each after those it reads; bodies are not entered.
[[nodiscard]] std::vector<const Node*> reachable(std::span<const Expr> outputs);
/// The same with what stable forms of them reach.
[[nodiscard]] std::vector<const Node*> reachable_in_any_form(std::span<const Expr> outputs);
/// The same for what is computed: of nodes with a stable form that `uses` agrees to, what that
/// reads instead.
[[nodiscard]] std::vector<const Node*> reachable(std::span<const Expr> outputs,
                                                 const std::function<bool(const Node&)>& uses);

}  // namespace scanloom::expr
