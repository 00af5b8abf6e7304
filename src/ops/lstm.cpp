// An LSTM step, in this order of operations, which kernels keep bit for bit. For every gate and
// unit
//   xw = x . W[row], from 0, k in order; hr = h . R[row], from 0, k in order (base/dot.h)
//   z = (xw + hr) + (Wb + Rb); an absent B counts as zeros
// then, with the peephole's product added to z where there is one, z limited to [-clip, clip] where
// there is a clip,
//   i = f(z_i + p_i * c), f = f(z_f + p_f * c) or with input_forget 1 - i, g = g(z_c)
//   c' = f * c + i * g
//   o = f(z_o + p_o * c'), h' = o * h(c')
// without fma. sigmoid and tanh are those of base/math. For f16 and bf16 all of it is f32, and the
// states are rounded once per step. A row's steps end with its sequence length: later rows of Y are
// 0, Y_h and Y_c hold the last valid state, which is the initial one for a length of 0; backwards
// only the valid prefix is reversed.
#include "ops/lstm.h"

#include <initializer_list>

#include "ops/lstm_activations.h"
#include "ops/ops.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {

using tensor::Dim;
using tensor::Type;

constexpr int index_of(LstmInput input) { return static_cast<int>(input); }

const tensor::Attr& attr_of(const ir::InferCtx& ctx, LstmAttr attr) {
  return ctx.attr(static_cast<int>(attr));
}

Expected<int> directions_of(const ir::InferCtx& ctx) {
  const std::string& text = attr_of(ctx, LstmAttr::direction).text();
  if (text == "forward" || text == "reverse") return 1;
  if (text == "bidirectional") return 2;
  return invalid_model("direction is '{}', not forward, reverse or bidirectional", text);
}

/// The sizes that all operands share.
struct Sizes {
  Dim steps, batch, input, hidden, directions;
};

Expected<void> expect_sizes(ir::InferCtx& ctx, LstmInput input, std::string_view name,
                            std::initializer_list<Dim> sizes) {
  const int i = index_of(input);
  if (!ctx.has(i) || !ctx.in(i).ranked) return {};
  const Type& type = ctx.in(i);
  if (type.dims.size() != sizes.size())
    return invalid_model("{} has {} axes, not {}", name, type.rank(), sizes.size());
  int axis = 0;
  for (const Dim wanted : sizes) {
    const Dim size = type.dims[static_cast<std::size_t>(axis)];
    if (size.is_constant() && wanted.is_constant() && size != wanted)
      return invalid_model("{} has size {} on axis {}, not {}", name, size.value(), axis,
                           wanted.value());
    ++axis;
  }
  return {};
}

Expected<Sizes> sizes_of(ir::InferCtx& ctx, bool batch_first) {
  Sizes sizes;
  SCANLOOM_TRY(sizes.directions, directions_of(ctx));
  const std::int64_t hidden = attr_of(ctx, LstmAttr::hidden_size).integer();
  if (hidden < 1 || hidden > std::int64_t{1} << 32)
    return invalid_model("hidden_size is {}, outside [1, 2^32]", hidden);
  sizes.hidden = hidden;
  const Type& x = ctx.in(index_of(LstmInput::x));
  if (!x.ranked) {
    sizes.steps = ctx.dims().fresh();
    sizes.batch = ctx.dims().fresh();
    sizes.input = ctx.dims().fresh();
    return sizes;
  }
  if (x.rank() != 3) return invalid_model("X has {} axes, not 3", x.rank());
  sizes.steps = x.dims[batch_first ? 1 : 0];
  sizes.batch = x.dims[batch_first ? 0 : 1];
  sizes.input = x.dims[2];
  return sizes;
}

Expected<void> check_operands(ir::InferCtx& ctx, const Sizes& sizes, bool batch_first) {
  const Dim d = sizes.directions;
  const std::int64_t hidden = sizes.hidden.value();
  SCANLOOM_CHECK_OK(expect_sizes(ctx, LstmInput::w, "W", {d, 4 * hidden, sizes.input}));
  SCANLOOM_CHECK_OK(expect_sizes(ctx, LstmInput::r, "R", {d, 4 * hidden, hidden}));
  SCANLOOM_CHECK_OK(expect_sizes(ctx, LstmInput::b, "B", {d, 8 * hidden}));
  SCANLOOM_CHECK_OK(expect_sizes(ctx, LstmInput::p, "P", {d, 3 * hidden}));
  SCANLOOM_CHECK_OK(expect_sizes(ctx, LstmInput::sequence_lens, "sequence_lens", {sizes.batch}));
  const Dim first = batch_first ? sizes.batch : d, second = batch_first ? d : sizes.batch;
  SCANLOOM_CHECK_OK(expect_sizes(ctx, LstmInput::initial_h, "initial_h", {first, second, hidden}));
  return expect_sizes(ctx, LstmInput::initial_c, "initial_c", {first, second, hidden});
}

Expected<void> infer(ir::InferCtx& ctx) {
  const std::int64_t layout = attr_of(ctx, LstmAttr::layout).integer();
  if (layout != 0 && layout != 1) return invalid_model("layout is {}, not 0 or 1", layout);
  const bool batch_first = layout == 1;
  SCANLOOM_TRY(const Sizes sizes, sizes_of(ctx, batch_first));
  SCANLOOM_CHECK_OK(check_operands(ctx, sizes, batch_first));
  const tensor::Attr& names = attr_of(ctx, LstmAttr::activations);
  SCANLOOM_CHECK_OK(read_activations(names, static_cast<int>(sizes.directions.value())));
  const auto [steps, batch, input, hidden, d] = sizes;
  const DType dtype = ctx.dtype();
  if (batch_first) {
    SCANLOOM_CHECK_OK(set_sizes(ctx, 0, dtype, {batch, steps, d, hidden}));
    SCANLOOM_CHECK_OK(set_sizes(ctx, 1, dtype, {batch, d, hidden}));
    return set_sizes(ctx, 2, dtype, {batch, d, hidden});
  }
  SCANLOOM_CHECK_OK(set_sizes(ctx, 0, dtype, {steps, d, batch, hidden}));
  SCANLOOM_CHECK_OK(set_sizes(ctx, 1, dtype, {d, batch, hidden}));
  return set_sizes(ctx, 2, dtype, {d, batch, hidden});
}

}  // namespace

constinit const ir::OpDef lstm_op{
    .name = "lstm",
    .doc =
        "A long short-term memory layer, as ONNX LSTM: gates in the order i, o, f, c. `direction` "
        "is forward, reverse or bidirectional; `layout` 1 puts the batch first; `activations` "
        "names three per direction, by default Sigmoid,Tanh,Tanh. All three results are made.",
    .inputs = {{"x", ir::Accept::real},
               {.name = "w", .accept = ir::Accept::real, .same_as = 0},
               {.name = "r", .accept = ir::Accept::real, .same_as = 0},
               {"b", ir::Accept::real, ir::Arity::optional, 0},
               {"sequence_lens", ir::Accept::index, ir::Arity::optional},
               {"initial_h", ir::Accept::real, ir::Arity::optional, 0},
               {"initial_c", ir::Accept::real, ir::Arity::optional, 0},
               {"p", ir::Accept::real, ir::Arity::optional, 0}},
    .outputs = {"y", "y_h", "y_c"},
    .attrs = {{"direction", tensor::AttrKind::text},
              {"hidden_size", tensor::AttrKind::integer},
              {"layout", tensor::AttrKind::integer},
              {"input_forget", tensor::AttrKind::integer},
              {"clip", tensor::AttrKind::real, true},
              {"activations", tensor::AttrKind::text, true}},
    .effects = ir::Effects::may_fail,
    .infer = infer,
    .reference = run_lstm,
};

}  // namespace scanloom::ops
