// CTCLoss: the negative logarithm of the probability of a sequence of labels, summed over all ways
// to align it with the steps, in a loop over the steps.
#include <limits>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"

namespace scanloom::openvino {

using ir::ValueId;
using tensor::Type;

namespace {

/// The labels of each row, [batch, labels], and how many there are.
struct Labels {
  ValueId values, counts;
};

/// Moves the labels that are kept to the front.
Labels compacted(LayerComposer& c, ValueId values, ValueId kept) {
  const ValueId ones = c.cast(kept, DType::i64), room = c.dim(values, 1);
  const ValueId sums =
      c.op(ops::cumsum_op, {ones, c.number(1)}, {{"exclusive", 1}, {"reverse", 0}});
  // Dropped ones are written to an extra column.
  const ValueId empty = c.expand(c.number(0), c.join({c.dim(values, 0), c.add(room, c.number(1))}));
  const ValueId written = c.op(ops::scatter_elements_op, {empty, c.where(kept, sums, room), values},
                               {{"axis", 1}, {"reduction", "none"}});
  return {c.slice(written, 1, c.number(0), room), c.squeeze(c.reduce(ones, "sum", {1}), {1})};
}

/// Returns x with its last axis moved up by `places`, where `fill` appears.
ValueId shifted(ops::Composer& c, ValueId x, std::int64_t places, ValueId fill) {
  const ValueId added = c.expand(fill, c.join({c.dim(x, 0), c.number(places)}));
  return c.slice(c.concat({added, x}, 1), 1, c.number(0), c.dim(x, 1));
}

Labels labels_of(LayerComposer& c, ValueId given, ValueId lengths, bool unique, bool collapse) {
  const ValueId numbers = c.count_up(c.dim(given, 1));
  const ValueId is_label = c.less(numbers, c.unsqueeze(lengths, {1}));
  // What comes after the last label may be anything.
  if (!unique && !collapse) return {c.where(is_label, given, c.number(0)), lengths};
  ValueId repeats;
  if (unique) {
    const ValueId same = c.equal(c.unsqueeze(given, {2}), c.unsqueeze(given, {1}));
    const ValueId earlier = c.less(numbers, c.unsqueeze(numbers, {1}));
    repeats = c.squeeze(c.reduce(c.cast(c.both(same, earlier), DType::i64), "max", {2}), {2});
    repeats = c.equal(repeats, c.number(1));
  } else {
    repeats =
        c.both(c.equal(given, shifted(c, given, 1, c.number(0))), c.less(c.number(0), numbers));
  }
  return compacted(c, given, c.both(is_label, c.op(ops::logical_not_op, {repeats})));
}

/// log(exp(a) + exp(b) ...), where -inf stands for no way.
ValueId log_sum(ops::Composer& c, const std::vector<ValueId>& terms) {
  const ValueId none = c.like(-std::numeric_limits<double>::infinity(), terms[0]);
  ValueId most = terms[0];
  for (const ValueId term : terms) most = c.max(most, term);
  const ValueId base = c.where(c.equal(most, none), c.like(0, most), most);
  ValueId sum = c.like(0, most);
  for (const ValueId term : terms) sum = c.add(sum, c.exp(c.sub(term, base)));
  return c.add(base, c.log(sum));
}

/// The loop over the steps of emissions [time, batch, states]: it carries the logarithms of the
/// probabilities of all states. Steps at or after the end of a row leave them unchanged.
class Alignment {
 public:
  explicit Alignment(LayerComposer& c) : c_(c) {}

  /// `step` computes the next values from the current ones and a step's emissions; its first two
  /// arguments are those of `captured`.
  template <class Step>
  ValueId last(std::vector<ValueId> captured, ValueId first, const std::vector<ValueId>& sequences,
               ValueId lengths, const Step& step);

 private:
  ir::Module& module() { return c_.builder().module(); }

  LayerComposer& c_;
};

template <class Step>
ValueId Alignment::last(std::vector<ValueId> captured, ValueId first,
                        const std::vector<ValueId>& sequences, ValueId lengths, const Step& step) {
  if (!c_.ok()) return {};
  captured.push_back(lengths);
  std::vector<ValueId> operands = captured;
  operands.push_back(first);
  operands.push_back(c_.number(0));
  operands.insert(operands.end(), sequences.begin(), sequences.end());
  const ir::NodeId loop = module().add_node(c_.builder().region(), ir::loop_op, operands, {}, {},
                                            c_.ctx().site().location);
  const ir::RegionId body = module().add_region(loop, "alignment");
  module().node(loop).regions.push_back(body);
  ir::LoopPorts ports;
  ports.captured = static_cast<int>(captured.size());
  ports.carried = 2;
  ports.scanned.assign(
      sequences.size(),
      ir::ScannedPort{.axis = 0, .start = 0, .stride = 1, .part = 1, .squeeze = true});
  module().node(loop).loop = std::move(ports);
  std::vector<ValueId> in;
  for (const ValueId operand : operands) {
    Type type = module().value(operand).type;
    if (in.size() >= captured.size() + 2) type.dims.erase(type.dims.begin());
    in.push_back(module().add_argument(body, std::move(type)));
  }
  ir::Builder builder(module(), body);
  builder.set_location(c_.ctx().site().location);
  ops::Composer c(builder);
  const std::size_t state = captured.size();
  const ValueId within = c.unsqueeze(c.less(in[state + 1], in[state - 1]), {1});
  const ValueId next = c.where(within, step(c, in), in[state]);
  const ValueId number = c.add(in[state + 1], c.number(1));
  if (auto done = c.done(); !done) {
    c_.refuse(std::move(done).error());
    return {};
  }
  module().region(body).yields = {next, number};
  const ValueId result = module().add_output(loop, module().value(first).type);
  module().add_output(loop, Type::scalar(DType::i64));
  return result;
}

/// The operands: logarithms of probabilities [batch, time, class], i64 lengths and labels.
struct CtcOperands {
  ValueId logs, lengths, blank;
  Labels labels;
};

/// Returns [time, batch, states], for classes [batch, states].
ValueId emissions(LayerComposer& c, const CtcOperands& ctc, ValueId classes) {
  const ValueId shape = c.join({c.dim(ctc.logs, 0), c.dim(ctc.logs, 1), c.dim(classes, 1)});
  const ValueId at = c.expand(c.unsqueeze(classes, {1}), shape);
  return c.transpose(c.op(ops::gather_elements_op, {ctc.logs, at}, {{"axis", 2}}), {1, 0, 2});
}

/// Returns [batch, states], 0 in the first state and -inf in the others.
ValueId first_state(LayerComposer& c, const CtcOperands& ctc, ValueId states) {
  const ValueId row = c.where(c.equal(c.count_up(states), c.number(0)), c.like(0, ctc.logs),
                              c.like(-std::numeric_limits<double>::infinity(), ctc.logs));
  return c.expand(row, c.join({c.dim(ctc.logs, 0), states}));
}

ValueId state_at(LayerComposer& c, ValueId states, ValueId at) {
  return c.squeeze(c.op(ops::gather_elements_op, {states, c.unsqueeze(at, {1})}, {{"axis", 1}}),
                   {1});
}

/// A label may last for several steps; between equal ones there is a blank. State 2 k is the blank
/// before label k, state 2 k + 1 the label. Before the first step only a state before all others
/// is possible, so that the first step enters the first blank or the first label.
ValueId merged_ways(LayerComposer& c, const CtcOperands& ctc) {
  const ValueId labels = ctc.labels.values, count = c.dim(labels, 1), batch = c.dim(labels, 0);
  const ValueId blanks = c.expand(ctc.blank, c.shape(labels));
  const ValueId pairs = c.concat({c.unsqueeze(blanks, {2}), c.unsqueeze(labels, {2})}, 2);
  const ValueId flat = c.reshape(pairs, c.join({batch, c.mul(count, c.number(2))}));
  const ValueId one = c.expand(ctc.blank, c.join({batch, c.number(1)}));
  // The state before all others stands for a blank that has ended.
  const ValueId states = c.concat({one, flat, one}, 1);
  const ValueId numbers = c.count_up(c.dim(states, 1));
  const ValueId is_label = c.equal(c.mod(numbers, c.number(2)), c.number(0));
  const ValueId differs =
      c.op(ops::logical_not_op, {c.equal(states, shifted(c, states, 2, ctc.blank))});
  const ValueId skips = c.both(c.both(is_label, c.less(c.number(1), numbers)),
                               c.op(ops::logical_or_op, {differs, c.equal(numbers, c.number(2))}));
  const ValueId stays = c.less(c.number(0), numbers);
  const ValueId end = Alignment(c).last(
      {skips, stays}, first_state(c, ctc, c.dim(states, 1)), {emissions(c, ctc, states)},
      ctc.lengths, [](ops::Composer& in, const std::vector<ValueId>& arguments) {
        const ValueId now = arguments[3];
        const ValueId none = in.like(-std::numeric_limits<double>::infinity(), now);
        const ValueId two = in.where(arguments[0], shifted(in, now, 2, none), none);
        const ValueId same = in.where(arguments[1], now, none);
        return in.add(log_sum(in, {same, shifted(in, now, 1, none), two}), arguments[5]);
      });
  const ValueId last = c.mul(ctc.labels.counts, c.number(2));
  // Without steps only the state before all others is possible; without labels, one blank.
  const ValueId none = c.like(-std::numeric_limits<double>::infinity(), ctc.logs);
  const ValueId label = c.where(c.less(c.number(0), last), state_at(c, end, last), none);
  return log_sum(c, {label, state_at(c, end, c.add(last, c.number(1)))});
}

/// A label lasts for one step. State k: k labels have been emitted.
ValueId single_ways(LayerComposer& c, const CtcOperands& ctc) {
  const ValueId labels = ctc.labels.values;
  const ValueId one = c.expand(ctc.blank, c.join({c.dim(labels, 0), c.number(1)}));
  const ValueId states = c.concat({one, labels}, 1);
  const ValueId end = Alignment(c).last(
      {}, first_state(c, ctc, c.dim(states, 1)),
      {emissions(c, ctc, states), emissions(c, ctc, one)}, ctc.lengths,
      [](ops::Composer& in, const std::vector<ValueId>& arguments) {
        const ValueId now = arguments[1];
        const ValueId none = in.like(-std::numeric_limits<double>::infinity(), now);
        return log_sum(
            in, {in.add(now, arguments[4]), in.add(shifted(in, now, 1, none), arguments[3])});
      });
  return state_at(c, end, ctc.labels.counts);
}

}  // namespace

Expected<void> convert_ctc_loss(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId scores = c.wide_in(0);
  c.rank(0, scores, 3);
  const auto index = [&](int i) { return c.cast(c.in(i), DType::i64); };
  CtcOperands ctc;
  ctc.logs = c.op(ops::log_softmax_op, {scores}, {{"axis", 2}});
  ctc.lengths = index(1);
  ctc.blank = ctx.has(4) ? c.reshape(index(4), c.list({})) : c.sub(c.dim(scores, 2), c.number(1));
  const bool unique = c.flag("unique", false);
  const bool collapse = c.flag("preprocess_collapse_repeated", false);
  ctc.labels = labels_of(c, index(2), index(3), unique, collapse);
  const ValueId ways =
      c.flag("ctc_merge_repeated", true) ? merged_ways(c, ctc) : single_ways(c, ctc);
  return c.emit(c.cast(c.neg(ways), c.dtype(c.in(0))));
}

}  // namespace scanloom::openvino
