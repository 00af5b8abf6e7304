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
#include <map>

#include "expr/apply.h"
#include "expr/loop.h"
#include "expr/region_assignment.h"
#include "expr/step_sizes.h"
#include "expr/substitute.h"
#include "grad/reverse.h"
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

class LoopReverse {
 public:
  explicit LoopReverse(Pull& pull)
      : pull_(pull),
        loop_(pull.node),
        body_(loop_->body),
        ports_(loop_->loop->ports),
        regions_(body_.yields, [](const Node&) { return true; }),
        sizes_(body_, ports_) {}

  void build() {
    if (const auto error = check()) return fail_all(*error);
    find_states();
    if (auto error = pull_step()) return fail_all(*error);
    count_steps();
    make_body();
    give(expr::make_loop(std::move(spec_)));
  }

 private:
  [[nodiscard]] std::optional<Error> check() const {
    for (const ir::ScannedPort& port : ports_.scanned)
      if (port.part != 1 ||
          !((port.start == 0 && port.stride == 1) || (port.start == -1 && port.stride == -1)))
        return fail(Code::unsupported, "the gradient of a loop over parts of a sequence");
    for (std::size_t i = 0; i < ports_.stacked.size(); ++i)
      if (!ports_.stacked[i].insert && pull_.cotangents[ports_.carried + i].defined())
        return fail(Code::unsupported, "the gradient of a loop that concatenates rows");
    return std::nullopt;
  }

  void fail_all(const Error& error) {
    for (Expr& x : pull_.result) x = expr::failed(Error(error));
  }

  [[nodiscard]] const Expr& arg_of_state(std::size_t i) const {
    return body_.args[ports_.captured + i];
  }
  [[nodiscard]] const Expr& next_of_state(std::size_t i) const {
    return body_.yields[ports_.first_carried_yield() + i];
  }
  [[nodiscard]] std::size_t operand_of_arg(std::size_t i) const {
    return ports_.first_captured_input() + i;
  }

  /// Finds arguments that change with `wrt` and states that have a cotangent: by a fixpoint, since
  /// a state may be read by any other one a step later.
  void find_states() {
    for (std::size_t i = 0; i < body_.args.size(); ++i)
      if (pull_.wanted[operand_of_arg(i)]) active_.push_back(body_.args[i]);
    const Reads reads = results_read(*loop_);
    for (std::uint32_t i = 0; i < ports_.carried; ++i) {
      bool reads_wanted = false;
      for (std::size_t arg = 0; arg < body_.args.size(); ++arg)
        reads_wanted |= reads.contains(i, arg) && pull_.wanted[operand_of_arg(arg)];
      if (reads_wanted && !is_active(arg_of_state(i))) active_.push_back(arg_of_state(i));
    }
    has_cotangent_.assign(ports_.carried, false);
    for (std::size_t i = 0; i < ports_.carried; ++i)
      has_cotangent_[i] = is_active(arg_of_state(i)) && pull_.cotangents[i].defined();
    for (bool grown = true; grown;) {
      grown = false;
      const Activity activity(roots(), active_);
      std::set<expr::ExprKey> read;
      for (const Expr& x : roots()) read.insert(expr::key_of(x));
      for (const Node* node : activity.nodes())
        for (const Expr& x : node->inputs)
          if (x.defined()) read.insert(expr::key_of(x));
      for (std::size_t i = 0; i < ports_.carried; ++i)
        if (!has_cotangent_[i] && is_active(arg_of_state(i)) &&
            read.contains(expr::key_of(arg_of_state(i)))) {
          has_cotangent_[i] = true;
          grown = true;
        }
    }
  }

  [[nodiscard]] bool is_active(const Expr& arg) const {
    return std::ranges::find(active_, arg) != active_.end();
  }

  /// Returns the yields of the step that have cotangents: next states and rows.
  [[nodiscard]] std::vector<Expr> roots() const {
    std::vector<Expr> all;
    for (std::size_t i = 0; i < ports_.carried; ++i)
      if (has_cotangent_[i]) all.push_back(next_of_state(i));
    for (std::size_t i = 0; i < ports_.stacked.size(); ++i)
      if (pull_.cotangents[ports_.carried + i].defined())
        all.push_back(body_.yields[ports_.first_stacked_yield() + i]);
    return all;
  }

  /// Reverses the step itself, over the values of the forward step.
  std::optional<Error> pull_step() {
    const std::vector<Expr> outputs = roots();
    std::vector<Expr> cotangents;
    for (const Expr& x : outputs) cotangents.push_back(expr::placeholder(expr::type_of(x)));
    cotangents_ = cotangents;
    auto pulled = pulled_back(outputs, cotangents, active_);
    if (!pulled) return std::move(pulled).error();
    for (std::size_t i = 0; i < active_.size(); ++i)
      pulled_.emplace(expr::key_of(active_[i]), (*pulled)[i]);
    return std::nullopt;
  }

  [[nodiscard]] Expr pulled(const Expr& arg) const {
    const auto found = pulled_.find(expr::key_of(arg));
    return found == pulled_.end() ? Expr() : found->second;
  }

  void count_steps() {
    all_steps_ = expr::steps_of(loop_);
    steps_ = all_steps_;
    const std::int64_t limit = loop_->loop->truncate_gradient;
    truncated_ = limit >= 0;
    if (truncated_) steps_ = minimum(all_steps_, expr::integer(limit));
  }

  /// Scans rows of which each step made one, from the last step to the first.
  Expr scan_rows(const Expr& rows, ir::ScannedPort port, expr::StaticType row) {
    spec_.facts.ports.scanned.push_back(port);
    scanned_operands_.push_back(rows);
    scanned_args_.push_back(expr::placeholder(std::move(row)));
    return scanned_args_.back();
  }

  /// Scans the forward loop's sequence, starting at the last step's slice.
  Expr scan_sequence(std::size_t i) {
    const ir::ScannedPort& port = ports_.scanned[i];
    const Expr& rows = loop_->inputs[ports_.first_scanned_input() + i];
    const Expr& arg = body_.args[ports_.captured + ports_.carried + i];
    ir::ScannedPort back = port;
    const bool forwards = port.stride > 0;
    back.start = forwards ? -1 : 0;
    back.stride = -port.stride;
    return scan_rows(first_steps(rows, port), back, expr::type_of(arg));
  }

  /// Returns as many slices of a sequence as there were steps; the sequence itself if those are
  /// all.
  Expr first_steps(const Expr& rows, const ir::ScannedPort& port) const {
    if (walks_all(rows, port)) return rows;
    std::vector<Index> items(static_cast<std::size_t>(port.axis), Index::all());
    const auto axis = static_cast<int>(port.axis);
    items.push_back(port.stride > 0 ? Index::slice({}, all_steps_)
                                    : Index::slice(size(rows, axis) - all_steps_, {}));
    return subtensor(rows, items);
  }

  [[nodiscard]] bool walks_all(const Expr& rows, const ir::ScannedPort& port) const {
    const Expr count = size(rows, static_cast<int>(port.axis));
    if (ports_.has_keep_going) return false;
    if (!ports_.has_trip_count) return true;  // without a trip count, sequences agree
    const Expr& trip = loop_->inputs[0];
    const auto a = expr::constant_integers(count), b = expr::constant_integers(trip);
    if (a && b) return *a == *b;
    return is_size_of(trip, rows, port.axis);
  }

  static bool is_size_of(const Expr& x, const Expr& rows, std::int64_t axis) {
    const Node& node = *x.node();
    return node.op == &ops::dim_op && node.inputs[0] == rows && node.attrs[0].integer() == axis;
  }

  /// Returns the counterpart, in the reverse step, of a value of the forward step; undefined: it is
  /// computed again.
  Expr stand_in(const Expr& x) {
    for (std::size_t i = 0; i < body_.args.size(); ++i) {
      if (!(body_.args[i] == x)) continue;
      if (i < ports_.captured) return loop_->inputs[operand_of_arg(i)];
      if (i >= ports_.captured + ports_.carried)
        return scan_sequence(i - ports_.captured - ports_.carried);
      return scan_rows(expr::stacked_in(loop_, x), {.start = -1, .stride = -1}, expr::type_of(x));
    }
    if (loop_->loop->recompute || x.node()->inputs.empty() || is_cheap(*x.node())) return {};
    // Only one region of a branch has the value, in both loops; or its size depends on the step.
    if (!regions_.is_always(*x.node()) || sizes_.vary(x)) return {};
    return scan_rows(expr::stacked_in(loop_, x), {.start = -1, .stride = -1}, expr::type_of(x));
  }

  /// Finds which values of the forward step the results read, and their counterparts.
  void cut(const std::vector<Expr>& results) {
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
        if (const Expr other = stand_in(x); other.defined()) {
          replaced_.emplace(expr::key_of(x), other);
          continue;
        }
      open.insert(open.end(), x.node()->inputs.begin(), x.node()->inputs.end());
    }
  }

  void add_state(const Expr& initial, const Expr& arg, const Expr& next) {
    spec_.operands.push_back(initial);
    spec_.args.push_back(arg);
    next_.push_back(next);
  }

  void make_body() {
    spec_.location = "gradient of " + (loop_->location.empty() ? "a loop" : loop_->location);
    spec_.facts.ports.has_trip_count = true;
    spec_.facts.ports.fixed_sizes = true;
    spec_.facts.ports.reassociates = true;
    spec_.operands = {steps_};
    add_cotangents_of_states();
    add_sums();
    add_rows();
    std::vector<Expr> results = next_;
    results.insert(results.end(), rows_.begin(), rows_.end());
    scan_cotangents();
    cut(results);
    spec_.facts.ports.carried = static_cast<std::uint32_t>(next_.size());
    spec_.facts.ports.stacked = stacked_;
    spec_.operands.insert(spec_.operands.end(), scanned_operands_.begin(), scanned_operands_.end());
    spec_.args.insert(spec_.args.end(), scanned_args_.begin(), scanned_args_.end());
    spec_.yields = expr::substituted(results, replaced_);
  }

  void add_cotangents_of_states() {
    std::size_t at = 0;
    for (std::size_t i = 0; i < ports_.carried; ++i) {
      if (!has_cotangent_[i]) continue;
      const Expr& arg = arg_of_state(i);
      const Expr& final = pull_.cotangents[i];
      const Expr next = pulled(arg);
      add_state(final.defined() ? final : zeros_like(Expr(loop_, static_cast<std::uint32_t>(i))),
                cotangents_[at++], next.defined() ? next : zeros_like(arg));
    }
  }

  void add_sums() {
    for (std::size_t i = 0; i < ports_.captured; ++i) {
      const Expr part = pulled(body_.args[i]);
      if (!part.defined()) continue;
      const Expr& outer = loop_->inputs[operand_of_arg(i)];
      const Expr sum = expr::placeholder(expr::type_of(outer));
      sums_.emplace_back(operand_of_arg(i), next_.size());
      add_state(zeros_like(outer), sum, added(sum, part));
    }
  }

  /// Stacks the cotangents of slices. A slice that keeps its axis is squeezed, and regains the axis
  /// when stacked.
  void add_rows() {
    for (std::size_t i = 0; i < ports_.scanned.size(); ++i) {
      const ir::ScannedPort& port = ports_.scanned[i];
      const Expr part = pulled(body_.args[ports_.captured + ports_.carried + i]);
      if (!part.defined()) continue;
      row_ports_.push_back(i);
      rows_.push_back(port.squeeze ? part : squeeze(part, {port.axis}));
      stacked_.push_back({.axis = port.axis, .reverse = port.stride > 0});
    }
  }

  void scan_cotangents() {
    std::size_t at = 0;
    for (std::size_t i = 0; i < ports_.carried; ++i) at += has_cotangent_[i] ? 1 : 0;
    // Stacks that this gradient has added come after those that have cotangents.
    for (std::size_t i = 0; ports_.carried + i < pull_.cotangents.size(); ++i) {
      const Expr& rows = pull_.cotangents[ports_.carried + i];
      if (!rows.defined()) continue;
      const ir::StackedPort& port = ports_.stacked[i];
      const Expr& row = cotangents_[at++];
      const ir::ScannedPort back{
          .axis = port.axis, .start = port.reverse ? 0 : -1, .stride = port.reverse ? 1 : -1};
      replaced_.emplace(expr::key_of(row), scan_rows(rows, back, expr::type_of(row)));
    }
  }

  /// Assigns the results of the reverse loop as cotangents of the operands.
  void give(const std::vector<Expr>& results) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < ports_.carried; ++i) {
      if (!has_cotangent_[i]) continue;
      Expr initial = results[at++];
      if (truncated_) {
        // Steps before the last ones contribute nothing, and neither does the initial state.
        initial = where(steps_ < all_steps_, number(0, initial.dtype()), initial);
      }
      set(ports_.first_carried_input() + i, initial);
    }
    for (const auto& [operand, state] : sums_) set(operand, results[state]);
    for (std::size_t i = 0; i < row_ports_.size(); ++i)
      set(ports_.first_scanned_input() + row_ports_[i],
          whole_sequence(sized_as_sequence(results[next_.size() + i], row_ports_[i]),
                         row_ports_[i]));
  }

  void set(std::size_t operand, const Expr& cotangent) {
    if (pull_.wanted[operand]) pull_.result[operand] = cotangent;
  }

  /// Gives the rows the sizes of the sequence's: if no step is taken, nothing else determines the
  /// sizes of the results of some operators.
  Expr sized_as_sequence(const Expr& rows, std::size_t i) const {
    if (rows.error() != nullptr) return rows;
    const Expr& sequence = loop_->inputs[ports_.first_scanned_input() + i];
    const auto axis = static_cast<std::size_t>(ports_.scanned[i].axis);
    const expr::StaticType& known = expr::type_of(rows);
    bool is_known = true;
    std::vector<Expr> sizes;
    for (std::size_t d = 0; d < known.sizes.size(); ++d) {
      is_known = is_known && (d == axis || known.sizes[d] >= 0);
      sizes.push_back(size(d == axis ? rows : sequence, static_cast<int>(d)));
    }
    return is_known ? rows : reshape(rows, std::move(sizes));
  }

  /// Adds zeros for the slices that no step took, or that the gradient does not reach.
  Expr whole_sequence(const Expr& rows, std::size_t i) const {
    const ir::ScannedPort& port = ports_.scanned[i];
    const Expr& sequence = loop_->inputs[ports_.first_scanned_input() + i];
    if (rows.error() != nullptr) return rows;
    const auto axis = static_cast<int>(port.axis);
    if (!truncated_ && walks_all(sequence, port)) return rows;
    const Expr missed = size(sequence, axis) - all_steps_, early = all_steps_ - steps_;
    const bool forwards = port.stride > 0;
    std::vector<Expr> pads(2 * static_cast<std::size_t>(sequence.rank()), expr::integer(0));
    pads[static_cast<std::size_t>(axis)] = forwards ? early : missed;
    pads[static_cast<std::size_t>(sequence.rank() + axis)] = forwards ? missed : early;
    Expr padded = expr::apply(ops::pad_op, {rows, shape_of(pads)}, {{"mode", "constant"}});
    if (padded.error() == nullptr) padded.node()->outputs[0] = expr::type_of(sequence);
    return padded;
  }

  Pull& pull_;
  const NodePtr& loop_;
  const Body& body_;
  const ir::LoopPorts& ports_;
  const expr::RegionAssignment regions_;  ///< of the forward step
  const expr::StepSizes sizes_;           ///< of the forward step

  std::vector<Expr> active_;         ///< arguments of the forward body
  std::vector<bool> has_cotangent_;  ///< by state
  std::vector<Expr> cotangents_;     ///< placeholders: of states, then of rows
  std::map<expr::ExprKey, Expr> pulled_;
  Expr all_steps_, steps_;
  bool truncated_ = false;

  expr::LoopSpec spec_;
  std::vector<Expr> scanned_operands_, scanned_args_, next_, rows_;
  std::vector<ir::StackedPort> stacked_;
  std::vector<std::pair<std::size_t, std::size_t>> sums_;  ///< operand, state of the reverse loop
  std::vector<std::size_t> row_ports_;
  expr::Replacements replaced_;
};

}  // namespace

void pull_loop(Pull& pull) { LoopReverse(pull).build(); }

}  // namespace scanloom::autodiff
