// The gradient of a loop is a loop that walks back over its steps:
//
//   carried    the cotangents of the states, and a sum for each captured value
//   scanned    cotangents of stacked rows, slices of the forward loop's sequences, and other
//              values of the forward step: stacks that are added to the forward loop
//   stacked    the cotangents of slices
//
// Cheap results of the forward step are computed again from the state before it. Results of
// products, functions, reductions and inner loops are kept, except those that a branch may skip. A
// loop over chunks of steps keeps only its states (expr/checkpoint.h).
#include <algorithm>
#include <set>

#include "expr/apply.h"
#include "expr/loop.h"
#include "expr/region_assignment.h"
#include "expr/step_sizes.h"
#include "expr/substitute.h"
#include "grad/loop_step.h"
#include "grad/loop_steps.h"
#include "grad/rules.h"
#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

using expr::Body;
using expr::Kind;
using expr::Node;
using expr::NodePtr;

/// Whether the node is a list of sizes. If it is computed again, inference knows its elements.
bool is_list_of_sizes(const Node& node) {
  const expr::StaticType& type = node.outputs[0];
  return node.op == &ops::concat_op && type.dtype == DType::i64 && type.rank() == 1 &&
         type.sizes[0] >= 0 && type.sizes[0] <= 2 * tensor::kMaxRank;
}

/// Whether computing the node again is cheaper than storing and loading it.
bool is_cheap(const Node& node) {
  return node.kind == Kind::op && (is_list_of_sizes(node) || node.op->is_cheap());
}

/// The sequences that the reverse loop scans, in the order of its ports.
struct ReverseScans {
  std::vector<ir::ScannedPort> ports;
  std::vector<Expr> operands, args;

  /// Returns the argument that receives one row in each step.
  Expr add(const Expr& rows, ir::ScannedPort port, expr::StaticType row) {
    ports.push_back(port);
    operands.push_back(rows);
    args.push_back(expr::placeholder(std::move(row)));
    return args.back();
  }
};

/// The values of the forward step that the reverse step reads.
class ForwardValues {
 public:
  explicit ForwardValues(const NodePtr& loop)
      : loop_(loop),
        body_(loop->body),
        ports_(loop->loop->ports),
        regions_(body_.yields, [](const Node&) { return true; }),
        sizes_(body_, ports_) {}

  /// Adds to `replaced` the counterparts, in the reverse step, of values that the results read.
  void find_counterparts(const std::vector<Expr>& results, const ReverseSteps& steps,
                         ReverseScans& scans, expr::Replacements& replaced) const {
    std::set<const Node*> forward;
    for (const Node* node : expr::reachable_in_any_form(body_.yields)) forward.insert(node);
    for (const Expr& arg : body_.args) forward.insert(arg.node().get());
    std::set<expr::ExprKey> seen;
    std::vector<Expr> open = results;
    while (!open.empty()) {
      const Expr x = open.back();
      open.pop_back();
      if (!x.defined() || !seen.insert(expr::key_of(x)).second) continue;
      if (forward.contains(x.node().get()))
        if (const Expr other = counterpart(x, steps, scans); other.defined()) {
          replaced.emplace(expr::key_of(x), other);
          continue;
        }
      open.insert(open.end(), x.node()->inputs.begin(), x.node()->inputs.end());
    }
  }

 private:
  /// Returns the counterpart of a value; undefined: it is computed again.
  [[nodiscard]] Expr counterpart(const Expr& x, const ReverseSteps& steps,
                                 ReverseScans& scans) const {
    const std::size_t carried = ports_.captured, scanned = carried + ports_.carried;
    for (std::size_t i = 0; i < body_.args.size(); ++i) {
      if (!(body_.args[i] == x)) continue;
      if (i < carried) return loop_->inputs[ports_.first_captured_input() + i];
      if (i >= scanned) return scan_sequence(i - scanned, steps, scans);
      return scan_kept(x, scans);
    }
    if (loop_->loop->recompute || x.node()->inputs.empty() || is_cheap(*x.node())) return {};
    // Only one region of a branch has the value, in both loops; or its size depends on the step.
    if (!regions_.is_always(*x.node()) || sizes_.vary(x)) return {};
    return scan_kept(x, scans);
  }

  /// Scans a stack of the value, which is added to the forward loop.
  [[nodiscard]] Expr scan_kept(const Expr& x, ReverseScans& scans) const {
    return scans.add(expr::stacked_in(loop_, x), {.start = -1, .stride = -1}, expr::type_of(x));
  }

  /// Scans the forward loop's sequence, starting at the last step's slice.
  [[nodiscard]] Expr scan_sequence(std::size_t i, const ReverseSteps& steps,
                                   ReverseScans& scans) const {
    const Expr& arg = body_.args[ports_.captured + ports_.carried + i];
    ir::ScannedPort back = ports_.scanned[i];
    const bool forwards = back.stride > 0;
    back.start = forwards ? -1 : 0;
    back.stride = -back.stride;
    return scans.add(steps.slices_taken(i), back, expr::type_of(arg));
  }

  const NodePtr& loop_;
  const Body& body_;
  const ir::LoopPorts& ports_;
  const expr::RegionAssignment regions_;
  const expr::StepSizes sizes_;
};

std::optional<Error> check_ports(const Pull& pull) {
  const ir::LoopPorts& ports = pull.node->loop->ports;
  for (const ir::ScannedPort& port : ports.scanned)
    if (port.part != 1 ||
        !((port.start == 0 && port.stride == 1) || (port.start == -1 && port.stride == -1)))
      return fail(Code::unsupported, "the gradient of a loop over parts of a sequence");
  for (std::size_t i = 0; i < ports.stacked.size(); ++i)
    if (!ports.stacked[i].insert && pull.cotangents[ports.carried + i].defined())
      return fail(Code::unsupported, "the gradient of a loop that concatenates rows");
  return std::nullopt;
}

/// Assembles the reverse loop.
class LoopReverse {
 public:
  LoopReverse(Pull& pull, const StepReverse& step)
      : pull_(pull),
        loop_(pull.node),
        body_(loop_->body),
        ports_(loop_->loop->ports),
        step_(step),
        steps_(loop_) {}

  void build(const ForwardValues& forward) {
    make_body(forward);
    give(expr::make_loop(std::move(spec_)));
  }

 private:
  void add_state(const Expr& initial, const Expr& arg, const Expr& next) {
    spec_.operands.push_back(initial);
    spec_.args.push_back(arg);
    next_.push_back(next);
  }

  void make_body(const ForwardValues& forward) {
    spec_.location = "gradient of " + (loop_->location.empty() ? "a loop" : loop_->location);
    spec_.facts.ports.has_trip_count = true;
    spec_.facts.ports.fixed_sizes = true;
    spec_.facts.ports.reassociates = true;
    spec_.operands = {steps_.count()};
    add_cotangents_of_states();
    add_sums();
    add_rows();
    std::vector<Expr> results = next_;
    results.insert(results.end(), rows_.begin(), rows_.end());
    scan_cotangents();
    forward.find_counterparts(results, steps_, scans_, replaced_);
    spec_.facts.ports.scanned = std::move(scans_.ports);
    spec_.facts.ports.carried = static_cast<std::uint32_t>(next_.size());
    spec_.facts.ports.stacked = stacked_;
    spec_.operands.insert(spec_.operands.end(), scans_.operands.begin(), scans_.operands.end());
    spec_.args.insert(spec_.args.end(), scans_.args.begin(), scans_.args.end());
    spec_.yields = expr::substituted(results, replaced_);
  }

  void add_cotangents_of_states() {
    std::size_t at = 0;
    for (std::size_t i = 0; i < ports_.carried; ++i) {
      if (!step_.has_cotangent(i)) continue;
      const Expr& arg = body_.args[ports_.captured + i];
      const Expr& final = pull_.cotangents[i];
      const Expr next = step_.pulled(arg);
      add_state(final.defined() ? final : zeros_like(Expr(loop_, static_cast<std::uint32_t>(i))),
                step_.cotangents()[at++], next.defined() ? next : zeros_like(arg));
    }
  }

  void add_sums() {
    for (std::size_t i = 0; i < ports_.captured; ++i) {
      const Expr part = step_.pulled(body_.args[i]);
      if (!part.defined()) continue;
      const Expr& outer = loop_->inputs[ports_.first_captured_input() + i];
      const Expr sum = expr::placeholder(expr::type_of(outer));
      sums_.emplace_back(ports_.first_captured_input() + i, next_.size());
      add_state(zeros_like(outer), sum, added(sum, part));
    }
  }

  /// Stacks the cotangents of slices. A slice that keeps its axis is squeezed, and regains the axis
  /// when stacked.
  void add_rows() {
    for (std::size_t i = 0; i < ports_.scanned.size(); ++i) {
      const ir::ScannedPort& port = ports_.scanned[i];
      const Expr part = step_.pulled(body_.args[ports_.captured + ports_.carried + i]);
      if (!part.defined()) continue;
      row_ports_.push_back(i);
      rows_.push_back(port.squeeze ? part : squeeze(part, {port.axis}));
      stacked_.push_back({.axis = port.axis, .reverse = port.stride > 0});
    }
  }

  void scan_cotangents() {
    std::size_t at = 0;
    for (std::size_t i = 0; i < ports_.carried; ++i) at += step_.has_cotangent(i) ? 1 : 0;
    // Stacks that this gradient has added come after those that have cotangents.
    for (std::size_t i = 0; ports_.carried + i < pull_.cotangents.size(); ++i) {
      const Expr& rows = pull_.cotangents[ports_.carried + i];
      if (!rows.defined()) continue;
      const ir::StackedPort& port = ports_.stacked[i];
      const Expr& row = step_.cotangents()[at++];
      const ir::ScannedPort back{
          .axis = port.axis, .start = port.reverse ? 0 : -1, .stride = port.reverse ? 1 : -1};
      replaced_.emplace(expr::key_of(row), scans_.add(rows, back, expr::type_of(row)));
    }
  }

  /// Assigns the results of the reverse loop as cotangents of the operands.
  void give(const std::vector<Expr>& results) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < ports_.carried; ++i) {
      if (!step_.has_cotangent(i)) continue;
      set(ports_.first_carried_input() + i, steps_.of_initial(results[at++]));
    }
    for (const auto& [operand, state] : sums_) set(operand, results[state]);
    for (std::size_t i = 0; i < row_ports_.size(); ++i)
      set(ports_.first_scanned_input() + row_ports_[i],
          steps_.of_sequence(results[next_.size() + i], row_ports_[i]));
  }

  void set(std::size_t operand, const Expr& cotangent) {
    if (pull_.wanted[operand]) pull_.result[operand] = cotangent;
  }

  Pull& pull_;
  const NodePtr& loop_;
  const Body& body_;
  const ir::LoopPorts& ports_;
  const StepReverse& step_;
  const ReverseSteps steps_;

  expr::LoopSpec spec_;
  ReverseScans scans_;
  std::vector<Expr> next_, rows_;
  std::vector<ir::StackedPort> stacked_;
  std::vector<std::pair<std::size_t, std::size_t>> sums_;  ///< operand, state of the reverse loop
  std::vector<std::size_t> row_ports_;
  expr::Replacements replaced_;
};

}  // namespace

void pull_loop(Pull& pull) {
  const auto fail_all = [&](const Error& error) {
    for (Expr& x : pull.result) x = expr::failed(Error(error));
  };
  if (const auto error = check_ports(pull)) return fail_all(*error);
  const ForwardValues forward(pull.node);  // before reversing adds stacks to loops of the step
  StepReverse step(pull);
  if (const auto error = step.run()) return fail_all(*error);
  LoopReverse(pull, step).build(forward);
}

}  // namespace scanloom::autodiff
