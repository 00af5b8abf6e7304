// RandomUniform. With a seed it gives the numbers documented for the operation: Philox4x32 with 10
// rounds, keyed by global_seed, with the block number and op_seed as counter. Every run gives the
// same numbers, while OpenVINO continues the sequence. In bodies and without a seed, each execution
// generates new numbers.
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"
#include "ops/random/multinomial.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

constexpr std::uint64_t kLow = 0xffffffff;

/// Unsigned 64-bit arithmetic.
class Words {
 public:
  explicit Words(ops::Composer& c) : c_(c) {}

  [[nodiscard]] ValueId number(std::uint64_t value) {
    return c_.builder().constant(tensor::Tensor::scalar<std::uint64_t>(value));
  }
  [[nodiscard]] ValueId low(ValueId x) { return c_.op(ops::bit_and_op, {x, number(kLow)}); }
  [[nodiscard]] ValueId high(ValueId x) { return c_.op(ops::shift_right_op, {x, number(32)}); }
  [[nodiscard]] ValueId exclusive(ValueId a, ValueId b) { return c_.op(ops::bit_xor_op, {a, b}); }
  [[nodiscard]] ValueId remainder(ValueId a, ValueId b) {
    return c_.op(ops::mod_op, {a, b}, {{"fmod", 0}});
  }

 private:
  ops::Composer& c_;
};

/// Returns [blocks, 4] words of 32 bits each.
ValueId philox(ops::Composer& c, ValueId blocks, std::uint64_t key, std::uint64_t counter) {
  Words words(c);
  const ValueId block = c.cast(c.count_up(blocks), DType::u64);
  ValueId state[4] = {words.low(block), words.high(block), words.number(counter & kLow),
                      words.number(counter >> 32)};
  std::uint64_t key_low = key & kLow, key_high = key >> 32;
  for (int round = 0; round < 10; ++round) {
    const ValueId first = c.mul(words.number(0xd2511f53), state[0]);
    const ValueId second = c.mul(words.number(0xcd9e8d57), state[2]);
    const ValueId old[2] = {state[1], state[3]};
    state[0] = words.exclusive(words.exclusive(words.high(second), old[0]), words.number(key_low));
    state[1] = words.low(second);
    state[2] = words.exclusive(words.exclusive(words.high(first), old[1]), words.number(key_high));
    state[3] = words.low(first);
    key_low = (key_low + 0x9e3779b9) & kLow;
    key_high = (key_high + 0xbb67ae85) & kLow;
  }
  std::vector<ValueId> columns;
  for (const ValueId part : state) columns.push_back(c.unsqueeze(part, {1}));
  return c.concat(std::move(columns), 1);
}

/// Converts the lowest `bits` of the words to floating point in [0, 1). The result is the same as
/// storing them in the mantissa of a number in [1, 2) and subtracting 1.
ValueId fraction(ops::Composer& c, ValueId words, int bits, DType dtype) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const ValueId kept = c.op(ops::bit_and_op, {words, Words(c).number(mask)});
  const double unit = 1.0 / static_cast<double>(mask + 1);
  const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  return c.cast(c.mul(c.cast(kept, wide), c.scalar(unit, wide)), dtype);
}

/// Returns `count` numbers of type `dtype` between low and high.
ValueId documented(ops::Composer& c, ValueId count, DType dtype, ValueId low, ValueId high,
                   std::uint64_t key, std::uint64_t counter) {
  Words words(c);
  const bool wide = dtype == DType::f64 || dtype == DType::i64;
  const ValueId per_block = c.number(wide ? 2 : 4);
  const ValueId blocks = c.div(c.sub(c.add(count, per_block), c.number(1)), per_block);
  ValueId drawn = philox(c, blocks, key, counter);
  if (wide) {
    const ValueId pairs = c.reshape(drawn, c.join({blocks, c.number(2), c.number(2)}));
    const auto half = [&](std::int64_t i) { return c.gather(pairs, c.number(i), 2); };
    drawn = c.add(c.mul(half(0), words.number(std::uint64_t{1} << 32)), half(1));
  }
  drawn = c.slice(c.reshape(drawn, c.list({-1})), 0, c.number(0), count);
  const ValueId range = c.sub(high, low);
  if (is_integer(dtype)) {
    const ValueId span = c.cast(range, DType::u64);
    return c.add(c.cast(words.remainder(drawn, span), dtype), low);
  }
  const int bits = dtype == DType::f64   ? 52
                   : dtype == DType::f32 ? 23
                   : dtype == DType::f16 ? 10
                                         : 7;
  return c.add(c.mul(fraction(c, drawn, bits, dtype), range), low);
}

/// Returns uniform numbers in [0, 1), generated anew in each execution.
ValueId drawn_anew(LayerComposer& c, ValueId shape, DType dtype, std::int64_t seed) {
  // Nodes are numbered in reading order, so the same model gives the same numbers.
  const auto stream = static_cast<std::int64_t>(c.ctx().module().node_count()) + 1;
  return c.op(ops::random_op, {shape},
              {{"kind", "uniform"}, {"to", dtype}, {"seed", seed}, {"stream", stream}});
}

/// The seed attributes; 0 means none.
struct Seeds {
  std::uint64_t key = 0, counter = 0;

  [[nodiscard]] bool are_given() const { return key != 0 || counter != 0; }
  [[nodiscard]] std::int64_t mixed(LayerCtx& ctx) const {
    return are_given() ? static_cast<std::int64_t>(key ^ counter) : ctx.reading().options.seed;
  }
};

Seeds seeds_of(LayerComposer& c) {
  return {static_cast<std::uint64_t>(c.integer("global_seed", 0)),
          static_cast<std::uint64_t>(c.integer("op_seed", 0))};
}

/// Returns numbers between low and high, rounded down for integers.
ValueId uniform(LayerComposer& c, ValueId shape, DType dtype, ValueId low, ValueId high,
                std::int64_t seed) {
  const DType wide = is_integer(dtype) ? DType::f64 : ops::at_least_f32(dtype);
  const ValueId random = drawn_anew(c, shape, wide, seed);
  const ValueId scaled = c.mul(random, c.cast(c.sub(high, low), wide));
  if (!is_integer(dtype)) return c.cast(c.add(scaled, c.cast(low, wide)), dtype);
  return c.add(c.cast(c.op(ops::floor_op, {scaled}), dtype), low);
}

}  // namespace

Expected<void> convert_random_uniform(LayerCtx& ctx) {
  LayerComposer c(ctx);
  SCANLOOM_TRY(const DType dtype, ctx.attributes.dtype("output_type"));
  const bool known = dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 ||
                     dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64;
  if (!known)
    return fail(Code::unsupported, "attribute 'output_type' is {}, which cannot be drawn",
                dtype_name(dtype));
  const ValueId shape = c.sizes_in(0);
  const auto limit = [&](int i) { return c.reshape(c.cast(c.in(i), dtype), c.list({})); };
  const ValueId low = limit(1), high = limit(2);
  const Seeds seeds = seeds_of(c);
  const std::string alignment = c.choice("alignment", "tensorflow", {"tensorflow", "pytorch"});
  if (seeds.are_given() && alignment == "pytorch")
    return fail(Code::unsupported, "seeds with attribute 'alignment' of '{}'", alignment);
  if (!seeds.are_given() || ctx.site().depth > 0)
    return c.emit(uniform(c, shape, dtype, low, high, seeds.mixed(ctx)));
  const ValueId count = c.reduce_all(shape, "prod");
  return c.emit(c.reshape(documented(c, count, dtype, low, high, seeds.key, seeds.counter), shape));
}

// Without replacement, selects the classes with the largest sums of logarithm and Gumbel noise.
Expected<void> convert_multinomial(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId given = c.cast(c.in(0), DType::f64);
  const int rank = c.rank(0, given);
  SCANLOOM_CHECK_OK(c.done());
  if (rank != 2) return invalid_model("input 0 has {} axes, not 2", rank);
  SCANLOOM_TRY(const DType dtype, ctx.attributes.dtype("convert_type", DType::i64));
  if (dtype != DType::i32 && dtype != DType::i64)
    return invalid_model("attribute 'convert_type' is {}, neither i32 nor i64", dtype_name(dtype));
  const bool logs = c.flag("log_probs", false), replaces = c.flag("with_replacement", false);
  const std::int64_t seed = seeds_of(c).mixed(ctx);
  const ValueId samples = c.reshape(c.cast(c.in(1), DType::i64), c.list({1}));
  if (replaces) {
    const ValueId weights = logs ? c.op(ops::softmax_op, {given}, {{"axis", 1}}) : given;
    const ValueId random = drawn_anew(c, c.join({c.dim(given, 0), samples}), DType::f64, seed);
    return c.emit(c.cast(ops::picked_classes(c, weights, random), dtype));
  }
  const ValueId random = drawn_anew(c, c.shape(given), DType::f64, seed);
  const ValueId noise = c.neg(c.log(c.neg(c.log(random))));
  const ValueId keys = c.add(logs ? given : c.log(given), noise);
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(ops::topk_op, {keys, samples},
                                  {{"axis", 1}, {"largest", 1}, {"sorted", 1}}, 2));
  return c.emit(c.cast(ctx.module().node(node).outputs[1], dtype));
}

}  // namespace scanloom::openvino
