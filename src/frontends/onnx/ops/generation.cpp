#include "frontends/onnx/ops/generation.h"

#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Type;

namespace {

constexpr std::size_t kFirstState = 3;  // after tokens, positions and mask
constexpr std::int64_t kMaxRepeat = 64;

ValueId boolean(Composer& c, bool value) {
  return c.builder().constant(tensor::Tensor::scalar<bool>(value));
}

/// Returns the states before the first step, which have no positions: [2, sequences, heads, 0,
/// size]. Their sizes are those that the decoder declares.
Expected<std::vector<ValueId>> empty_states(Composer& c, const Body& decoder, ValueId sequences) {
  std::vector<ValueId> states;
  for (std::size_t i = kFirstState; i < decoder.input_count(); ++i) {
    SCANLOOM_TRY(const auto declared, decoder.declared_input(c.ctx(), i));
    const auto fixed = [&](std::size_t axis) { return declared->dims[axis].is_constant(); };
    if (!declared || !declared->ranked || declared->rank() != 5 || !fixed(2) || !fixed(4))
      return fail(Code::unsupported,
                  "{} must declare 5 axes, with the numbers of heads and of elements of a head",
                  decoder.describe_input(i));
    if (!is_floating_point(declared->dtype))
      return invalid_model("{} has elements of type {}", decoder.describe_input(i),
                           dtype_onnx_name(declared->dtype));
    const ValueId shape = c.join({c.number(2), sequences, c.number(declared->dims[2].value()),
                                  c.number(0), c.number(declared->dims[4].value())});
    states.push_back(c.expand(c.scalar(0, declared->dtype), shape));
  }
  SCANLOOM_CHECK_OK(c.done());
  return states;
}

/// The finishing of a node whose decoder has been read.
class OpenGeneration : public OpenNode {
 public:
  Expected<void> finish(NodeCtx& ctx, std::vector<BodyResult> results) override;

  Generation generation;
  ir::NodeId loop;
  std::size_t states = 0;
  // Arguments of the body.
  std::vector<ValueId> captured, carried;
  ValueId first, sequences, mask, next;

 private:
  Expected<std::vector<ValueId>> yields_of(NodeCtx& ctx, BodyResult& body,
                                           std::size_t& stacked) const;
};

/// Returns the yields: the condition, the decoder's next inputs, and the state of the generation.
Expected<std::vector<ValueId>> OpenGeneration::yields_of(NodeCtx& ctx, BodyResult& body,
                                                         std::size_t& stacked) const {
  body.builder->set_location(ctx.site().location);
  Composer c(ctx, *body.builder);
  const ValueId logits = body.value(0);
  if (const int rank = ctx.type(logits).ranked ? ctx.type(logits).rank() : -1; rank != 3)
    return invalid_model("body output 0, the logits, must have 3 axes");
  const GenerationChoice choice = generation.choose(c, {.captured = captured,
                                                        .first = first,
                                                        .logits = logits,
                                                        .sequences = sequences,
                                                        .carried = carried});
  const ValueId token = c.unsqueeze(c.cast(choice.tokens, DType::i32), {1});
  const auto moved = [&](ValueId x, std::int64_t axis) {
    return choice.origin.valid() ? c.gather(x, choice.origin, axis) : x;
  };
  std::vector<ValueId> yields = {choice.goes_on, token, next};
  const ValueId one = c.scalar(1, DType::i32);
  yields.push_back(c.concat({mask, c.add(c.mul(token, c.scalar(0, DType::i32)), one)}, 1));
  for (std::size_t i = 0; i < states; ++i) yields.push_back(moved(body.value(1 + i), 1));
  yields.push_back(c.concat({moved(sequences, 0), token}, 1));
  yields.push_back(c.add(next, one));
  yields.push_back(boolean(c, false));
  yields.insert(yields.end(), choice.carried.begin(), choice.carried.end());
  yields.insert(yields.end(), choice.stacked.begin(), choice.stacked.end());
  stacked = choice.stacked.size();
  SCANLOOM_CHECK_OK(c.done());
  return yields;
}

Expected<void> OpenGeneration::finish(NodeCtx& ctx, std::vector<BodyResult> results) {
  ir::Module& module = ctx.module();
  std::size_t stacked = 0;
  SCANLOOM_TRY(std::vector<ValueId> yields, yields_of(ctx, results[0], stacked));
  std::vector<ValueId> outputs;
  const std::size_t kept = yields.size() - 1 - stacked;
  for (std::size_t i = 0; i < kept; ++i) {
    const std::size_t input = module.node(loop).loop->first_carried_input() + i;
    const Type initial = ctx.type(module.node(loop).inputs[input]), type = ctx.type(yields[1 + i]);
    if (type.dtype != initial.dtype || !type.ranked || type.rank() != initial.rank())
      return invalid_model("state {} of the decoder is {}, but it makes it {}", i,
                           to_string(initial, module.dims), to_string(type, module.dims));
    Type last = initial;
    for (tensor::Dim& dim : last.dims) dim = module.dims.fresh();
    outputs.push_back(module.add_output(loop, std::move(last)));
  }
  for (std::size_t i = 0; i < stacked; ++i) {
    Type rows = ctx.type(yields[1 + kept + i]);
    rows.dims.insert(rows.dims.begin(), module.dims.fresh());
    module.node(loop).loop->stacked.push_back({});
    outputs.push_back(module.add_output(loop, std::move(rows)));
  }
  module.region(results[0].builder->region()).yields = std::move(yields);
  // Sequences, then what the operator carries and stacks.
  const auto first_kept = outputs.begin() + static_cast<std::ptrdiff_t>(kFirstState + states);
  std::vector<ValueId> final_values = {*first_kept};
  final_values.insert(final_values.end(), first_kept + 3, outputs.end());
  Composer c(ctx);
  return generation.finish(c, final_values);
}

/// Returns the type of a carried value whose sizes may change between steps.
Type growing(NodeCtx& ctx, ValueId initial) {
  Type type = ctx.type(initial);
  for (tensor::Dim& dim : type.dims) dim = ctx.module().dims.fresh();
  return type;
}

/// Adds the arguments for the carried values: the inputs of the decoder, then the sequences, the
/// next positions, whether the step is the first, and what the operator carries.
Expected<void> add_carried(NodeCtx& ctx, const Body& decoder, BodyRequest& request,
                           const std::vector<ValueId>& carried, OpenGeneration& open) {
  const std::size_t fed = kFirstState + open.states;
  for (std::size_t i = 0; i < fed; ++i) {
    SCANLOOM_TRY(Type formal, decoder.formal_type(ctx, i, growing(ctx, carried[i])));
    const ValueId argument = decoder.add_formal(ctx, request, i, std::move(formal));
    if (i + 1 == kFirstState) open.mask = argument;
  }
  std::vector<ValueId> others;
  for (std::size_t i = fed; i < carried.size(); ++i)
    others.push_back(
        ctx.module().add_argument(request.builder->region(), growing(ctx, carried[i])));
  open.sequences = others[0];
  open.next = others[1];
  open.first = others[2];
  open.carried.assign(others.begin() + 3, others.end());
  return {};
}

Expected<void> check_decoder(NodeCtx& ctx, const Body& decoder) {
  const std::size_t states = decoder.output_count() > 1 ? decoder.output_count() - 1 : 0;
  if (states == 0 || decoder.input_count() != kFirstState + states)
    return fail(Code::unsupported,
                "attribute 'decoder' has {} inputs and {} outputs; tokens, positions, mask and one "
                "state per output but the logits are needed",
                decoder.input_count(), decoder.output_count());
  return decoder.check_counts(ctx, kFirstState + states, "tokens, positions, mask and states",
                              1 + states, "logits and states");
}

}  // namespace

GenerationAttributes generation_attributes(Composer& c) {
  NodeCtx& ctx = c.ctx();
  GenerationAttributes a{.end = c.take(ctx.required_integer("eos_token_id")),
                         .padding = c.take(ctx.required_integer("pad_token_id")),
                         .no_repeat = c.integer("no_repeat_ngram_size", 0),
                         .vocabulary = c.integer("vocab_size", -1)};
  ctx.ignore("decoder_start_token_id");
  const std::int64_t type = c.integer("model_type", 0);
  if (c.ok() && (type != 0 || ctx.has_attribute("encoder")))
    c.refuse(fail(
        Code::unsupported,
        "attribute 'model_type' is {}: only decoders (0) are supported, without an encoder", type));
  if (c.ok() && ctx.has_attribute("init_decoder"))
    c.refuse(fail(Code::unsupported, "attribute 'init_decoder' is not supported"));
  if (c.ok() && (a.no_repeat < 0 || a.no_repeat > kMaxRepeat))
    c.refuse(invalid_model("attribute 'no_repeat_ngram_size' is {}, not 0 to {}", a.no_repeat,
                           kMaxRepeat));
  return a;
}

ValueId single_number(Composer& c, int input, ValueId fallback) {
  const ValueId x = c.optional_in(input);
  if (!x.valid()) return fallback;
  const DType dtype = is_floating_point(c.dtype(x)) ? DType::f32 : DType::i64;
  return c.reshape(c.cast(x, dtype), c.list({}));
}

ValueId vocabulary_mask(Composer& c, int input, int axes) {
  const ValueId mask = c.optional_in(input);
  if (!mask.valid()) return mask;
  if (const int rank = c.rank(input, mask, axes); c.ok() && rank != axes)
    c.refuse(invalid_model("{} has {} axes, not {}", c.ctx().describe_input(input), rank, axes));
  return mask;
}

Prompt read_prompt(Composer& c, int mask_input, std::int64_t padding, ValueId beams) {
  ValueId tokens = c.in(0), mask = c.optional_in(mask_input);
  if (const int rank = c.rank(0, tokens, 2); c.ok() && rank != 2)
    c.refuse(invalid_model("{} has {} axes, not 2", c.ctx().describe_input(0), rank));
  if (!c.ok()) return {};
  tokens = c.cast(tokens, DType::i32);
  const ValueId zero = c.scalar(0, DType::i32), one = c.scalar(1, DType::i32);
  // Positions count the tokens that are no padding, whatever the mask says.
  ValueId kept = c.where(c.equal(tokens, c.like(static_cast<double>(padding), tokens)), zero, one);
  mask = mask.valid() ? c.cast(mask, DType::i32) : kept;
  if (beams.valid()) {
    tokens = repeat_rows(c, tokens, beams);
    mask = repeat_rows(c, mask, beams);
    kept = repeat_rows(c, kept, beams);
  }
  const ValueId before =
      c.op(ops::cumsum_op, {kept, c.number(1)}, {{"exclusive", 1}, {"reverse", 0}});
  return {.tokens = tokens,
          .mask = mask,
          .positions = c.mul(before, kept),
          .next = c.reduce(kept, "sum", {1})};
}

Expected<void> open_generation(NodeCtx& ctx, Generation generation) {
  Composer c(ctx);
  SCANLOOM_TRY(const Body decoder, Body::of(ctx, "decoder"));
  SCANLOOM_CHECK_OK(check_decoder(ctx, decoder));
  const Prompt& prompt = generation.prompt;
  SCANLOOM_TRY(const std::vector<ValueId> states,
               empty_states(c, decoder, c.dim(prompt.tokens, 0)));
  const Captures captures(ctx);
  const ValueId least = c.add(c.dim(prompt.tokens, 1), c.number(1));
  c.op(ops::check_equal_op, {c.max(generation.max_length, least), generation.max_length},
       {{"text", "the prompt needs a maximal length of {} at least, but it is {}"}});
  std::vector<ValueId> operands = {c.sub(generation.max_length, c.dim(prompt.tokens, 1))};
  operands.insert(operands.end(), captures.operands().begin(), captures.operands().end());
  operands.insert(operands.end(), generation.captured.begin(), generation.captured.end());
  std::vector<ValueId> carried = {prompt.tokens, prompt.positions, prompt.mask};
  carried.insert(carried.end(), states.begin(), states.end());
  for (const ValueId more : {prompt.tokens, prompt.next, boolean(c, true)}) carried.push_back(more);
  carried.insert(carried.end(), generation.carried.begin(), generation.carried.end());
  operands.insert(operands.end(), carried.begin(), carried.end());
  SCANLOOM_CHECK_OK(c.done());
  ir::LoopPorts ports{.has_trip_count = true};
  ports.has_keep_going = true;
  ports.captured =
      static_cast<std::uint32_t>(captures.operands().size() + generation.captured.size());
  ports.carried = static_cast<std::uint32_t>(carried.size());
  auto open = std::make_unique<OpenGeneration>();
  open->loop = ctx.module().add_node(ctx.builder().region(), ir::loop_op, std::move(operands), {},
                                     {}, ctx.site().location);
  ctx.module().node(open->loop).loop = std::move(ports);
  open->states = states.size();
  BodyRequest request = request_body(ctx, decoder, open->loop);
  captures.enter(ctx, decoder, request);
  for (const ValueId value : generation.captured)
    open->captured.push_back(ctx.module().add_argument(request.builder->region(), ctx.type(value)));
  SCANLOOM_CHECK_OK(add_carried(ctx, decoder, request, carried, *open));
  open->generation = std::move(generation);
  open->bodies.push_back(std::move(request));
  ctx.open(std::move(open));
  return {};
}

}  // namespace scanloom::onnx
