// Products of matrices of bytes: products in quads (byte_product.h), finished row by row. The zero
// points are subtracted from whole sums:
//   sum of (a - za) (b - zb) = sum of a b - za sum of b - zb sum of a + k za zb.
// A becomes unsigned and B signed by adding or subtracting 128, which only changes zero points.
// B is packed once if it is constant, otherwise in each call. Where the machine has no instructions
// for products of bytes, rows of A are widened to 16 bits in each call, unless B is constant and
// its bytes are small enough to be multiplied as such (bounded_quads.h).
#include "kernels/contract_bytes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/mapped_file.h"
#include "base/thread_pool.h"
#include "kernels/bounded_quads.h"
#include "kernels/byte_product.h"
#include "kernels/product.h"
#include "opmath/quantized_conv.h"
#include "opmath/quantized_matmul.h"
#include "tensor/for_each.h"

namespace scanloom::kernels {
namespace {
namespace contract_bytes {

using enum tensor::integer_matmul::Input;
using tensor::Call;
using tensor::Operand;
using tensor::Status;
using tensor::integer_matmul::of_column;
using tensor::qlinear_conv::byte_at;

// Rows of a task, and upper bound on the tasks that run at a time.
constexpr std::int64_t kTaskRows = 96, kMaxSlots = 16;
// Up to this many rows, writing the terms of columns takes longer than computing them where they
// are added.
constexpr std::int64_t kFewRows = 4;
// Products between two polls, one of which takes as long as some thousand products.
constexpr std::int64_t kWorkBetweenPolls = 1 << 20;
// First in the key of a packed B, where contract has an instruction set for other products.
constexpr std::int64_t kByteForm = -2;
constexpr std::int64_t kLine = 64;  // bytes of a line of the cache
constexpr std::int64_t kStripColumns = kMaxQuadPanels * kQuadColumns;

/// The columns of constant matrices: quads in panels, and their sums.
struct PackedB {
  std::shared_ptr<std::byte> memory;
  std::int8_t* quads = nullptr;
  std::uint32_t* sums = nullptr;
  std::optional<QuadExcesses> excesses;  ///< if the quads are bounded
};

struct ByteSchedule {
  const ByteTables* tables = nullptr;
  const QuadProductFns* products = nullptr;
  std::int64_t m = 0, n = 0, k = 0;  ///< of each product
  std::int64_t quads = 0, panels = 0;
  tensor::Shape batch;  ///< axes around the products; none if all of them share B
  tensor::Shape a_batch, b_batch, y_batch;     ///< their strides; of B in packed matrices
  tensor::Shape b_dims, b_strides;             ///< the batch axes of B itself
  bool in_place = false;                       ///< the rows of A are quads already
  std::optional<std::int64_t> a_step, y_step;  ///< see step_of_rows()
  std::shared_ptr<const PackedB> packed;       ///< null if B changes

  [[nodiscard]] std::int64_t columns() const { return panels * kQuadColumns; }
  /// k, rounded up to whole quads.
  [[nodiscard]] std::int64_t depth() const { return quads * kQuad; }
  [[nodiscard]] std::int64_t row_bytes() const {
    return products->wide_rows ? 2 * depth() : depth();
  }
  /// Whether rows are multiplied by products->tall.
  [[nodiscard]] bool is_tall() const { return products->tall != nullptr && m >= kMinTallRows; }
  /// Rows that are multiplied before their sums are finished.
  [[nodiscard]] std::int64_t strip_rows() const {
    return is_tall() ? std::min(m, kTaskRows) : kMaxQuadRows;
  }
  /// Whether rows of A that are quads already are used where they are. Tall strips read each row
  /// many times, and lines of the cache faster than parts of two.
  [[nodiscard]] bool uses(const std::uint8_t* rows) const {
    return in_place && (!is_tall() || reinterpret_cast<std::uintptr_t>(rows) % kLine == 0);
  }
  [[nodiscard]] std::int64_t matrix_bytes() const { return columns() * depth(); }
  [[nodiscard]] std::int64_t slots() const {
    const std::int64_t tasks =
        (m + kTaskRows - 1) / kTaskRows * ((panels + kMaxQuadPanels - 1) / kMaxQuadPanels);
    return std::min(tasks, kMaxSlots);
  }
};

/// The scratch memory of a call.
struct Scratch {
  std::int32_t *terms, *zeros, *row_sums, *tiles;
  std::uint32_t* b_sums;
  float *scales, *biases;
  std::uint8_t* a;
  std::int8_t* b;
};

std::int64_t in_lines(std::int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

/// Lays out the scratch memory from `base` on; returns its size. Null: only asks for the size.
std::int64_t lay_out(const ByteSchedule& plan, std::byte* base, Scratch& to) {
  std::int64_t used = 0;
  const auto take = [&]<class T>(T*& part, std::int64_t count) {
    part = base == nullptr ? nullptr : reinterpret_cast<T*>(base + used);
    used += in_lines(count * static_cast<std::int64_t>(sizeof(T)));
  };
  take(to.terms, plan.columns());
  take(to.zeros, plan.columns());
  take(to.scales, plan.columns());
  take(to.biases, plan.columns());
  take(to.row_sums, plan.m);
  take(to.tiles, plan.slots() * plan.strip_rows() * kStripColumns);
  const bool packs_b = plan.packed == nullptr;
  take(to.b_sums, packs_b ? plan.columns() : 0);
  take(to.b, packs_b ? plan.matrix_bytes() : 0);
  take(to.a, plan.in_place && !plan.is_tall() ? 0 : plan.m * plan.row_bytes());
  return used;
}

/// The number that a byte of a signed operand stands for, in sums that wrap.
std::uint32_t signed_byte(std::uint8_t byte) {
  return static_cast<std::uint32_t>(static_cast<std::int8_t>(byte));
}

/// Packs four adjacent pieces of rows as one row of a panel. Compilers use vectors, because nothing
/// that is read may be the memory that is written.
void interleave(const std::uint8_t* b, std::int64_t step, std::uint8_t flip, std::uint8_t* to,
                std::uint32_t* sums) {
  std::array<std::array<std::uint8_t, kQuadColumns>, kQuad> rows;
  std::array<std::uint32_t, kQuadColumns> quads, added{};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(rows[i].data(), b + static_cast<std::int64_t>(i) * step, rows[i].size());
    for (std::uint8_t& byte : rows[i]) byte ^= flip;
    for (std::size_t j = 0; j < added.size(); ++j) added[j] += signed_byte(rows[i][j]);
  }
  for (std::size_t j = 0; j < quads.size(); ++j)
    quads[j] = std::uint32_t{rows[0][j]} | std::uint32_t{rows[1][j]} << 8 |
               std::uint32_t{rows[2][j]} << 16 | std::uint32_t{rows[3][j]} << 24;
  static_assert(std::endian::native == std::endian::little, "quads are stored byte by byte");
  std::memcpy(to, quads.data(), sizeof quads);
  for (std::size_t j = 0; j < added.size(); ++j) sums[j] += added[j];
}

/// Packs one matrix. `flip` makes unsigned bytes signed.
void pack_matrix(const ByteSchedule& plan, const std::uint8_t* b, std::int64_t step,
                 std::int64_t column, std::uint8_t flip, std::int8_t* to, std::uint32_t* sums) {
  std::fill_n(sums, plan.columns(), 0U);
  auto* bytes = reinterpret_cast<std::uint8_t*>(to);
  for (std::int64_t first = 0; first < plan.columns(); first += kQuadColumns) {
    const std::int64_t count = std::min(kQuadColumns, plan.n - first);
    for (std::int64_t row = 0; row < plan.depth(); row += kQuad, bytes += kQuadColumns * kQuad) {
      const std::int64_t depth = std::min(kQuad, plan.k - row);
      const std::uint8_t* const corner = b + row * step + first * column;
      if (depth == kQuad && count == kQuadColumns && column == 1) {
        interleave(corner, step, flip, bytes, sums + first);
        continue;
      }
      if (depth < kQuad || count < kQuadColumns)
        std::memset(bytes, 0, static_cast<std::size_t>(kQuadColumns * kQuad));
      for (std::int64_t i = 0; i < depth; ++i) {
        const std::uint8_t* const from = corner + i * step;
        for (std::int64_t j = 0; j < count; ++j) {
          const auto value = static_cast<std::uint8_t>(from[j * column] ^ flip);
          bytes[j * kQuad + i] = value;
          sums[first + j] += signed_byte(value);
        }
      }
    }
  }
}

std::uint8_t flip_of_b(const Operand& b) { return b.dtype == DType::u8 ? 0x80 : 0; }

/// Packs all matrices of a constant B, bounded if `bounds` and if that is faster.
std::shared_ptr<const PackedB> pack_constant_b(const PrepareCtx& ctx, const ByteSchedule& plan,
                                               bool bounds) {
  const Operand& b = ctx.inputs[kB];
  const std::int64_t matrices = plan.b_dims.elements();
  const std::int64_t bytes = matrices * plan.matrix_bytes(), sums = matrices * plan.columns();
  const auto make = [&]() -> std::shared_ptr<const void> {
    auto packed = std::make_shared<PackedB>();
    packed->memory =
        packed_memory<std::byte>(in_lines(bytes) + sums * std::int64_t{sizeof(std::uint32_t)});
    packed->quads = reinterpret_cast<std::int8_t*>(packed->memory.get());
    packed->sums = reinterpret_cast<std::uint32_t*>(packed->memory.get() + in_lines(bytes));
    std::int8_t* quads = packed->quads;
    std::uint32_t* sum = packed->sums;
    tensor::for_each_index(plan.b_dims.dims(), [&](const tensor::Shape& index) {
      const auto* const from = static_cast<const std::uint8_t*>(ctx.constants[kB]) +
                               tensor::offset_of(index, plan.b_strides.data());
      pack_matrix(plan, from, b.strides[b.rank - 2], b.strides[b.rank - 1], flip_of_b(b), quads,
                  sum);
      quads += plan.matrix_bytes();
      sum += plan.columns();
    });
    if (bounds) packed->excesses = bound_quads(matrices * plan.panels, plan.quads, packed->quads);
    // Only the copy is read from now on, unless another node reads the constant.
    if (b.contiguous) release_file_pages(ctx.constants[kB], static_cast<std::size_t>(b.elements()));
    return packed;
  };
  std::vector<std::int64_t> layout{kByteForm, bounds ? 1 : 0, plan.k,
                                   plan.n,    plan.quads,     static_cast<std::int64_t>(b.dtype)};
  for (int axis = 0; axis < b.rank; ++axis)
    layout.insert(layout.end(), {b.dims[axis], b.strides[axis]});
  return std::static_pointer_cast<const PackedB>(ctx.packs->get(
      {ctx.constants[kB], static_cast<int>(KernelId::contract), std::move(layout)}, make));
}

/// Copies a row of A as unsigned numbers, of so many bits, in whole quads.
template <class T>
void copy_row(const ByteSchedule& plan, const Operand& a, const std::uint8_t* __restrict from,
              T* __restrict to) {
  const std::int64_t k = plan.k, depth = plan.depth(), step = a.strides[a.rank - 1];
  const std::uint8_t flip = a.dtype == DType::i8 ? 0x80 : 0;
  if (step == 1)
    for (std::int64_t i = 0; i < k; ++i)
      to[i] = static_cast<T>(static_cast<std::uint8_t>(from[i] ^ flip));
  else
    for (std::int64_t i = 0; i < k; ++i)
      to[i] = static_cast<T>(static_cast<std::uint8_t>(from[i * step] ^ flip));
  std::fill(to + k, to + depth, T{0});
}

template <class T>
std::int32_t sum_of_row(const ByteSchedule& plan, const T* row) {
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < plan.depth(); ++i) sum += static_cast<std::uint32_t>(row[i]);
  return static_cast<std::int32_t>(sum);
}

/// The distance of rows, if all adjacent ones have the same. The axes around the matrices count as
/// rows if all share B.
std::optional<std::int64_t> step_of_rows(const ByteSchedule& plan, const Operand& matrices) {
  const int last = matrices.rank - 2;
  if (plan.batch.rank() > 0) return matrices.strides[last];
  std::int64_t step = 0, rows = 1;
  for (int axis = last; axis >= 0; --axis) {
    if (matrices.dims[axis] == 1) continue;
    if (rows == 1) step = matrices.strides[axis];
    if (matrices.strides[axis] != rows * step) return std::nullopt;
    rows *= matrices.dims[axis];
  }
  return step;
}

std::int64_t row_offset(const Operand& matrices, std::optional<std::int64_t> step,
                        std::int64_t row) {
  if (step) return row * *step;
  std::int64_t offset = 0;
  for (int axis = matrices.rank - 2; axis >= 0; --axis) {
    offset += row % matrices.dims[axis] * matrices.strides[axis];
    row /= matrices.dims[axis];
  }
  return offset;
}

std::int32_t zero_of(const Call& call, int input, std::int64_t column) {
  if (!call.has(input)) return 0;
  return byte_at(call.in(input), of_column(call.in(input), column));
}

bool has_real_bias(const Call& call) {
  return call.has(kBias) && call.in(kBias).dtype == DType::f32;
}

/// Writes what the zero points add to the sums of columns; returns whether one of B is not 0.
bool prepare_zeros(const ByteSchedule& plan, const Call& call, const std::uint32_t* b_sums,
                   const Scratch& scratch) {
  const auto a_zero = static_cast<std::uint32_t>(zero_of(call, kAZero, 0) +
                                                 (call.in(kA).dtype == DType::i8 ? 128 : 0));
  const auto k = static_cast<std::uint32_t>(plan.k);
  const int shift = call.in(kB).dtype == DType::u8 ? 128 : 0;
  if (!call.has(kBZero) || of_column(call.in(kBZero), 1) == 0) {
    const std::int32_t b_zero = zero_of(call, kBZero, 0) - shift;
    const std::uint32_t all = k * static_cast<std::uint32_t>(b_zero);
    for (std::int64_t j = 0; j < plan.n; ++j)
      scratch.terms[j] = static_cast<std::int32_t>(a_zero * (all - b_sums[j]));
    if (b_zero != 0) std::fill_n(scratch.zeros, plan.n, b_zero);
    return b_zero != 0;
  }
  bool any = false;
  for (std::int64_t j = 0; j < plan.n; ++j) {
    const std::int32_t b_zero = zero_of(call, kBZero, j) - shift;
    any |= b_zero != 0;
    scratch.zeros[j] = b_zero;
    scratch.terms[j] =
        static_cast<std::int32_t>(a_zero * (k * static_cast<std::uint32_t>(b_zero) - b_sums[j]));
  }
  return any;
}

void add_integer_bias(const ByteSchedule& plan, const Operand& bias, std::int32_t* terms) {
  const auto* const from = bias.data<const std::uint32_t>();
  for (std::int64_t j = 0; j < plan.n; ++j)
    terms[j] =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(terms[j]) + from[of_column(bias, j)]);
}

/// Returns a parameter with an element for each column of whole panels: in place if it has them,
/// otherwise in `own`.
const float* spread(const ByteSchedule& plan, const Operand& parameter, float* own) {
  const float* const from = parameter.data<const float>();
  const std::int64_t step = of_column(parameter, 1);
  if (step == 1 && plan.n == plan.columns()) return from;
  if (step == 1)
    std::copy_n(from, plan.n, own);
  else
    for (std::int64_t j = 0; j < plan.n; ++j) own[j] = from[j * step];
  return own;
}

/// The operands of one product, ready to be multiplied.
struct Ready {
  const std::uint8_t* a = nullptr;
  const std::int8_t* b = nullptr;
  std::int64_t panel = 0;  ///< the first one among those of all constant matrices
  std::int64_t y = 0;      ///< offset of the result
  bool has_zeros = false;
  /// The finish of all rows, from column 0 on, without the sum and the offset of a row.
  QuadFinish finish;
  std::int32_t b_zero = 0;  ///< of all columns, if there are no terms
};

/// Whether B has one zero point, and the sums get no integers that differ by column.
bool has_equal_columns(const Call& call) {
  const bool one_zero = !call.has(kBZero) || of_column(call.in(kBZero), 1) == 0;
  return one_zero && (!call.has(kBias) || has_real_bias(call));
}

/// Leaves the terms that prepare_zeros() writes to be computed where they are added: with few rows
/// they are read about as often as they would be written.
void leave_zeros(const ByteSchedule& plan, const Call& call, const std::uint32_t* b_sums,
                 Ready& ready) {
  const auto a_zero = static_cast<std::uint32_t>(zero_of(call, kAZero, 0) +
                                                 (call.in(kA).dtype == DType::i8 ? 128 : 0));
  ready.b_zero = zero_of(call, kBZero, 0) - (call.in(kB).dtype == DType::u8 ? 128 : 0);
  ready.has_zeros = ready.b_zero != 0;
  ready.finish.column_sums = b_sums;
  ready.finish.factor = static_cast<std::int32_t>(0 - a_zero);
  ready.finish.offset = static_cast<std::int32_t>(a_zero * static_cast<std::uint32_t>(plan.k) *
                                                  static_cast<std::uint32_t>(ready.b_zero));
}

/// Finds the operands of finishing that differ by column, and writes them where needed.
void prepare_columns(const ByteSchedule& plan, const Call& call, const std::uint32_t* b_sums,
                     const Scratch& scratch, Ready& ready) {
  QuadFinish& finish = ready.finish;
  finish = {.zero = zero_of(call, kYZero, 0)};
  if (plan.m <= kFewRows && has_equal_columns(call)) {
    leave_zeros(plan, call, b_sums, ready);
  } else {
    ready.has_zeros = prepare_zeros(plan, call, b_sums, scratch);
    finish.terms = scratch.terms;
    if (ready.has_zeros) finish.zeros = scratch.zeros;
  }
  if (call.has(kScale)) {
    finish.scale = *call.in(kScale).data<const float>();
    if (of_column(call.in(kScale), 1) != 0)
      finish.scales = spread(plan, call.in(kScale), scratch.scales);
  }
  if (has_real_bias(call))
    finish.biases = spread(plan, call.in(kBias), scratch.biases);
  else if (call.has(kBias))
    add_integer_bias(plan, call.in(kBias), scratch.terms);
}

/// Returns the finish of rows from a column on.
QuadFinish finish_from(const Ready& ready, std::int64_t column) {
  QuadFinish finish = ready.finish;
  for (const std::int32_t** part : {&finish.terms, &finish.zeros})
    if (*part != nullptr) *part += column;
  for (const float** part : {&finish.scales, &finish.biases})
    if (*part != nullptr) *part += column;
  if (finish.terms == nullptr) finish.column_sums += column;
  return finish;
}

/// Adds the sum of a row of A to a finish.
void finish_with(const Ready& ready, std::int32_t row_sum, QuadFinish& finish) {
  finish.row_sum = row_sum;
  finish.offset = static_cast<std::int32_t>(static_cast<std::uint32_t>(ready.finish.offset) -
                                            static_cast<std::uint32_t>(ready.b_zero) *
                                                static_cast<std::uint32_t>(row_sum));
}

void finish_row(const ByteSchedule& plan, const Call& call, const QuadFinish& from,
                std::int64_t at) {
  const Operand& y = call.out(0);
  if (y.dtype == DType::i32) return plan.tables->finish_i32(from, y.data<std::int32_t>() + at);
  if (y.dtype == DType::f32) return plan.tables->finish_f32(from, y.data<float>() + at);
  if (y.dtype == DType::u8) return plan.tables->finish_u8(from, y.data<std::uint8_t>() + at);
  plan.tables->finish_i8(from, y.data<std::int8_t>() + at);
}

/// Multiplies rows of a task from one on, and returns how many.
std::int64_t multiply_rows(const QuadProductFns& fns, const QuadStrip& strip, std::int64_t left,
                           TallTiles& tiles) {
  if (fns.tall != nullptr && left >= kMinTallRows) {
    fns.tall(strip, left, tiles);
    return left;
  }
  const std::int64_t rows = std::min<std::int64_t>(kMaxQuadRows, left);
  fns.strip[rows - 1](strip);
  return rows;
}

/// Multiplies up to kTaskRows rows with up to kMaxQuadPanels panels.
void run_task(const ByteSchedule& plan, const Call& call, const Scratch& scratch,
              const Ready& ready, std::int64_t task, std::int32_t* tile, TallTiles& tiles) {
  const std::int64_t row_tasks = (plan.m + kTaskRows - 1) / kTaskRows;
  const std::int64_t panel = task / row_tasks * kMaxQuadPanels;
  const std::int64_t first = task % row_tasks * kTaskRows, column = panel * kQuadColumns;
  QuadStrip strip{
      .quads = plan.quads, .a_row = plan.row_bytes(), .c = tile, .c_row = kStripColumns};
  strip.panels = static_cast<int>(std::min<std::int64_t>(kMaxQuadPanels, plan.panels - panel));
  strip.b_panel = kQuadColumns * plan.depth();
  strip.b = ready.b + panel * strip.b_panel;
  QuadFinish finish = finish_from(ready, column);
  finish.count = std::min(kStripColumns, plan.n - column);
  const std::int64_t last = std::min(first + kTaskRows, plan.m);
  for (std::int64_t row = first, rows = 0; row < last; row += rows) {
    strip.a = ready.a + row * plan.row_bytes();
    rows = multiply_rows(*plan.products, strip, last - row, tiles);
    if (plan.packed != nullptr && plan.packed->excesses)
      add_excesses(*plan.packed->excesses, strip, ready.panel + panel, rows);
    for (std::int64_t r = 0; r < rows; ++r) {
      finish.sums = tile + r * kStripColumns;
      if (ready.has_zeros) finish_with(ready, scratch.row_sums[row + r], finish);
      finish_row(plan, call, finish,
                 ready.y + row_offset(call.out(0), plan.y_step, row + r) + column);
    }
  }
}

/// Copies a row of A unless it is used in place, and sums it if that is needed.
void prepare_row(const ByteSchedule& plan, const Operand& a, const std::uint8_t* given,
                 std::int64_t row, const Scratch& scratch, const Ready& ready) {
  std::uint8_t* const own = scratch.a + row * plan.row_bytes();
  if (plan.products->wide_rows)
    copy_row(plan, a, given + row_offset(a, plan.a_step, row),
             reinterpret_cast<std::int16_t*>(own));
  else if (ready.a != given)
    copy_row(plan, a, given + row_offset(a, plan.a_step, row), own);
  if (!ready.has_zeros) return;
  const std::uint8_t* const bytes = ready.a + row * plan.row_bytes();
  scratch.row_sums[row] = plan.products->wide_rows
                              ? sum_of_row(plan, reinterpret_cast<const std::int16_t*>(bytes))
                              : sum_of_row(plan, bytes);
}

void one_product(const ByteSchedule& plan, const Call& call, const Scratch& scratch, Ready ready,
                 std::int64_t a_at) {
  const Operand& a = call.in(kA);
  const auto* const given = a.data<const std::uint8_t>() + a_at;
  const std::int64_t work = plan.m * plan.n * plan.k;
  const int threads = work < kMinThreadWork * 4 ? 1 : call.max_threads;
  ready.a = plan.uses(given) ? given : scratch.a;
  if (ready.a != given || ready.has_zeros) {
    const std::int64_t chunks = (plan.m + kTaskRows - 1) / kTaskRows;
    parallel_for(chunks, threads, [&](std::int64_t chunk) {
      const std::int64_t first = chunk * kTaskRows;
      for (std::int64_t row = first; row < std::min(first + kTaskRows, plan.m); ++row)
        prepare_row(plan, a, given, row, scratch, ready);
    });
  }
  const std::int64_t tasks =
      (plan.m + kTaskRows - 1) / kTaskRows * ((plan.panels + kMaxQuadPanels - 1) / kMaxQuadPanels);
  const std::int64_t slots = threads > 1 ? plan.slots() : 1;
  const std::int64_t each = std::max<std::int64_t>(work / std::max<std::int64_t>(tasks, 1), 1);
  const std::int64_t between = std::max<std::int64_t>(kWorkBetweenPolls / each, 1);
  parallel_for(slots, threads, [&](std::int64_t slot) {
    TallTiles tiles;
    for (std::int64_t task = slot, done = 0; task < tasks; task += slots, ++done) {
      if (done % between == between - 1) {
        // A poll may call functions of the user, such as another session's.
        tiles.give_back();
        if (call.stop_requested()) return;
      }
      run_task(plan, call, scratch, ready, task,
               scratch.tiles + slot * plan.strip_rows() * kStripColumns, tiles);
    }
  });
}

Status run(const Call& call) noexcept {
  const ByteSchedule& plan = *static_cast<const ByteSchedule*>(call.prepared);
  if (call.out(0).empty()) return Status::ok;
  Scratch scratch{};
  lay_out(plan, *call.scratch, scratch);
  const Operand& b = call.in(kB);
  std::int64_t known = -1;  // the matrix that the columns are prepared for
  Ready ready;
  tensor::for_each_index(plan.batch.dims(), [&](const tensor::Shape& index) {
    const std::int64_t matrix = tensor::offset_of(index, plan.b_batch.data());
    const std::uint32_t* sums = nullptr;
    if (plan.packed != nullptr) {
      sums = plan.packed->sums + matrix * plan.columns();
      ready.b = plan.packed->quads + matrix * plan.matrix_bytes();
      ready.panel = matrix * plan.panels;
    } else {
      if (matrix != known)
        pack_matrix(plan, b.data<const std::uint8_t>() + matrix, b.strides[b.rank - 2],
                    b.strides[b.rank - 1], flip_of_b(b), scratch.b, scratch.b_sums);
      ready.b = scratch.b;
      sums = scratch.b_sums;
    }
    if (matrix != known) prepare_columns(plan, call, sums, scratch, ready);
    known = matrix;
    ready.y = tensor::offset_of(index, plan.y_batch.data());
    one_product(plan, call, scratch, ready, tensor::offset_of(index, plan.a_batch.data()));
  });
  return call.ok_or_stopped();
}

/// Finds the axes around the products. If there is one B, they are rows of A.
void place_batches(const PrepareCtx& ctx, bool packs_once, ByteSchedule& plan) {
  const Operand &a = ctx.inputs[kA], &b = ctx.inputs[kB], &y = ctx.outputs[0];
  std::int64_t matrices = 1;
  for (int axis = 0; axis + 2 < b.rank; ++axis) {
    plan.b_dims.push_back(b.dims[axis]);
    plan.b_strides.push_back(b.strides[axis]);
    matrices *= b.dims[axis];
  }
  plan.m = y.dims[y.rank - 2];
  if (matrices == 1 && a.rank == y.rank) {
    for (int axis = 0; axis + 2 < y.rank; ++axis) plan.m *= y.dims[axis];
    return;
  }
  const tensor::Shape a_strides = tensor::integer_matmul::strides_of(a, y, -1);
  tensor::Shape b_strides = tensor::integer_matmul::strides_of(b, y, -1);
  if (packs_once) {
    std::int64_t step = 1;  // in packed matrices, of which each axis of B has its own
    for (int axis = y.rank - 3, own = b.rank - 3; own >= 0; --axis, --own) {
      b_strides[axis] = b.dims[own] == 1 ? 0 : step;
      step *= b.dims[own];
    }
  }
  for (int axis = 0; axis + 2 < y.rank; ++axis) {
    plan.batch.push_back(y.dims[axis]);
    plan.a_batch.push_back(a_strides[axis]);
    plan.b_batch.push_back(b_strides[axis]);
    plan.y_batch.push_back(y.strides[axis]);
  }
}

/// Packs a constant B, and multiplies its bytes as such if they are bounded.
void pack_once(const PrepareCtx& ctx, ByteSchedule& plan) {
  const QuadProductFns* const bounded = bounded_products(ctx.isa);
  if (bounded != nullptr) plan.quads += plan.quads % kBoundedQuads;
  if (plan.is_tall() && plan.quads > kTallQuads)
    plan.quads = (plan.quads + kTallQuads - 1) / kTallQuads * kTallQuads;
  plan.packed = pack_constant_b(ctx, plan, bounded != nullptr);
  if (plan.packed->excesses) plan.products = bounded;
}

Prepared prepare(const PrepareCtx& ctx) {
  const Operand &a = ctx.inputs[kA], &y = ctx.outputs[0];
  if (y.dims[y.rank - 1] > 1 && y.strides[y.rank - 1] != 1)
    return Prepared::no("a result whose columns are not adjacent");
  auto plan = std::make_shared<ByteSchedule>();
  plan->tables = &byte_tables(ctx.isa);
  plan->products = &quad_products(ctx.isa);
  plan->n = y.dims[y.rank - 1];
  plan->k = a.dims[a.rank - 1];
  plan->quads = quads_of(plan->k);
  plan->panels = panels_of(plan->n);
  const bool packs_once = ctx.constants[kB] != nullptr && ctx.packs != nullptr && !y.empty();
  place_batches(ctx, packs_once, *plan);
  plan->a_step = step_of_rows(*plan, a);
  plan->y_step = step_of_rows(*plan, y);
  if (packs_once) pack_once(ctx, *plan);
  plan->in_place = a.dtype == DType::u8 && a.contiguous && plan->k == plan->depth() &&
                   !plan->products->wide_rows;
  Scratch scratch{};
  const std::int64_t bytes = lay_out(*plan, nullptr, scratch);
  return {.state = std::move(plan), .scratch_bytes = bytes, .run = run};
}

}  // namespace contract_bytes
}  // namespace

Prepared prepare_byte_product(const PrepareCtx& ctx) { return contract_bytes::prepare(ctx); }

}  // namespace scanloom::kernels
