// The forms of operators that are more than one layer with the same operands.
#pragma once

#include "exporters/openvino/node_writer.h"

namespace scanloom::exporters::openvino {

// ops/convolution.cpp
void write_conv(NodeWriter&);
void write_conv_transpose(NodeWriter&);
void write_deform_conv(NodeWriter&);
void write_psroi_pool(NodeWriter&);
void write_qlinear_conv(NodeWriter&);

// ops/grams.cpp
void write_tfidf(NodeWriter&);

// ops/grids.cpp
void write_affine_grid(NodeWriter&);
void write_sum_to(NodeWriter&);

// ops/images.cpp
void write_col2im(NodeWriter&);
void write_grid_sample(NodeWriter&);
void write_max_roi_pool(NodeWriter&);
void write_non_max_suppression(NodeWriter&);
void write_resample(NodeWriter&);
void write_roi_align(NodeWriter&);

// ops/shape/pad.cpp
void write_pad(NodeWriter&);

// ops/pick.cpp
void write_argmax(NodeWriter&);
void write_argmin(NodeWriter&);
void write_gather_elements(NodeWriter&);
void write_gather_nd(NodeWriter&);
void write_label_encode(NodeWriter&);
void write_non_zero(NodeWriter&);
void write_reverse_sequence(NodeWriter&);
void write_scatter_elements(NodeWriter&);
void write_scatter_nd(NodeWriter&);
void write_split(NodeWriter&);
void write_string_unpack(NodeWriter&);
void write_topk(NodeWriter&);
void write_unique(NodeWriter&);

// ops/pointwise.cpp
void write_cast(NodeWriter&);
void write_clip(NodeWriter&);
void write_div(NodeWriter&);
void write_elu(NodeWriter&);
void write_expm1(NodeWriter&);
void write_first(NodeWriter&);
void write_hard_sigmoid(NodeWriter&);
void write_is_inf(NodeWriter&);
void write_leaky_relu(NodeWriter&);
void write_log1p(NodeWriter&);
void write_mod(NodeWriter&);
void write_pow(NodeWriter&);
void write_round(NodeWriter&);

// ops/pool.cpp
void write_average_pool(NodeWriter&);
void write_lp_pool(NodeWriter&);
void write_max_pool(NodeWriter&);
void write_max_unpool(NodeWriter&);

// ops/quantise.cpp
void write_dequantize_blocks(NodeWriter&);
void write_dequantize_linear(NodeWriter&);
void write_integer_matmul(NodeWriter&);
void write_quantize_linear(NodeWriter&);

// ops/random/random.cpp
void write_random(NodeWriter&);

// ops/recurrent/recurrent.cpp
void write_gru(NodeWriter&);
void write_lstm(NodeWriter&);
void write_rnn(NodeWriter&);

// ops/shape/shape.cpp
void write_concat(NodeWriter&);
void write_constant_of_shape(NodeWriter&);
void write_dim(NodeWriter&);
void write_expand(NodeWriter&);
void write_flatten(NodeWriter&);
void write_gather(NodeWriter&);
void write_range(NodeWriter&);
void write_reshape(NodeWriter&);
void write_shape(NodeWriter&);
void write_size(NodeWriter&);
void write_slice(NodeWriter&);
void write_squeeze(NodeWriter&);
void write_tile(NodeWriter&);
void write_transpose(NodeWriter&);
void write_unsqueeze(NodeWriter&);

// ops/spectra.cpp
void write_dft(NodeWriter&);

// ops/sums.cpp
void write_contract(NodeWriter&);
void write_cumprod(NodeWriter&);
void write_cumsum(NodeWriter&);
void write_reduce(NodeWriter&);
void write_softmax(NodeWriter&);

}  // namespace scanloom::exporters::openvino
