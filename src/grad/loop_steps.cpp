#include "grad/loop_steps.h"

#include "expr/apply.h"
#include "expr/loop.h"
#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

bool is_size_of(const Expr& x, const Expr& rows, std::int64_t axis) {
  const expr::Node& node = *x.node();
  return node.op == &ops::dim_op && node.inputs[0] == rows && node.attrs[0].integer() == axis;
}

}  // namespace

ReverseSteps::ReverseSteps(const expr::NodePtr& loop)
    : loop_(loop),
      ports_(loop->loop->ports),
      all_steps_(expr::steps_of(loop)),
      steps_(all_steps_),
      truncated_(loop->loop->truncate_gradient >= 0) {
  if (truncated_) steps_ = minimum(all_steps_, expr::integer(loop->loop->truncate_gradient));
}

Expr ReverseSteps::of_initial(const Expr& cotangent) const {
  if (!truncated_) return cotangent;
  // Steps before the last ones contribute nothing, and neither does the initial state.
  return where(steps_ < all_steps_, number(0, cotangent.dtype()), cotangent);
}

const Expr& ReverseSteps::sequence(std::size_t i) const {
  return loop_->inputs[ports_.first_scanned_input() + i];
}

Expr ReverseSteps::slices_taken(std::size_t i) const {
  const Expr& rows = sequence(i);
  const ir::ScannedPort& port = ports_.scanned[i];
  if (takes_all(i)) return rows;
  std::vector<Index> items(static_cast<std::size_t>(port.axis), Index::all());
  const auto axis = static_cast<int>(port.axis);
  items.push_back(port.stride > 0 ? Index::slice({}, all_steps_)
                                  : Index::slice(size(rows, axis) - all_steps_, {}));
  return subtensor(rows, items);
}

/// Whether steps certainly take all slices of the sequence.
bool ReverseSteps::takes_all(std::size_t i) const {
  const Expr& rows = sequence(i);
  const std::int64_t axis = ports_.scanned[i].axis;
  const Expr count = size(rows, static_cast<int>(axis));
  if (ports_.has_keep_going) return false;
  if (!ports_.has_trip_count) return true;  // without a trip count, sequences agree
  const Expr& trip = loop_->inputs[0];
  const auto a = expr::constant_integers(count), b = expr::constant_integers(trip);
  if (a && b) return *a == *b;
  return is_size_of(trip, rows, axis);
}

/// Adds zeros for the slices that no step took, or that the gradient does not reach.
Expr ReverseSteps::of_sequence(const Expr& reached, std::size_t i) const {
  const Expr rows = sized_as_sequence(reached, i);
  const ir::ScannedPort& port = ports_.scanned[i];
  const Expr& all = sequence(i);
  if (rows.error() != nullptr) return rows;
  const auto axis = static_cast<int>(port.axis);
  if (!truncated_ && takes_all(i)) return rows;
  const Expr missed = size(all, axis) - all_steps_, early = all_steps_ - steps_;
  const bool forwards = port.stride > 0;
  std::vector<Expr> pads(2 * static_cast<std::size_t>(all.rank()), expr::integer(0));
  pads[static_cast<std::size_t>(axis)] = forwards ? early : missed;
  pads[static_cast<std::size_t>(all.rank() + axis)] = forwards ? missed : early;
  Expr padded = expr::apply(ops::pad_op, {rows, shape_of(pads)}, {{"mode", "constant"}});
  if (padded.error() == nullptr) padded.node()->outputs[0] = expr::type_of(all);
  return padded;
}

/// Gives the rows the sizes of the sequence's: if no step is taken, nothing else determines the
/// sizes of the results of some operators.
Expr ReverseSteps::sized_as_sequence(const Expr& rows, std::size_t i) const {
  if (rows.error() != nullptr) return rows;
  const auto axis = static_cast<std::size_t>(ports_.scanned[i].axis);
  const expr::StaticType& known = expr::type_of(rows);
  bool is_known = true;
  std::vector<Expr> sizes;
  for (std::size_t d = 0; d < known.sizes.size(); ++d) {
    is_known = is_known && (d == axis || known.sizes[d] >= 0);
    sizes.push_back(size(d == axis ? rows : sequence(i), static_cast<int>(d)));
  }
  return is_known ? rows : reshape(rows, std::move(sizes));
}

}  // namespace scanloom::autodiff
