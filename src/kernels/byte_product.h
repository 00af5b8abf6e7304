// Products of bytes with exact sums of 32 bits. Operands are stored in quads, four neighbours along
// k, which is what the instructions for such products take (AVX-512 VNNI, AVX-VNNI); other
// instruction sets multiply pairs of 16-bit numbers: rows of A are stored as these, B is widened in
// registers. They multiply bytes as well, and faster, if B is constant and bounded
// (bounded_quads.h). AMX multiplies many rows at once, with the same operands. Used by
// integer_matmul and qlinear_conv.
#pragma once

#include <cstdint>

#include "base/cpu.h"
#include "kernels/element_fns.h"
#include "kernels/integer_pairs.h"
#include "kernels/requantize.h"

namespace scanloom::kernels {

/// Elements of a quad, columns of a panel, and panels and rows that a strip has at most.
inline constexpr std::int64_t kQuad = 4, kQuadColumns = 16;
inline constexpr int kMaxQuadPanels = 4, kMaxQuadRows = 6;
/// Quads of a bounded B that are multiplied together.
inline constexpr std::int64_t kBoundedQuads = 2;

/// Quads that k elements fill.
constexpr std::int64_t quads_of(std::int64_t k) { return (k + kQuad - 1) / kQuad; }
/// Panels that n columns fill.
constexpr std::int64_t panels_of(std::int64_t n) { return (n + kQuadColumns - 1) / kQuadColumns; }

/// A few rows of C = A B. A panel of B is [quads][kQuadColumns][kQuad]. Where k or the columns end,
/// the elements of A or of B are 0.
struct QuadStrip {
  std::int64_t quads = 0;
  int panels = 0;           ///< 1 to kMaxQuadPanels
  const void* a = nullptr;  ///< rows of quads: bytes or 16-bit numbers
  std::int64_t a_row = 0;   ///< bytes from one row to the next
  const void* b = nullptr;
  std::int64_t b_step = kQuadColumns * kQuad;  ///< bytes from one row of quads to the next
  std::int64_t b_panel = 0;                    ///< bytes from one panel to the next
  std::int32_t* c = nullptr;                   ///< whole panels are written
  std::int64_t c_row = 0;
};

/// The steps that finish a row of sums: (sum + terms - zeros * row_sum), then times scales plus
/// biases in f32, then rounded to nearest even, plus zero, and clamped to the range. Results of
/// type i32 end with the first step, those of f32 with the second.
struct QuadFinish {
  const std::int32_t* sums = nullptr;
  std::int64_t count = 0;
  /// One per column; null: factor * column_sums + offset, without zeros.
  const std::int32_t* terms = nullptr;
  const std::uint32_t* column_sums = nullptr;
  std::int32_t factor = 0, offset = 0;
  const std::int32_t* zeros = nullptr;  ///< one per column; null: 0
  std::int32_t row_sum = 0;
  const float* scales = nullptr;  ///< one per column; null: `scale`
  float scale = 1;
  const float* biases = nullptr;  ///< one per column; null: none
  std::int32_t zero = 0;
};
template <class T>
using QuadFinishFn = void (*)(const QuadFinish& from, T* to);

/// Writes to[4 i + t] = taps[t][i * step]; may read and write up to kQuadSlackBytes more.
struct QuadRun {
  const std::uint8_t* taps[kQuad] = {};
  std::int64_t count = 0, step = 1;
  std::uint8_t* to = nullptr;
};
inline constexpr std::int64_t kQuadSlackBytes = 64;

/// A line of four rows: writes to[4 i + t] = rows[t][i] ^ flip, exactly.
struct QuadLine {
  const std::uint8_t* rows[kQuad] = {};
  std::int64_t count = 0;
  std::uint8_t* to = nullptr;
  std::uint8_t flip = 0;
};

/// Runs of quads, one after another: to[i] = x[at + i * step], of 4 bytes each; may read and write
/// up to kQuadSlackBytes more.
struct QuadRuns {
  const std::uint8_t* x = nullptr;
  const PairRun* runs = nullptr;
  std::int64_t run_count = 0, step = 1;
  std::uint8_t* to = nullptr;
};

/// A line of windows over 16-bit numbers: sum j is over pairs of taps i,
///   x[j * step + offsets[i]] * low(weights[i]) + x[j * step + offsets[i] + 1] * high(weights[i]),
/// where low and high are the halves of 32 bits. Up to kTapSlack numbers after those of the last
/// window may be read, and as many sums after the last one be written.
struct TapLine {
  const std::int16_t* x = nullptr;
  std::int64_t step = 1;  ///< 1 or 2
  std::int64_t count = 0, pairs = 0;
  const std::int64_t* offsets = nullptr;
  const std::int32_t* weights = nullptr;
};
inline constexpr std::int64_t kTapSlack = 128;

/// Computes x / scale, rounded to nearest even, plus zero, clamped to the range. NaN gives 0.
template <class T>
using QuantizeFn = void (*)(const float* x, std::int64_t count, float scale, float zero, T* y);
/// Computes (x - zero) * scale.
template <class T>
using DequantizeFn = void (*)(const T* x, std::int64_t count, std::int32_t zero, float scale,
                              float* y);
/// Dequantizes elements by a scale and a zero point each, or without zero points if `zeros` is
/// null.
template <class T>
using DequantizeColumnsFn = void (*)(const T* x, std::int64_t count, const T* zeros,
                                     const float* scales, float* y);

/// The scales and zero points of two bytes and of their sum or product, which is a byte again.
struct QuantizedPairScales {
  float a_scale = 1, b_scale = 1, result_scale = 1;
  std::int32_t a_zero = 0, b_zero = 0, result_zero = 0;
};

struct QuantizedPairForm {
  bool multiplies = false;
  bool has_number = false;  ///< b is f32
  bool is_single = false;   ///< b is one element for all
};

/// The tiles that tall strips of one thread set up. Setting their sizes and releasing them take as
/// long as several products, so strips share them; they are released in the end, after which the
/// system need not save them.
struct TallTiles {
  TallTiles() = default;
  TallTiles(const TallTiles&) = delete;
  TallTiles& operator=(const TallTiles&) = delete;
  ~TallTiles() { give_back(); }
  /// Releases them, as must be done before anything else may use the processor's tiles.
  void give_back() {
    if (release != nullptr) release();
    rows = quads = 0;
    release = nullptr;
  }
  std::int64_t rows = 0, quads = 0;  ///< their sizes; 0 rows: none are set
  void (*release)() = nullptr;
};

/// Multiplies any number of rows, whose sums are a strip's.
using TallStripFn = void (*)(const QuadStrip&, std::int64_t rows, TallTiles& tiles);

/// The functions that multiply, by the number of rows - 1.
struct QuadProductFns {
  /// B is signed. A has unsigned bytes, or if `wide_rows` numbers from -255 to 255 in 16 bits.
  void (*strip[kMaxQuadRows])(const QuadStrip&) = {};
  /// A is signed, B unsigned, both bytes. Null if `wide_rows`.
  void (*signed_rows[kMaxQuadRows])(const QuadStrip&) = {};
  bool wide_rows = false;
  /// Multiply many rows at once; faster from kMinTallRows rows on. Null if there are none.
  TallStripFn tall = nullptr, tall_signed_rows = nullptr;
};
inline constexpr std::int64_t kMinTallRows = 8;
/// Quads that tall strips multiply at a time: others at the end are copied first.
inline constexpr std::int64_t kTallQuads = 16;

/// The functions of one instruction set.
struct ByteTables {
  QuadProductFns products;
  /// For panels that bound_quads() has bounded; they have unsigned rows only. No functions where
  /// the instruction set has no products of pairs of bytes.
  QuadProductFns bounded;
  void (*interleave)(const QuadRun&) = nullptr;
  void (*interleave_line)(const QuadLine&) = nullptr;
  void (*copy_quads)(const QuadRuns&) = nullptr;
  void (*tap_sums)(const TapLine& line, std::int32_t* to) = nullptr;
  /// Writes table[from[i]]; the table has 256 bytes.
  void (*map)(const std::uint8_t* from, std::int64_t count, const std::uint8_t* table,
              std::uint8_t* to) = nullptr;
  QuadFinishFn<std::int32_t> finish_i32 = nullptr;
  QuadFinishFn<float> finish_f32 = nullptr;
  QuadFinishFn<std::uint8_t> finish_u8 = nullptr;
  QuadFinishFn<std::int8_t> finish_i8 = nullptr;
  RequantizeFn<std::uint8_t> requantize_u8 = nullptr;
  RequantizeFn<std::int8_t> requantize_i8 = nullptr;
  QuantizeFn<std::uint8_t> quantize_u8 = nullptr;
  QuantizeFn<std::int8_t> quantize_i8 = nullptr;
  QuantizeFn<std::uint16_t> quantize_u16 = nullptr;
  QuantizeFn<std::int16_t> quantize_i16 = nullptr;
  DequantizeFn<std::uint8_t> dequantize_u8 = nullptr;
  DequantizeFn<std::int8_t> dequantize_i8 = nullptr;
  DequantizeColumnsFn<std::uint8_t> dequantize_columns_u8 = nullptr;
  DequantizeColumnsFn<std::int8_t> dequantize_columns_i8 = nullptr;
  /// As steps of element programs: of x, one scale and one zero point. Null for other
  /// types than integers of 8 and 16 bits.
  ElementFn (*quantize_column)(DType to) = nullptr;
  ElementFn (*dequantize_column)(DType from) = nullptr;
  /// Dequantize without a zero point: steps of x and one scale; the second also adds a number or a
  /// column.
  ElementFn (*scale_column)(DType from) = nullptr;
  ElementFn (*scale_and_add)(DType from, bool one) = nullptr;
  /// Adds or multiplies two dequantized columns, or one and numbers in f32, and quantizes the
  /// result: a step of a, QuantizedPairScales and b. Null for other types than bytes.
  ElementFn (*quantized_pair)(DType dtype, QuantizedPairForm form) = nullptr;
};

/// The table that `isa` permits.
const ByteTables& byte_tables(Isa isa);
/// The fastest products that `isa` and this machine permit: those of the table, or instructions for
/// products of bytes.
const QuadProductFns& quad_products(Isa isa);
/// Faster products of a bounded B, or null if quad_products(isa) need no bounds or `isa` has none.
const QuadProductFns* bounded_products(Isa isa);
/// Whether quad_products(isa) are instructions for products of bytes, which are faster than
/// products of pairs (integer_pairs.h).
inline bool multiplies_bytes(Isa isa) { return !quad_products(isa).wide_rows; }

}  // namespace scanloom::kernels
