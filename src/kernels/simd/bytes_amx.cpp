// Products of bytes by AMX, which multiplies whole tiles: 16 rows of 64 bytes along k, times a
// panel of 16 quads. Four sums of 16 x 16 are kept in tiles, so that each tile that is loaded is
// multiplied twice, or with few rows a tile of rows four times. Sums wrap, like those of the other
// instruction sets.
//
// GCC's intrinsics take the numbers of tiles as text, and do not say that they read memory.
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/byte_product.h"

#define SCANLOOM_AMX __attribute__((target("amx-tile,amx-int8")))
#define SCANLOOM_DOT(sums, rows, panel) \
  if constexpr (kSignedA)               \
    _tile_dpbsud(sums, rows, panel);    \
  else                                  \
    _tile_dpbusd(sums, rows, panel)

namespace scanloom::kernels {
namespace {

constexpr std::int64_t kTileRows = 16, kTileQuads = kTallQuads, kTileBytes = kTileQuads * kQuad;

/// The operand of the instruction that sets the sizes of tiles.
struct alignas(64) TileSizes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

void keep_stores() { asm volatile("" ::: "memory"); }

/// Tiles 0 to 3 hold sums, 4 and 5 rows of A, 6 and 7 panels of B.
SCANLOOM_AMX void set_sizes(std::int64_t rows, std::int64_t quads) {
  TileSizes sizes;
  for (int tile = 0; tile < 8; ++tile) {
    sizes.rows[tile] = static_cast<std::uint8_t>(tile < 6 ? rows : quads);
    sizes.row_bytes[tile] =
        static_cast<std::uint16_t>(tile == 4 || tile == 5 ? quads * kQuad : kTileBytes);
  }
  keep_stores();
  _tile_loadconfig(&sizes);
}

/// Operands of tiles: rows from two places, and panels.
struct Tiles {
  const std::byte* a[2];
  std::int64_t a_row;
  const std::byte* b;
  std::int64_t b_row, b_panel;
};

SCANLOOM_AMX inline void clear_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

/// Two tiles of rows by up to two panels.
template <bool kSignedA>
SCANLOOM_AMX inline void add_square(const Tiles& t, bool both) {
  _tile_loadd(6, t.b, t.b_row);
  _tile_loadd(4, t.a[0], t.a_row);
  if (both) _tile_loadd(7, t.b + t.b_panel, t.b_row);
  SCANLOOM_DOT(0, 4, 6);
  _tile_loadd(5, t.a[1], t.a_row);
  SCANLOOM_DOT(1, 5, 6);
  if (!both) return;
  SCANLOOM_DOT(2, 4, 7);
  SCANLOOM_DOT(3, 5, 7);
}

/// One tile of rows by up to four panels.
template <bool kSignedA>
SCANLOOM_AMX inline void add_line(const Tiles& t, int panels) {
  _tile_loadd(4, t.a[0], t.a_row);
  _tile_loadd(6, t.b, t.b_row);
  SCANLOOM_DOT(0, 4, 6);
  if (panels == 1) return;
  _tile_loadd(7, t.b + t.b_panel, t.b_row);
  SCANLOOM_DOT(1, 4, 7);
  if (panels == 2) return;
  _tile_loadd(6, t.b + 2 * t.b_panel, t.b_row);
  SCANLOOM_DOT(2, 4, 6);
  if (panels == 3) return;
  _tile_loadd(7, t.b + 3 * t.b_panel, t.b_row);
  SCANLOOM_DOT(3, 4, 7);
}

/// The quads that do not fill a tile, filled up with zeros.
struct LastQuads {
  alignas(64) std::byte a[2][kTileRows * kTileBytes];
  alignas(64) std::byte b[kMaxQuadPanels][kTileBytes * kTileQuads];
};

void copy_last_rows(const std::byte* from, std::int64_t step, std::int64_t rows, std::int64_t quads,
                    std::byte* to) {
  for (std::int64_t r = 0; r < rows; ++r, from += step, to += kTileBytes) {
    std::memcpy(to, from, static_cast<std::size_t>(quads * kQuad));
    std::memset(to + quads * kQuad, 0, static_cast<std::size_t>((kTileQuads - quads) * kQuad));
  }
}

void copy_last_quads(const std::byte* from, std::int64_t step, std::int64_t quads, std::byte* to) {
  for (std::int64_t i = 0; i < quads; ++i, from += step, to += kTileBytes)
    std::memcpy(to, from, kTileBytes);
  std::memset(to, 0, static_cast<std::size_t>((kTileQuads - quads) * kTileBytes));
}

/// The rows of one strip, whose sizes of tiles are set.
template <bool kSignedA>
class TallStrip {
 public:
  TallStrip(const QuadStrip& s, std::int64_t rows)
      : s_(s), rows_(rows), steps_(whole_steps(s.quads)) {
    if (s.quads < kTileQuads) return;
    last_ = s.quads % kTileQuads;
    for (int p = 0; p < s_.panels && last_ > 0; ++p)
      copy_last_quads(panel(p) + steps_ * kTileQuads * s_.b_step, s_.b_step, last_, quads_.b[p]);
  }

  SCANLOOM_AMX void run() {
    std::int64_t row = 0;
    // Tiles of rows at the end are full, and may compute some rows again.
    for (int p = 0; p < s_.panels; p += 2)
      for (row = 0; rows_ - row > kTileRows; row += 2 * kTileRows) square(row, p);
    if (row < rows_) line(std::max<std::int64_t>(0, rows_ - kTileRows));
  }

 private:
  /// Fewer quads than a tile has are one step of smaller tiles.
  static std::int64_t whole_steps(std::int64_t quads) {
    return quads < kTileQuads ? std::min<std::int64_t>(quads, 1) : quads / kTileQuads;
  }

  [[nodiscard]] const std::byte* a(std::int64_t row) const {
    return static_cast<const std::byte*>(s_.a) + row * s_.a_row;
  }
  [[nodiscard]] const std::byte* panel(int p) const {
    return static_cast<const std::byte*>(s_.b) + p * s_.b_panel;
  }
  [[nodiscard]] std::int32_t* c(std::int64_t row, int p) const {
    return s_.c + row * s_.c_row + p * kQuadColumns;
  }

  SCANLOOM_AMX void square(std::int64_t row, int p) {
    const std::int64_t second = std::min(row + kTileRows, rows_ - kTileRows);
    const bool both = p + 1 < s_.panels;
    Tiles tiles{{a(row), a(second)}, s_.a_row, panel(p), s_.b_step, s_.b_panel};
    clear_sums();
    for (std::int64_t i = 0; i < steps_; ++i) {
      add_square<kSignedA>(tiles, both);
      advance(tiles);
    }
    if (last_ > 0) add_square<kSignedA>(last(tiles, p, 2, kTileRows), both);
    const std::int64_t step = s_.c_row * std::int64_t{sizeof(std::int32_t)};
    _tile_stored(0, c(row, p), step);
    _tile_stored(1, c(second, p), step);
    if (!both) return;
    _tile_stored(2, c(row, p + 1), step);
    _tile_stored(3, c(second, p + 1), step);
  }

  SCANLOOM_AMX void line(std::int64_t row) {
    Tiles tiles{{a(row), nullptr}, s_.a_row, panel(0), s_.b_step, s_.b_panel};
    clear_sums();
    for (std::int64_t i = 0; i < steps_; ++i) {
      add_line<kSignedA>(tiles, s_.panels);
      advance(tiles);
    }
    if (last_ > 0) add_line<kSignedA>(last(tiles, 0, 1, std::min(rows_, kTileRows)), s_.panels);
    const std::int64_t step = s_.c_row * std::int64_t{sizeof(std::int32_t)};
    _tile_stored(0, c(row, 0), step);
    if (s_.panels > 1) _tile_stored(1, c(row, 1), step);
    if (s_.panels > 2) _tile_stored(2, c(row, 2), step);
    if (s_.panels > 3) _tile_stored(3, c(row, 3), step);
  }

  void advance(Tiles& tiles) const {
    for (const std::byte*& rows : tiles.a) rows += kTileBytes;
    tiles.b += kTileQuads * s_.b_step;
  }

  /// What is left where `at` points to, as tiles of full size.
  Tiles last(const Tiles& at, int p, int row_tiles, std::int64_t rows) {
    for (int tile = 0; tile < row_tiles; ++tile)
      copy_last_rows(at.a[tile], s_.a_row, rows, last_, quads_.a[tile]);
    keep_stores();
    return {{quads_.a[0], quads_.a[1]}, kTileBytes, quads_.b[p], kTileBytes, sizeof(quads_.b[0])};
  }

  const QuadStrip& s_;
  const std::int64_t rows_, steps_;
  std::int64_t last_ = 0;
  LastQuads quads_;
};

SCANLOOM_AMX void release_tiles() { _tile_release(); }

template <bool kSignedA>
SCANLOOM_AMX void amx_strip(const QuadStrip& s, std::int64_t rows, TallTiles& tiles) {
  const std::int64_t of_tile = std::min(rows, kTileRows);
  const std::int64_t quads = std::clamp<std::int64_t>(s.quads, 1, kTileQuads);
  if (tiles.rows != of_tile || tiles.quads != quads) {
    set_sizes(of_tile, quads);
    tiles.rows = of_tile;
    tiles.quads = quads;
    tiles.release = release_tiles;
  }
  keep_stores();
  TallStrip<kSignedA>(s, rows).run();
  keep_stores();
}

}  // namespace

extern constinit const TallStripFn kAmxStrip = amx_strip<false>, kAmxSignedRows = amx_strip<true>;

}  // namespace scanloom::kernels

#undef SCANLOOM_AMX
#undef SCANLOOM_DOT
#endif
