// Recurrent cells as nodes: what the reference kernels of lstm, gru and rnn compute in a step, with
// the same order of operations (ops/recurrent/lstm.cpp, ops/recurrent/gru.cpp,
// ops/recurrent/rnn.cpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/builder.h"
#include "ops/recurrent/recurrent_activations.h"

namespace scanloom::passes {

/// Adds nodes to one region.
class Writer {
 public:
  explicit Writer(ir::Builder& builder) : builder_(builder) {}

  [[nodiscard]] ir::Builder& builder() { return builder_; }
  Expected<ir::ValueId> op(const ir::OpDef& def, std::vector<ir::ValueId> inputs,
                           std::vector<ir::NamedAttr> attrs = {}) {
    return builder_.op(def, std::move(inputs), std::move(attrs));
  }
  ir::ValueId list(std::vector<std::int64_t> values);
  /// A constant of the type of `like`: f32 or f64.
  ir::ValueId number(double value, ir::ValueId like);
  /// Elements [first, last) of an axis.
  Expected<ir::ValueId> part(ir::ValueId value, std::int64_t axis, std::int64_t first,
                             std::int64_t last);
  /// Element i of an axis, which is removed.
  Expected<ir::ValueId> at(ir::ValueId value, std::int64_t axis, std::int64_t i);
  Expected<ir::ValueId> add(ir::ValueId a, ir::ValueId b);
  Expected<ir::ValueId> mul(ir::ValueId a, ir::ValueId b);
  /// `yes` where a < b, `no` elsewhere.
  Expected<ir::ValueId> where_less(ir::ValueId a, ir::ValueId b, ir::ValueId yes, ir::ValueId no);
  /// The product of rows with the rows of a weight.
  Expected<ir::ValueId> product(ir::ValueId rows, ir::ValueId weight);
  /// Returns the value itself if it already has that type.
  Expected<ir::ValueId> cast(ir::ValueId value, DType dtype);

 private:
  ir::Builder& builder_;
};

/// The weights of a cell, as values outside its loop or as the loop's arguments. `peepholes` is
/// invalid if the cell has none. All are f32, or all are f64.
struct CellWeights {
  ir::ValueId w, r, w_bias, r_bias, peepholes;
};

/// The form of a cell: everything it computes apart from its products.
struct CellForm {
  std::int64_t hidden = 0;
  double clip = 0;                               ///< 0: none
  std::span<const ops::Activation> activations;  ///< of one direction
  bool coupled = false;                          ///< lstm: input_forget
  bool linear = false;                           ///< gru: linear_before_reset
};

/// Returns h' of one direction, or h' and c', computed from the input of the step and the state.
Expected<std::vector<ir::ValueId>> rnn_cell(Writer& write, const CellWeights& weights,
                                            const CellForm& form, ir::ValueId x, ir::ValueId h);
Expected<std::vector<ir::ValueId>> lstm_cell(Writer& write, const CellWeights& weights,
                                             const CellForm& form, ir::ValueId x, ir::ValueId h,
                                             ir::ValueId c);
Expected<std::vector<ir::ValueId>> gru_cell(Writer& write, const CellWeights& weights,
                                            const CellForm& form, ir::ValueId x, ir::ValueId h);

}  // namespace scanloom::passes
