// An LSTM step, in the order of operations that kernels keep bit for bit. For every gate and unit
//   xw = x . W[row], from 0, k in order; hr = h . R[row], from 0, k in order (base/dot.h)
//   z = (xw + hr) + (Wb + Rb); an absent B counts as zeros
// then, with the peephole's product added to z if there is one, and z clamped to [-clip, clip] if
// there is a clip,
//   i = f(z_i + p_i * c), f = f(z_f + p_f * c) or with input_forget 1 - i, g = g(z_c)
//   c' = f * c + i * g
//   o = f(z_o + p_o * c'), h' = o * h(c'), where c' is never clamped
// Products are rounded before they are added. sigmoid and tanh are those of base/math. f16 and bf16
// are computed in f32, with the states rounded once per step. A row's steps end with its sequence
// length: later rows of Y are 0, and Y_h and Y_c hold the last valid state (the initial one for
// length 0). Backwards, only the valid prefix is reversed.
#include "ops/recurrent/lstm.h"

#include "ops/ops.h"
#include "ops/recurrent/recurrent.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {
namespace lstm {

constexpr int index_of(LstmInput input) { return static_cast<int>(input); }

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_TRY(const RecurrentSizes sizes, recurrent_sizes(ctx, 4));
  const std::int64_t hidden = sizes.hidden.value();
  SCANLOOM_CHECK_OK(expect_sizes(ctx, index_of(LstmInput::p), "P", {sizes.directions, 3 * hidden}));
  const std::vector<tensor::Dim> state = state_sizes(sizes);
  SCANLOOM_CHECK_OK(expect_sizes(ctx, index_of(LstmInput::initial_c), "initial_c",
                                 {state[0], state[1], state[2]}));
  SCANLOOM_CHECK_OK(read_activations(ctx.attr(static_cast<int>(LstmAttr::activations)),
                                     static_cast<int>(sizes.directions.value()), kLstmActivations));
  SCANLOOM_CHECK_OK(set_recurrent_results(ctx, sizes));
  return set_sizes(ctx, static_cast<int>(LstmOutput::y_c), ctx.dtype(), state);
}

}  // namespace lstm
}  // namespace

constinit const ir::OpDef lstm_op{
    .name = "lstm",
    .doc =
        "A long short-term memory layer, as ONNX LSTM: gates in the order i, o, f, c. `direction` "
        "is forward, reverse or bidirectional; `layout` 1 puts the batch first; `activations` "
        "names three per direction, by default Sigmoid,Tanh,Tanh, parameters after colons. "
        "`clip` limits what the activations of the gates are applied to, not the cell before the "
        "last activation. All three results are computed.",
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
    .infer = lstm::infer,
    .reference = run_lstm,
    .rows_axis = steps_axis,
    .layer_states = 2,
    .products = products_of_layer,
};

}  // namespace scanloom::ops
