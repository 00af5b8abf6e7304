// CTCGreedyDecoder and CTCGreedyDecoderSeqLen: the best class of every step, without blanks and, if
// merging, without repetitions of the previous step.
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

struct Decoded {
  ValueId classes;  // i64 [batch, steps], -1 after the last one
  ValueId counts;   // i64 [batch]
};

/// Scores are [batch, steps, classes]; lengths [batch] and blank are i64.
Decoded decode(ops::Composer& c, ValueId scores, ValueId lengths, ValueId blank, bool merges) {
  const ValueId best =
      c.op(ops::argmax_op, {scores}, {{"axis", 2}, {"keepdims", 0}, {"select_last_index", 0}});
  const ValueId steps = c.dim(best, 1), none = c.number(-1);
  const ValueId is_step = c.less(c.count_up(steps), c.unsqueeze(lengths, {1}));
  const ValueId is_blank = c.equal(best, blank);
  ValueId kept = c.both(is_step, c.op(ops::logical_not_op, {is_blank}));
  if (merges) {
    const ValueId first = c.expand(none, c.join({c.dim(best, 0), c.number(1)}));
    const ValueId before = c.slice(c.concat({first, best}, 1), 1, c.number(0), steps);
    kept = c.both(kept, c.op(ops::logical_not_op, {c.equal(best, before)}));
  }
  const ValueId ones = c.cast(kept, DType::i64);
  const ValueId sums =
      c.op(ops::cumsum_op, {ones, c.number(1)}, {{"exclusive", 1}, {"reverse", 0}});
  // Dropped classes are written to an extra column after the result.
  const ValueId positions = c.where(kept, sums, steps);
  const ValueId room = c.expand(none, c.join({c.dim(best, 0), c.add(steps, c.number(1))}));
  const ValueId written =
      c.op(ops::scatter_elements_op, {room, positions, best}, {{"axis", 1}, {"reduction", "none"}});
  return {c.slice(written, 1, c.number(0), steps), c.squeeze(c.reduce(ones, "sum", {1}), {1})};
}

}  // namespace

// Scores are [steps, batch, classes], and the last class is the blank. The mask gives the number of
// steps of each row. The result has the scores' type.
Expected<void> convert_ctc_greedy_decoder(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId scores = c.transpose(c.in(0), {1, 0, 2}), mask = c.in(1);
  const bool merges = c.flag("ctc_merge_repeated", true);
  const ValueId is_on =
      c.cast(c.op(ops::logical_not_op, {c.equal(mask, c.like(0, mask))}), DType::i64);
  const ValueId lengths = c.squeeze(c.reduce(is_on, "sum", {0}), {0});
  const ValueId blank = c.sub(c.dim(scores, 2), c.number(1));
  const Decoded decoded = decode(c, scores, lengths, blank, merges);
  return c.emit(c.unsqueeze(c.cast(decoded.classes, c.dtype(scores)), {2, 3}));
}

Expected<void> convert_ctc_greedy_decoder_seq_len(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId scores = c.in(0), lengths = c.cast(c.in(1), DType::i64);
  const bool merges = c.flag("merge_repeated", true);
  const DType of_classes = c.take(ctx.attributes.dtype("classes_index_type", DType::i32));
  const DType of_lengths = c.take(ctx.attributes.dtype("sequence_length_type", DType::i32));
  const ValueId blank = ctx.has(2) ? c.reshape(c.cast(c.in(2), DType::i64), c.list({}))
                                   : c.sub(c.dim(scores, 2), c.number(1));
  const Decoded decoded = decode(c, scores, lengths, blank, merges);
  const ValueId classes = c.cast(decoded.classes, of_classes);
  const ValueId counts = c.cast(decoded.counts, of_lengths);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, classes);
  ctx.set_output(1, counts);
  return {};
}

}  // namespace scanloom::openvino
