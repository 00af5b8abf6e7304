// The ONNX forms of operators. Most are one ONNX node with the same operands and attributes, as
// listed in the table of forms.cpp; the others have a function here, one file per family.
#pragma once

#include "exporters/onnx/emitter.h"

namespace scanloom::exporters::onnx {

/// Writes a node that is not a loop, branch or constant, or refuses it.
void write_form(NodeEmitter& node);

namespace forms {

// elements.cpp
void bit_cast(NodeEmitter& node);
void cast(NodeEmitter& node);
void clip(NodeEmitter& node);
void expm1(NodeEmitter& node);
void log1p(NodeEmitter& node);
void mod(NodeEmitter& node);
void neg(NodeEmitter& node);
void relu(NodeEmitter& node);
void shift_left(NodeEmitter& node);
void shift_right(NodeEmitter& node);

// reductions.cpp
void contract(NodeEmitter& node);
void cumprod(NodeEmitter& node);
void cumsum(NodeEmitter& node);
void lu_det(NodeEmitter& node);
void lu_factor(NodeEmitter& node);
void reduce(NodeEmitter& node);
void sum_to(NodeEmitter& node);
void topk(NodeEmitter& node);

// spectra.cpp
void dft(NodeEmitter& node);

// shapes.cpp
void axes(NodeEmitter& node);
void check_equal(NodeEmitter& node);
void constant_of_shape(NodeEmitter& node);
void dim(NodeEmitter& node);
void pad(NodeEmitter& node);
void range(NodeEmitter& node);
void reverse_sequence(NodeEmitter& node);
void split(NodeEmitter& node);

// windows.cpp
void average_pool(NodeEmitter& node);
void conv(NodeEmitter& node);
void deform_conv(NodeEmitter& node);
void lp_pool(NodeEmitter& node);
void max_pool(NodeEmitter& node);
void max_unpool(NodeEmitter& node);
void qlinear_conv(NodeEmitter& node);

// sampling.cpp
void grid_sample(NodeEmitter& node);
void max_roi_pool(NodeEmitter& node);
void non_max_suppression(NodeEmitter& node);
void random(NodeEmitter& node);
void resample(NodeEmitter& node);
void roi_align(NodeEmitter& node);

// recurrent.cpp
void gru(NodeEmitter& node);
void lstm(NodeEmitter& node);
void rnn(NodeEmitter& node);

// quantization.cpp
void dequantize_blocks(NodeEmitter& node);
void dequantize_linear(NodeEmitter& node);
void integer_matmul(NodeEmitter& node);
void quantize_linear(NodeEmitter& node);

// collections.cpp
void label_encode(NodeEmitter& node);
void map_gather(NodeEmitter& node);
void map_values(NodeEmitter& node);
void optional_empty(NodeEmitter& node);
void sequence_construct(NodeEmitter& node);
void string_format(NodeEmitter& node);
void string_normalize(NodeEmitter& node);
void string_parse(NodeEmitter& node);
void string_split(NodeEmitter& node);
void tfidf(NodeEmitter& node);
void zip_map(NodeEmitter& node);

// learning.cpp
void squared_distances(NodeEmitter& node);
void tree_ensemble(NodeEmitter& node);

}  // namespace forms
}  // namespace scanloom::exporters::onnx
