// Tables of the functions that are compiled once per instruction set (simd/). Preparing a kernel
// picks a table once and keeps pointers to its functions; a run looks nothing up.
#pragma once

#include "base/cpu.h"
#include "base/philox.h"
#include "kernels/arg_search.h"
#include "kernels/element_fns.h"
#include "kernels/elimination.h"
#include "kernels/integer_pairs.h"
#include "kernels/lstm_step.h"
#include "kernels/pipelined_tile.h"
#include "kernels/pool_line.h"
#include "kernels/product.h"
#include "kernels/resample_fns.h"
#include "kernels/row_folds.h"
#include "kernels/transpose.h"
#include "opmath/affine_scan.h"
#include "opmath/fourier_fns.h"

namespace scanloom::kernels {

/// The first `count` random numbers that the blocks give.
template <class T>
using RandomFn = void (*)(const PhiloxBlocks& blocks, T* to, std::int64_t count);

struct SimdTables {
  ProductFns<float> f32;
  ProductFns<double> f64;
  ProductFns<std::int32_t> i32;        ///< products and sums wrap
  ProductFns<std::int32_t> i32_pairs;  ///< for pairs of 16-bit numbers (integer_pairs.h)
  PairFns pairs;
  VectorFns (*f32_elements)(tensor::ScalarOp);
  VectorFns (*f64_elements)(tensor::ScalarOp);
  VectorFns (*i32_elements)(tensor::ScalarOp);
  VectorFns (*truths)(tensor::ScalarOp);  ///< of booleans
  /// Into bytes that are 0 or 1. All null if there is no vector form.
  VectorFns (*comparison)(tensor::ScalarOp, DType);
  /// Selects by a byte between b and c, elements of `bytes` bytes: 1, 2, 4 or 8; null otherwise.
  ElementFn (*choice)(int bytes);
  /// Returns null if the conversion has no vector form.
  ElementFn (*conversion)(DType from, DType to);
  /// Elements of `bytes` bytes: 1, 2, 4 or 8; null otherwise.
  TransposeFn (*transpose)(int bytes);
  ResampleFns<float> f32_resample;
  ResampleFns<double> f64_resample;
  EliminateFn<float> f32_eliminate;
  EliminateFn<double> f64_eliminate;
  tensor::FourierFns<float> f32_fourier;
  tensor::FourierFns<double> f64_fourier;
  /// Over adjacent elements, forwards or backwards: the step of y is 1 or -1; those of a and b may
  /// also be 0.
  void (*f32_affine)(const tensor::AffineScan<float>&);
  void (*f64_affine)(const tensor::AffineScan<double>&);
  ArgSearchFns arg_search;
  RowFoldFns (*f32_folds)(tensor::Reduction::Fold);
  RowFoldFns (*f64_folds)(tensor::Reduction::Fold);
  /// Sums of u8, i8 or i32; all null for other types.
  RowFoldFns (*integer_sums)(DType);
  PoolFns<float> f32_pool;
  PoolFns<double> f64_pool;
  PoolFns<std::uint8_t> u8_pool;
  PoolFns<std::int8_t> i8_pool;
  RandomFn<float> f32_uniform, f32_normal;
  RandomFn<double> f64_uniform, f64_normal;
  void (*lstm_step)(const LstmStep&);
  /// Computes pairs of panels of a one-row strip that starts from 0, in either direction, and with
  /// it a round of the pipelined product. Null if that does not pay; lstm_step then takes none
  /// either.
  void (*pipelined_strip)(const Strip<float>&, const PipelinedProduct<float>&);
};

/// The best table that `isa` permits.
const SimdTables& simd_tables(Isa isa);

}  // namespace scanloom::kernels
