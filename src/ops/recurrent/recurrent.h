// Shared by lstm, gru and rnn: their first operands and attributes by position, and the rules about
// sizes.
#pragma once

#include <initializer_list>
#include <string_view>

#include "ir/op_def.h"
#include "ops/recurrent/recurrent_activations.h"

namespace scanloom::ops {

/// The operands that all of them begin with; lstm has two more.
enum class RecurrentInput : std::uint8_t { x, w, r, b, sequence_lens, initial_h };
/// The attributes that all of them begin with.
enum class RecurrentAttr : std::uint8_t { direction, hidden_size, layout };

inline constexpr ActivationKind kLstmActivations[] = {ActivationKind::sigmoid, ActivationKind::tanh,
                                                      ActivationKind::tanh};
inline constexpr ActivationKind kGruActivations[] = {ActivationKind::sigmoid, ActivationKind::tanh};
inline constexpr ActivationKind kRnnActivations[] = {ActivationKind::tanh};

/// The sizes that all operands share; `hidden` and `directions` are numbers.
struct RecurrentSizes {
  tensor::Dim steps, batch, input, hidden, directions;
  bool batch_first = false;
};

/// Reads the attributes and x and checks the common operands, whose weights have `gates` rows per
/// unit. Errors: invalid_model.
Expected<RecurrentSizes> recurrent_sizes(ir::InferCtx& ctx, int gates);

/// Checks that operand i has those sizes, if it is present and its rank known.
Expected<void> expect_sizes(ir::InferCtx& ctx, int i, std::string_view name,
                            std::initializer_list<tensor::Dim> sizes);

/// Returns the sizes of a state: directions, batch, hidden; or with the batch first.
std::vector<tensor::Dim> state_sizes(const RecurrentSizes& sizes);

/// OpDef::rows_axis: the axis of the steps.
int steps_axis(std::span<const tensor::Attr> attrs);

/// Sets output 0, the states of all steps, and output 1, the last ones.
Expected<void> set_recurrent_results(ir::InferCtx& ctx, const RecurrentSizes& sizes);

/// OpDef::products: the elements of both weights for each row of each step.
double products_of_layer(const ir::CostCtx& ctx);

}  // namespace scanloom::ops
