#include "kernels/conv_planes_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/mapped_file.h"
#include "kernels/any_address.h"
#include "kernels/product.h"
#include "kernels/simd.h"

namespace scanloom::kernels {
namespace {

using tensor::ConvGeometry;
using tensor::Operand;

constexpr std::size_t kMaxPhases = 256;
constexpr std::int64_t kMinFilters = 12;      ///< of a task
constexpr std::int64_t kGroupResults = 4096;  ///< of several groups in a task
/// Minima from which packing panels pays: a packed window meets all filters, and each group of
/// panels reads the weights again.
constexpr std::int64_t kMinPanelFilters = 32, kMinPanelPositions = 512;
constexpr std::int64_t kMinPositions = 256;  ///< of a task over a single spatial axis
/// The same of a task with an epilogue, each of whose steps begins anew for each filter.
constexpr std::int64_t kMinEpiloguePositions = 512;

/// The greatest distance on the grid between a window's position and its taps.
std::int64_t reach_of(const ConvGeometry& g, std::size_t axis) {
  return (g.kernel[axis] - 1) * g.dilation[axis] / g.stride[axis];
}

std::int64_t phase_along(const ConvGeometry& g, std::size_t axis, const AxisSizes& tap) {
  return tap[axis] * g.dilation[axis] % g.stride[axis];
}

/// The phases of all axes except the last.
AxisSizes outer_phase_of(const ConvGeometry& g, const AxisSizes& tap) {
  AxisSizes phase{};
  for (std::size_t axis = 0; axis + 1 < static_cast<std::size_t>(g.spatial); ++axis)
    phase[axis] = phase_along(g, axis, tap);
  return phase;
}

/// Finds the phases that taps meet; false if they are too many.
template <class T>
bool find_phases(PlanesSchedule<T>& plan) {
  const ConvGeometry& g = plan.geometry;
  const std::size_t last = plan.grid.last();
  bool several = false;
  for_each_position(g.spatial, g.kernel, [&](const AxisSizes& tap) {
    several |= phase_along(g, last, tap) != 0;
    const AxisSizes phase = outer_phase_of(g, tap);
    if (plan.grid.outer_phases.size() <= kMaxPhases &&
        std::ranges::find(plan.grid.outer_phases, phase) == plan.grid.outer_phases.end())
      plan.grid.outer_phases.push_back(phase);
  });
  if (several) plan.grid.last_phases = g.stride[last];
  return plan.grid.outer_phases.size() <= kMaxPhases &&
         plan.grid.last_phases <= static_cast<std::int64_t>(kMaxPhases);
}

/// Merges the last axis into the one before where windows do not move along it: one long row is
/// copied and stored faster than many short ones.
void merge_axes(ConvGeometry& g, AxisSizes& x_axis) {
  while (g.spatial > 1) {
    const auto last = static_cast<std::size_t>(g.spatial - 1), before = last - 1;
    const std::int64_t size = g.in[last];
    const bool still =
        g.kernel[last] == 1 && g.stride[last] == 1 && g.pad[last] == 0 && g.out[last] == size;
    const bool adjacent = size == 1 || x_axis[before] == size * x_axis[last];
    if (!still || !adjacent || (size != 1 && g.stride[before] != 1)) return;
    if (size != 1) x_axis[before] = x_axis[last];
    for (auto* list : {&g.in, &g.out, &g.pad, &g.dilation}) (*list)[before] *= size;
    --g.spatial;
  }
}

/// Elements of all planes for one position along axis 0, or nullopt if there are more than `limit`.
template <class T>
std::optional<std::int64_t> elements_per_position(const PlanesSchedule<T>& plan,
                                                  std::int64_t limit) {
  const ConvGeometry& g = plan.geometry;
  std::int64_t elements = g.channels * plan.grid.phases();
  for (std::size_t axis = 1; axis < static_cast<std::size_t>(g.spatial); ++axis) {
    const std::int64_t size = g.out[axis] + reach_of(g, axis);
    if (size > limit / elements) return std::nullopt;
    elements *= size;
  }
  return elements;
}

/// The same of planes with the channels last.
template <class T>
std::optional<std::int64_t> last_per_position(PlanesSchedule<T>& plan, std::int64_t limit) {
  plan.last_planes.geometry = plan.geometry;
  plan.last_planes.x_axis = plan.x_axis;
  if (!plan.last_planes.lay_out(1, sizeof(T), limit)) return std::nullopt;
  return plan.last_planes.pitch[0] * plan.last_planes.step[0];
}

/// Whether x holds all windows as planes would.
template <class T>
bool is_planes(const PlanesSchedule<T>& plan) {
  const ConvGeometry& g = plan.geometry;
  constexpr std::int64_t kBytes = sizeof(T);
  const std::size_t last = plan.grid.last();
  for (std::size_t axis = 0; axis <= last; ++axis)
    if (g.pad[axis] != 0 ||
        (g.out[axis] - 1) * g.stride[axis] + (g.kernel[axis] - 1) * g.dilation[axis] >= g.in[axis])
      return false;
  if (plan.reads_last) return !share_cache_sets(g.stride[last] * plan.x_axis[last] * kBytes);
  return g.stride[last] == 1 && plan.x_axis[last] == 1;
}

/// The elements from one tap to the next where x is read without packing, or 0: a single line of
/// few taps, which the L1 cache and its table of pages hold although they are far apart.
template <class T>
std::int64_t tap_step_in_place(const PlanesSchedule<T>& plan) {
  constexpr std::int64_t kPage = 4096, kMaxTaps = 64, kTapsOfSet = 4;
  if (!plan.in_place || plan.geometry.spatial != 1 || plan.geometry.kernel[0] != 1 ||
      plan.k > kMaxTaps || plan.k > plan.panel_taps)
    return 0;
  const std::int64_t apart = plan.x_channel * std::int64_t{sizeof(T)};
  return plan.k * std::gcd(apart, kPage) <= kTapsOfSet * kPage ? plan.x_channel : 0;
}

/// Elements of all planes for one position along axis 0, or those of the results that are read back
/// for every few taps, if these are more.
template <class T>
std::int64_t cached_per_position(const PlanesSchedule<T>& plan, std::int64_t of_planes) {
  if (plan.panels == nullptr) return of_planes;
  const std::int64_t results = plan.geometry.filters * (plan.positions / plan.geometry.out[0]) / 2;
  return std::max(plan.in_place ? 1 : of_planes, results);
}

/// Returns the positions along axis 0 of a band of packed windows, from `fewest` to `most`: the
/// number that leaves the fewest columns of vectors idle at the ends of bands.
template <class T>
std::int64_t panel_band(const PlanesSchedule<T>& plan, std::int64_t fewest, std::int64_t most) {
  constexpr std::int64_t kTried = 64;
  const std::int64_t out = plan.geometry.out[0], per_position = plan.positions / out;
  const std::int64_t vector = plan.panels->columns / 2;
  const auto vectors = [&](std::int64_t positions) {
    return (positions * per_position + vector - 1) / vector;
  };
  std::int64_t best = fewest, least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t size = fewest; size <= std::min(most, fewest + kTried); ++size) {
    const std::int64_t taken = out / size * vectors(size) + vectors(out % size);
    if (taken < least) best = size, least = taken;
  }
  return best;
}

/// Tasks of packed windows are bands: windows are packed again for every part of the filters, of
/// which there are several only where bands are few.
template <class T>
void choose_panel_tasks(PlanesSchedule<T>& plan, std::int64_t wanted, std::int64_t fewest) {
  const std::int64_t out = plan.geometry.out[0], filters = plan.geometry.filters;
  const std::int64_t target = std::clamp((out + wanted - 1) / wanted, fewest, plan.band_size);
  plan.band_size = panel_band(plan, target, std::min(plan.band_size, 2 * target));
  const std::int64_t bands = (out + plan.band_size - 1) / plan.band_size;
  plan.parts = std::clamp<std::int64_t>(wanted / (2 * bands), 1,
                                        std::max<std::int64_t>(filters / kMinPanelFilters, 1));
  plan.filters = (filters + plan.parts - 1) / plan.parts;
  plan.parts = (filters + plan.filters - 1) / plan.filters;
}

/// Tasks of blocks are parts of the filters where all weights are more than all planes, otherwise
/// bands: a task reads all weights of its part, and fills the planes of its band.
template <class T>
void choose_block_tasks(PlanesSchedule<T>& plan, std::int64_t wanted, std::int64_t fewest,
                        std::int64_t of_planes) {
  const ConvGeometry& g = plan.geometry;
  const std::int64_t width = plan.block_vectors * plan.blocks->lanes;
  const std::int64_t all = std::max<std::int64_t>(g.filters / width, 1);
  // Where the channels come last, an epilogue takes the filters of a position at a time.
  constexpr std::int64_t kMinFiltersLast = 128;
  const bool few_at_once = plan.y_step != 1 && plan.epilogue.present();
  const std::int64_t blocks =
      few_at_once ? std::max<std::int64_t>(g.filters / kMinFiltersLast, 1) : all;
  const auto split_filters = [&](std::int64_t parts) {
    plan.filters = (all + parts - 1) / parts * width;
    plan.parts = std::max<std::int64_t>(g.filters / plan.filters, 1);
    if (plan.parts == 1) plan.filters = g.filters;
  };
  const auto split_positions = [&](std::int64_t bands) {
    plan.band_size = std::min(plan.band_size, std::max((g.out[0] + bands - 1) / bands, fewest));
  };
  // Every band reads all weights, which a part of the cache does not hold, so planes that the cache
  // still holds are one band.
  constexpr std::int64_t kCached = 1024 * 1024 / std::int64_t{sizeof(T)};
  if (plan.reads_last && g.filters * plan.k > kCached &&
      of_planes * (g.out[0] + reach_of(g, 0)) <= kCached)
    plan.band_size = g.out[0];
  const std::int64_t bands = (g.out[0] + plan.band_size - 1) / plan.band_size;
  wanted = std::max<std::int64_t>(wanted / bands, 1);
  // Blocks that overlap must not be those of two threads.
  const bool overlaps = plan.y_step != 1 && g.filters % plan.blocks->lanes != 0;
  if (!overlaps && g.filters * plan.k > of_planes * (g.out[0] + reach_of(g, 0)))
    split_filters(std::min(blocks, wanted));
  else
    split_positions(wanted * bands);
}

/// Returns the most bands that are worth it where an epilogue follows: at least two, for two
/// threads.
template <class T>
std::int64_t bands_with_epilogue(const PlanesSchedule<T>& plan) {
  if (!plan.epilogue.present()) return kPlaneTasks;
  return std::max<std::int64_t>(plan.positions / kMinEpiloguePositions, 2);
}

template <class T>
void choose_tasks(PlanesSchedule<T>& plan, std::int64_t of_planes) {
  const ConvGeometry& g = plan.geometry;
  const std::int64_t reach = reach_of(g, 0);
  const std::int64_t per_position = cached_per_position(plan, of_planes);
  const std::int64_t fewest =
      g.spatial == 1 ? std::max(kMinPositions, reach) : std::max<std::int64_t>(2 * reach, 4);
  const std::int64_t cached =
      kPlanesBytes / static_cast<std::int64_t>(sizeof(T)) / per_position - reach;
  plan.band_size = std::min(std::max(cached, fewest), g.out[0]);
  plan.filters = g.filters;
  const std::int64_t work = plan.k * plan.positions * g.filters * g.group * g.batch;
  const bool shares = work > kMinThreadWork;
  const std::int64_t wanted = (kPlaneTasks + g.batch * g.group - 1) / (g.batch * g.group);
  if (plan.blocks != nullptr) {
    choose_block_tasks(plan, shares ? wanted : 1, fewest, of_planes);
  } else if (plan.panels != nullptr) {
    choose_panel_tasks(plan, shares ? wanted : 1, std::min(fewest, plan.band_size));
  } else if (shares && wanted > 1) {
    if (g.filters * plan.k > of_planes * (g.out[0] + reach)) {
      plan.parts = std::clamp<std::int64_t>(g.filters / kMinFilters, 1, wanted);
      plan.filters = (g.filters + plan.parts - 1) / plan.parts;
      plan.parts = (g.filters + plan.filters - 1) / plan.filters;
    } else {
      const std::int64_t bands = std::min(wanted, bands_with_epilogue(plan));
      plan.band_size = std::min(plan.band_size, std::max((g.out[0] + bands - 1) / bands, fewest));
    }
  }
  plan.bands = (g.out[0] + plan.band_size - 1) / plan.band_size;
  if (plan.panels == nullptr && plan.blocks == nullptr && plan.bands == 1 && plan.parts == 1) {
    // Small groups go together, so that there is more to do than to begin tasks.
    const std::int64_t most = std::max<std::int64_t>(shares ? g.group / kPlaneTasks : g.group, 1);
    plan.groups = std::clamp<std::int64_t>(kGroupResults / (plan.positions * g.filters), 1, most);
  }
  plan.slots = shares ? std::min(plan.tasks(), kPlaneTasks) : 1;
}

/// Whether reading all planes for every few filters takes less from memory than reading all weights
/// for every few positions. What is walked again stays in the cache if it is small.
template <class T>
bool puts_filters_outside(const PlanesSchedule<T>& plan) {
  constexpr std::int64_t kCached = 2 * kPlanesBytes / std::int64_t{sizeof(T)};
  constexpr std::int64_t kFilters = 6, kPositions = 64;  // of a tile, about
  const std::int64_t planes = plan.plane_elements(), weights = plan.filters * plan.k;
  const std::int64_t positions = plan.band_size * (plan.positions / plan.geometry.out[0]);
  const auto times = [&](std::int64_t elements, std::int64_t count, std::int64_t tile) {
    return elements <= kCached ? 1 : (count + tile - 1) / tile;
  };
  const double outside =
      static_cast<double>(planes) * static_cast<double>(times(planes, plan.filters, kFilters)) +
      static_cast<double>(weights);
  const double inside =
      static_cast<double>(weights) * static_cast<double>(times(weights, positions, kPositions)) +
      static_cast<double>(planes);
  return outside == inside ? weights > planes : outside < inside;
}

/// Lines of a whole band.
template <class T>
std::int64_t count_lines(const PlanesSchedule<T>& plan) {
  const ConvGeometry& g = plan.geometry;
  std::int64_t count = g.spatial == 1 ? 1 : plan.band_size;
  for (std::size_t axis = 1; axis + 1 < static_cast<std::size_t>(g.spatial); ++axis)
    count *= g.out[axis];
  return count;
}

/// Offsets of taps in the planes.
template <class T>
void lay_out_taps(PlanesSchedule<T>& plan) {
  const ConvGeometry& g = plan.geometry;
  const auto axes = static_cast<std::size_t>(g.spatial);
  const std::size_t last = plan.grid.last();
  for (std::int64_t channel = 0; channel < g.channels; ++channel)
    for_each_position(g.spatial, g.kernel, [&](const AxisSizes& tap) {
      const auto outer = std::ranges::find(plan.grid.outer_phases, outer_phase_of(g, tap));
      std::int64_t at = (channel * plan.grid.phases() +
                         (outer - plan.grid.outer_phases.begin()) * plan.grid.last_phases +
                         phase_along(g, last, tap)) *
                        plan.grid.plane;
      for (std::size_t axis = 0; axis < axes; ++axis)
        at += tap[axis] * g.dilation[axis] / g.stride[axis] * plan.grid.pitch[axis];
      plan.taps.push_back(at);
    });
}

/// Offsets of taps in x.
template <class T>
void lay_out_taps_in_place(PlanesSchedule<T>& plan) {
  const ConvGeometry& g = plan.geometry;
  for (std::int64_t channel = 0; channel < g.channels; ++channel)
    for_each_position(g.spatial, g.kernel, [&](const AxisSizes& tap) {
      std::int64_t at = channel * plan.x_channel;
      for (std::size_t axis = 0; axis <= plan.grid.last(); ++axis)
        at += tap[axis] * g.dilation[axis] * plan.x_axis[axis];
      plan.taps.push_back(at);
    });
}

template <class T>
void lay_out_planes(PlanesSchedule<T>& plan) {
  const ConvGeometry& g = plan.geometry;
  const auto axes = static_cast<std::size_t>(g.spatial);
  for (std::size_t axis = 0; axis < axes; ++axis)
    plan.grid.size[axis] = (axis == 0 ? plan.band_size : g.out[axis]) + reach_of(g, axis);
  plan.grid.lay_out();
  if (plan.in_place)
    lay_out_taps_in_place(plan);
  else if (plan.reads_last)
    plan.taps = plan.last_planes.taps();
  else
    lay_out_taps(plan);
  if (plan.single) plan.taps.resize(static_cast<std::size_t>(plan.k));  // of the first channel
  // Elements from a line to the next along an axis.
  const auto apart = [&](std::size_t axis) {
    if (plan.in_place) return g.stride[axis] * plan.x_axis[axis];
    return plan.reads_last ? plan.last_planes.step[axis] * plan.last_planes.pitch[axis]
                           : plan.grid.pitch[axis];
  };
  AxisSizes at{};
  const std::int64_t count = count_lines(plan);
  for (std::int64_t line = 0; line < count; ++line) {
    std::int64_t rest = line, start = 0;
    for (std::size_t axis = axes - 1; axis-- > 0;) {
      const std::int64_t size = axis == 0 ? plan.band_size : g.out[axis];
      at[axis] = rest % size;
      rest /= size;
      start += at[axis] * apart(axis);
    }
    plan.lines.push_back({start, line * g.out[axes - 1]});
  }
}

/// Returns the vectors of most blocks of filters. Wide blocks pay where lines fill their tiles, and
/// where positions are adjacent, or taps are read in stretches. The tiles of wide blocks have fewer
/// positions, so they read the weights more often, and wait for many that few positions share.
template <class T>
std::int64_t vectors_of_blocks(const PlanesSchedule<T>& plan, const ConvBlockFns<T>& fns) {
  constexpr std::int64_t kMinAdjacent = 15, kMinInStretches = 10;  // positions of a line
  constexpr std::int64_t kFewTaps = 256, kManyPositions = 256;
  const std::int64_t line = plan.geometry.out[plan.grid.last()];
  const bool few_weights = plan.k <= kFewTaps || plan.positions >= kManyPositions;
  const bool fits = plan.y_step == 1 || may_overlap(fns, fns.wide, plan.geometry.filters);
  const bool pays = plan.reads_last ? plan.fetches() && line >= kMinInStretches && few_weights
                                    : line >= kMinAdjacent;
  return pays && fits ? fns.wide : fns.usual;
}

/// Whether blocks of filters are faster than other ways: with few idle lanes, and enough taps to be
/// worth storing sums twice and transposing them in between.
template <class T>
bool suits_blocks(const PrepareCtx& ctx, const PlanesSchedule<T>& plan, PlanesUse use) {
  constexpr std::int64_t kMinTaps = 96, kMinInLine = 4;
  const ConvBlockFns<T>& fns = conv_block_fns<T>(ctx.isa);
  const ConvGeometry& g = plan.geometry;
  if (use == PlanesUse::blocks && (ctx.constants[1] == nullptr || ctx.packs == nullptr))
    return false;
  if (plan.y_step != 1)
    return fns.broadcasts && may_overlap(fns, vectors_of_blocks(plan, fns), g.filters);
  if (plan.reads_last) return g.filters >= fns.lanes;
  if (plan.k < kMinTaps || g.out[plan.grid.last()] < kMinInLine) return false;
  // Short tiles meet an element of x again only where windows overlap.
  const bool panels_are_faster = plan.positions >= kMinPanelPositions &&
                                 !(fns.broadcasts && (fns.tall || g.kernel_positions() > 1));
  const std::int64_t idle = (fns.lanes - g.filters % fns.lanes) % fns.lanes;
  return !panels_are_faster && g.filters >= 2 * fns.lanes && 8 * idle <= g.filters;
}

/// Makes groups of one channel and one filter a single one, whose filters differ in their channel.
template <class T>
void join_single_channels(PlanesSchedule<T>& plan) {
  ConvGeometry& g = plan.geometry;
  plan.single = g.channels == 1 && g.filters == 1 && g.group > 1;
  if (plan.single) g.channels = g.filters = std::exchange(g.group, 1);
}

/// The rows of the kernel that meet elements of x in the window of a result along axis 0; at least
/// one.
PlanesSection section_of(const ConvGeometry& g, std::int64_t at) {
  const std::int64_t before = g.pad[0] - at * g.stride[0];
  const std::int64_t inside = before + g.in[0];  // from tap 0 to the end of x
  const auto rounded_up = [&](std::int64_t distance) {
    return distance <= 0 ? 0 : (distance + g.dilation[0] - 1) / g.dilation[0];
  };
  PlanesSection section{.first = at, .size = 1};
  section.first_row = std::min(rounded_up(before), g.kernel[0] - 1);
  section.rows =
      std::max<std::int64_t>(std::min(rounded_up(inside), g.kernel[0]) - section.first_row, 1);
  return section;
}

/// Whether an operand is constant, and none of its elements is excluded.
template <class T>
bool has_no_value(const PrepareCtx& ctx, std::size_t input, bool (*excluded)(T)) {
  if (input >= ctx.inputs.size() || input >= ctx.constants.size()) return false;
  const Operand& operand = ctx.inputs[input];
  const auto* const values = static_cast<const T*>(ctx.constants[input]);
  if (values == nullptr || !operand.contiguous) return false;
  const std::int64_t count = operand.elements();
  std::int64_t i = 0;
  while (i < count && !excluded(element_at(values, i))) ++i;
  return i == count;
}

/// Whether products with padding change no result, so that they may be left out. Weights that are
/// not finite give NaN. Otherwise only the sign of a sum that is 0 may change, which a bias other
/// than -0 hides, and some epilogues do.
template <class T>
bool may_omit_padding(const PrepareCtx& ctx, const ConvEpilogue& epilogue) {
  const bool hidden =
      epilogue.hides_sign_of_zero(ctx.outputs[0].dtype) ||
      has_no_value<T>(ctx, 2, [](T value) { return value == 0 && std::signbit(value); });
  return hidden && has_no_value<T>(ctx, 1, [](T value) { return !std::isfinite(value); });
}

/// Divides the result into sections where that leaves out much; otherwise it is one section.
template <class T>
std::vector<PlanesSection> sections_of(const PrepareCtx& ctx, const PlanesSchedule<T>& plan) {
  const ConvGeometry& g = plan.geometry;
  constexpr std::size_t kMaxSections = 8;
  constexpr double kWorthIt = 0.75;       // of the products
  constexpr std::int64_t kMinTile = 14;   // positions of a section, which fill a tile
  constexpr std::int64_t kMaxCopies = 3;  // of the weights
  const PlanesSection whole{.first = 0, .size = g.out[0], .first_row = 0, .rows = g.kernel[0]};
  if (g.kernel[0] == 1) return {whole};
  std::vector<PlanesSection> sections;
  double products = 0;
  std::int64_t copies = 0;
  for (std::int64_t at = 0; at < g.out[0]; ++at) {
    const PlanesSection section = section_of(g, at);
    products += static_cast<double>(section.rows);
    if (!sections.empty() && sections.back().first_row == section.first_row &&
        sections.back().rows == section.rows) {
      ++sections.back().size;
      continue;
    }
    if (sections.size() == kMaxSections) return {whole};
    sections.push_back(section);
    copies += section.rows;
  }
  const double all = static_cast<double>(g.kernel[0]) * static_cast<double>(g.out[0]);
  const std::int64_t of_one = plan.positions / g.out[0];
  const bool fills_tiles = std::ranges::all_of(
      sections, [&](const PlanesSection& section) { return section.size * of_one >= kMinTile; });
  const bool omits =
      fills_tiles && products <= kWorthIt * all && copies <= kMaxCopies * g.kernel[0];
  if (!omits || !may_omit_padding<T>(ctx, plan.epilogue)) return {whole};
  return sections;
}

template <class T>
void pack_section(const PrepareCtx& ctx, const PlanesSchedule<T>& plan, PlanesSection& section) {
  const ConvGeometry& g = plan.geometry;
  const std::int64_t lanes = plan.blocks->lanes, of_row = g.kernel_positions() / g.kernel[0];
  const PeriodicTaps taps{g.kernel_positions(), section.first_row * of_row, section.rows * of_row};
  for (std::int64_t at = taps.first; at < plan.k; at += taps.period)
    section.taps.insert(section.taps.end(), plan.taps.begin() + at,
                        plan.taps.begin() + at + taps.kept);
  section.packed_group = block_weights(g.filters, taps.of(plan.k), lanes);
  const LastBlock last = plan.y_step == 1 ? LastBlock::idles : LastBlock::overlaps;
  const auto make = [&]() -> std::shared_ptr<const void> {
    std::shared_ptr<T> memory = packed_memory<T>(g.group * section.packed_group);
    for (std::int64_t group = 0; group < g.group; ++group)
      pack_filter_blocks(
          *plan.blocks, plan.block_vectors,
          static_cast<const T*>(ctx.constants[1]) + group * g.filters * plan.w_filter,
          plan.w_filter, g.filters, plan.k, taps, last,
          memory.get() + group * section.packed_group);
    // From now on only the copy is read.
    if (ctx.inputs[1].contiguous)
      release_file_pages(ctx.constants[1],
                         static_cast<std::size_t>(ctx.inputs[1].elements()) * sizeof(T));
    return memory;
  };
  // -2: neither the panels of conv.cpp nor trimmed weights.
  std::vector<std::int64_t> layout{
      -2,        lanes,  plan.block_vectors, std::int64_t{sizeof(T)}, g.group,
      g.filters, plan.k, plan.w_filter};
  if (last == LastBlock::overlaps && g.filters % lanes != 0) layout.push_back(-1);
  if (section.rows != g.kernel[0])
    layout.insert(layout.end(), {taps.period, taps.first, taps.kept});
  section.packed =
      ctx.packs->get({ctx.constants[1], static_cast<int>(KernelId::conv), std::move(layout)}, make);
}

}  // namespace

template <class T>
std::optional<Refusal> schedule_planes(PlanesSchedule<T>& plan, const PrepareCtx& ctx,
                                       const ConvGeometry& geometry, PlanesUse use) {
  const Operand &x = ctx.inputs[0], &y = ctx.outputs[0];
  plan.fns = conv_fns<T>(ctx.isa);
  plan.geometry = geometry;
  plan.k = geometry.channels * geometry.kernel_positions();
  plan.positions = geometry.out_positions();
  plan.x_image = x.strides[0];
  plan.x_channel = x.strides[1];
  AxisSizes x_axis{};
  std::copy_n(x.strides + 2, geometry.spatial, x_axis.begin());
  plan.w_filter = ctx.inputs[1].strides[0];
  plan.y_image = y.strides[0];
  plan.y_filter = y.strides[1];
  const auto last = static_cast<std::size_t>(geometry.spatial - 1);
  const bool in_blocks = use == PlanesUse::blocks || use == PlanesUse::forecast;
  if (tensor::is_channels_last(y)) plan.y_step = y.strides[y.rank - 1];
  if (in_blocks && plan.y_step != 1) join_single_channels(plan);
  plan.reads_last = in_blocks && plan.x_channel == 1 && plan.geometry.channels > 1 &&
                    x_axis[last] >= plan.geometry.channels;
  if (plan.single && !plan.reads_last) return "single channels that are not last";
  if (plan.k == 0 || plan.positions == 0 || plan.geometry.batch == 0 || plan.geometry.filters == 0)
    return "nothing to sum";
  merge_axes(plan.geometry, x_axis);
  plan.x_axis = x_axis;
  plan.grid = {.spatial = plan.geometry.spatial,
               .in = plan.geometry.in,
               .x_axis = x_axis,
               .stride = plan.geometry.stride,
               .pad = plan.geometry.pad};
  if (!find_phases(plan)) return "windows that are far apart";
  const std::int64_t unfolded =
      plan.k * plan.positions * (plan.single ? plan.geometry.channels : 1);
  const auto per_position =
      plan.reads_last ? last_per_position(plan, unfolded) : elements_per_position(plan, unfolded);
  if (!per_position ||
      plan.geometry.out[0] + reach_of(plan.geometry, 0) > 2 * unfolded / *per_position)
    return "planes larger than the unfolded windows";
  if (in_blocks) {
    plan.in_place = is_planes(plan);
    if (!suits_blocks(ctx, plan, use)) return "few filters, or none that are constant";
    plan.blocks = &conv_block_fns<T>(ctx.isa);
    plan.block_vectors = vectors_of_blocks(plan, *plan.blocks);
    plan.transpose = simd_tables(ctx.isa).transpose(sizeof(T));
  } else if (plan.geometry.filters >= kMinPanelFilters && plan.positions >= kMinPanelPositions) {
    plan.panels = &conv_panel_fns<T>(ctx.isa);
    plan.panel_taps = panel_taps(*plan.panels, plan.k);
    plan.in_place = is_planes(plan);
    plan.tap_step = tap_step_in_place(plan);
  }
  if (plan.panels == nullptr && use == PlanesUse::panels) return "few filters or positions";
  if (auto why = plan.epilogue.prepare(ctx, in_blocks)) return why;
  choose_tasks(plan, *per_position);
  if (plan.k > kMaxConvTaps || count_lines(plan) > kMaxConvLines) return "too many taps or lines";
  if (plan.reads_last && !plan.in_place &&
      !plan.last_planes.lay_out(plan.band_size, sizeof(T), 2 * unfolded))
    return "planes larger than the unfolded windows";
  lay_out_planes(plan);
  if (use == PlanesUse::blocks) {
    plan.sections = sections_of(ctx, plan);
    for (PlanesSection& section : plan.sections) pack_section(ctx, plan, section);
  }
  if (plan.groups > 1) plan.runs = plane_runs(plan.grid);
  plan.filters_outside = puts_filters_outside(plan);
  return std::nullopt;
}

template std::optional<Refusal> schedule_planes(PlanesSchedule<float>&, const PrepareCtx&,
                                                const ConvGeometry&, PlanesUse);
template std::optional<Refusal> schedule_planes(PlanesSchedule<double>&, const PrepareCtx&,
                                                const ConvGeometry&, PlanesUse);

}  // namespace scanloom::kernels
