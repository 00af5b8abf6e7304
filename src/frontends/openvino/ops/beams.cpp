// GatherTree: traces the sequences of a beam search in a loop backwards over time.
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"

namespace scanloom::openvino {

using ir::ValueId;
using tensor::Type;

namespace {

/// A loop over the steps of both [time, batch, beam] operands, starting from the last one. It
/// carries the current beam of each sequence. Steps after the end of a sequence leave that
/// unchanged and stack end tokens.
class Backtrace {
 public:
  explicit Backtrace(LayerComposer& c) : c_(c) {}

  /// `lengths` is [batch, 1], `end` a scalar.
  ValueId made(ValueId tokens, ValueId parents, ValueId lengths, ValueId end);

 private:
  ir::Module& module() { return c_.builder().module(); }

  LayerComposer& c_;
};

ValueId Backtrace::made(ValueId tokens, ValueId parents, ValueId lengths, ValueId end) {
  const ValueId beams = c_.dim(tokens, 2), last = c_.sub(c_.dim(tokens, 0), c_.number(1));
  const ValueId own = c_.expand(c_.count_up(beams), c_.shape(tokens, 1));
  if (!c_.ok()) return {};
  const std::vector<ValueId> operands = {lengths, end, own, last, tokens, parents};
  const ir::NodeId loop = module().add_node(c_.builder().region(), ir::loop_op, operands, {}, {},
                                            c_.ctx().site().location);
  const ir::RegionId body = module().add_region(loop, "backtrace");
  module().node(loop).regions.push_back(body);
  ir::LoopPorts ports;
  ports.captured = 2;
  ports.carried = 2;
  ports.scanned.assign(2, ir::ScannedPort{0, -1, -1, 1, true});
  ports.stacked.push_back({.reverse = true});
  module().node(loop).loop = std::move(ports);
  std::vector<ValueId> in;
  for (const ValueId operand : operands) {
    Type type = module().value(operand).type;
    if (in.size() >= 4) type.dims.erase(type.dims.begin());
    in.push_back(module().add_argument(body, std::move(type)));
  }
  ir::Builder builder(module(), body);
  builder.set_location(c_.ctx().site().location);
  ops::Composer c(builder);
  const auto picked = [&](ValueId row) {
    return c.op(ops::gather_elements_op, {row, in[2]}, {{"axis", 1}});
  };
  const ValueId within = c.less(in[3], in[0]);
  const ValueId row = c.where(within, picked(in[4]), in[1]);
  const ValueId next = c.where(within, c.cast(picked(in[5]), DType::i64), in[2]);
  const ValueId before = c.sub(in[3], c.number(1));
  if (auto done = c.done(); !done) {
    c_.refuse(std::move(done).error());
    return {};
  }
  module().region(body).yields = {next, before, row};
  module().add_output(loop, module().value(own).type);
  module().add_output(loop, Type::scalar(DType::i64));
  return module().add_output(loop, module().value(tokens).type);
}

}  // namespace

// All tokens after the first end token become end tokens.
Expected<void> convert_gather_tree(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId tokens = c.in(0), parents = c.in(1);
  for (int i = 0; i < 2; ++i)
    if (const int rank = c.rank(i, c.in(i)); c.ok() && rank != 3)
      return invalid_model("input {} has {} axes, but 3 are needed: time, batch and beam", i, rank);
  const ValueId lengths = c.unsqueeze(c.cast(c.in(2), DType::i64), {1});
  const ValueId end = c.reshape(c.in(3), c.list({}));
  const ValueId y = Backtrace(c).made(tokens, parents, lengths, end);
  const ValueId ends = c.cast(c.equal(y, end), DType::i64);
  const ValueId before =
      c.op(ops::cumsum_op, {ends, c.number(0)}, {{"exclusive", 1}, {"reverse", 0}});
  return c.emit(c.where(c.less(c.number(0), before), end, y));
}

}  // namespace scanloom::openvino
