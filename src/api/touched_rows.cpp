#include "api/touched_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "api/index_loops.h"
#include "api/row_accesses.h"
#include "ir/infer.h"
#include "ir/walk.h"
#include "ops/composer.h"
#include "ops/ops.h"
#include "passes/rewrite/ports.h"

namespace scanloom {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// Indices of one region: at the top, or of all steps of a loop.
struct NamedRows {
  ValueId rows;    ///< where the access reads them
  ValueId shaped;  ///< the same at the top, with an axis for the steps of a loop
  ValueId flat;
  ValueId local;  ///< of the shape of `shaped`: positions among the copied rows
  NodeId access;  ///< one that reads them, for errors
};

/// Adds each access's indices once.
void add_distinct(std::vector<ValueId>& rows, const std::vector<RowAccess>& accesses) {
  for (const RowAccess& access : accesses)
    if (std::ranges::find(rows, access.rows) == rows.end()) rows.push_back(access.rows);
}

NodeId first_access(const std::vector<RowAccess>& accesses, ValueId rows) {
  return std::ranges::find(accesses, rows, &RowAccess::rows)->node;
}

/// Rewrites one update of a module.
class TableRewriter {
 public:
  TableRewriter(Module& module, ValueId now, std::size_t output)
      : module_(module),
        now_(now),
        output_(output),
        builder_(module, module.top()),
        composer_(builder_) {}

  /// Returns the vector of all touched rows; an invalid id, and a module in an undefined state, if
  /// the update is of another form.
  ValueId rewrite() {
    const ValueId last = yields()[output_];
    if (module_.value(last).type != module_.value(now_).type ||
        module_.value(last).type.dtype == DType::string)
      return {};
    auto found = isolate_row_indices(module_, now_, last, false);
    if (!found || found->path.empty() || !is_yielded_once(yields(), found->tables)) return {};
    top_ = *std::move(found);
    for (const NodeId id : top_.loops)
      if (!add_loop(id)) return {};
    if ((top_.accesses.empty() && loops_.empty()) || !split_nodes()) return {};
    const ValueId rows = copy_rows();
    redirect();
    write_back(last);
    if (!composer_.ok() || !ir::infer_types(module_, ir::Declared::ignore)) return {};
    return rows;
  }

  /// How many indices one step of the loops has, if each is one number.
  [[nodiscard]] double indices_per_step() const {
    std::size_t most = 1;
    for (const TableLoop& loop : loops_) most = std::max(most, loop.rows.size());
    return static_cast<double>(most);
  }

 private:
  std::vector<ValueId>& yields() { return module_.region(module_.top()).yields; }

  static bool is_yielded_once(const std::vector<ValueId>& yields, const std::set<ValueId>& tables) {
    return std::ranges::count_if(yields, [&](ValueId x) { return tables.contains(x); }) == 1;
  }

  /// Removes stacked results that nothing reads: of a table, for one, of which only the last value
  /// is used.
  void drop_unread(NodeId loop) {
    const std::vector<std::uint32_t> uses = ir::count_uses(module_);
    const ir::LoopPorts& ports = *module_.node(loop).loop;
    passes::KeptPorts kept(ports);
    for (std::size_t i = 0; i < kept.stacked.size(); ++i)
      kept.stacked[i] = uses[module_.node(loop).outputs[ports.carried + i].index] > 0;
    if (!kept.all()) passes::keep_ports(module_, loop, kept);
  }

  bool add_loop(NodeId id) {
    drop_unread(id);
    const ir::LoopPorts& ports = *module_.node(id).loop;
    if (!ports.has_trip_count || ports.has_condition) return false;
    TableLoop loop{.loop = id};
    const std::vector<ValueId>& outputs = module_.node(id).outputs;
    const auto at =
        std::ranges::find_if(outputs, [&](ValueId x) { return top_.tables.contains(x); });
    loop.carried = static_cast<std::size_t>(at - outputs.begin());
    const ir::Region& body = module_.region(module_.node(id).regions[0]);
    const ValueId arg = body.args[ports.captured + loop.carried];
    auto found = isolate_row_indices(module_, arg,
                                     body.yields[ports.first_carried_yield() + loop.carried], true);
    if (!found || !found->loops.empty() || !is_yielded_once(body.yields, found->tables))
      return false;
    loop.body = *std::move(found);
    if (!loop.body.sizes.empty()) {
      const ValueId table = passes::add_captured(module_, id, std::span(&now_, 1))[0];
      for (const NodeId reader : loop.body.sizes) module_.node(reader).inputs[0] = table;
    }
    add_distinct(loop.rows, loop.body.accesses);
    // A body that only hands the table on names no rows, and would only be slower for the copy.
    if (loop.rows.empty()) return false;
    if (!find_needed(module_, loop)) return false;
    loops_.push_back(std::move(loop));
    return true;
  }

  /// Divides the nodes of the top region into those before and after the copy of the rows. Fails if
  /// indices depend on the table's new value.
  bool split_nodes() {
    std::set<ValueId> dependent;
    const auto is_dependent = [&](ValueId x) { return dependent.contains(x); };
    std::vector<NodeId> before;
    for (const NodeId id : module_.region(module_.top()).nodes) {
      const Node& node = module_.node(id);
      if (!top_.path.contains(id) && std::ranges::none_of(node.inputs, is_dependent)) {
        before.push_back(id);
        continue;
      }
      after_.push_back(id);
      dependent.insert(node.outputs.begin(), node.outputs.end());
    }
    add_distinct(top_rows_, top_.accesses);
    if (std::ranges::any_of(top_rows_, is_dependent)) return false;
    for (const TableLoop& loop : loops_)
      if (std::ranges::any_of(needed_inputs(module_, loop), is_dependent)) return false;
    module_.region(module_.top()).nodes = std::move(before);
    return true;
  }

  /// Collects all indices and copies their rows, each index its own; of equal ones only the first
  /// row is used. So the number of rows follows from sizes alone.
  ValueId copy_rows() {
    ops::Composer& c = composer_;
    for (const ValueId rows : top_rows_)
      named_.push_back({.rows = rows,
                        .shaped = c.cast(rows, DType::i64),
                        .access = first_access(top_.accesses, rows)});
    for (const TableLoop& loop : loops_) {
      const std::vector<ValueId> stacked = add_index_loop(module_, loop);
      if (module_.node(loop.loop).loop->has_keep_going) trips_[loop.loop] = c.dim(stacked[0], 0);
      for (std::size_t i = 0; i < stacked.size(); ++i)
        named_.push_back({.rows = loop.rows[i],
                          .shaped = stacked[i],
                          .access = first_access(loop.body.accesses, loop.rows[i])});
    }
    std::vector<ValueId> flat, copies;
    for (NamedRows& named : named_) {
      named.flat = c.reshape(named.shaped, c.list({-1}));
      flat.push_back(named.flat);
      builder_.set_location(module_.node(named.access).location);
      copies.push_back(c.gather(now_, named.flat, 0));
      builder_.set_location({});
    }
    rows_ = flat.size() == 1 ? flat[0] : c.concat(flat, 0);
    copy_ = copies.size() == 1 ? copies[0] : c.concat(copies, 0);
    first_ = first_of_equal(rows_);
    ValueId begin = c.number(0);
    for (NamedRows& named : named_) {
      const ValueId end = c.add(begin, c.dim(named.flat, 0));
      const ValueId part = named_.size() == 1 ? first_ : c.slice(first_, 0, begin, end);
      named.local = c.reshape(part, c.shape(named.shaped));
      begin = end;
    }
    return rows_;
  }

  /// For each index, the position of the first that names the same row.
  ValueId first_of_equal(ValueId rows) {
    ops::Composer& c = composer_;
    const ValueId from_start =
        c.where(c.less(rows, c.number(0)), c.add(rows, c.dim(now_, 0)), rows);
    const NodeId unique = c.take(builder_.node(ops::unique_op, {from_start}, {{"sorted", 0}}, 4));
    if (!c.ok()) return rows;
    const std::vector<ValueId>& outputs = module_.node(unique).outputs;
    return c.gather(outputs[1], outputs[2], 0);
  }

  /// Makes the path and the reads of its values use the copied rows.
  void redirect() {
    std::vector<NodeId>& nodes = module_.region(module_.top()).nodes;
    nodes.insert(nodes.end(), after_.begin(), after_.end());
    for (const NodeId id : top_.path) {
      Node& node = module_.node(id);
      const auto carried = std::ranges::find(loops_, id, &TableLoop::loop);
      ValueId& table = node.inputs[carried == loops_.end()
                                       ? 0
                                       : node.loop->first_carried_input() + carried->carried];
      if (table == now_) table = copy_;
    }
    for (const NodeId id : top_.sizes) module_.node(id).inputs[0] = now_;
    std::size_t at = 0;
    for (; at < top_rows_.size(); ++at)
      for (const RowAccess& access : top_.accesses)
        if (access.rows == named_[at].rows) set_rows(module_, access, named_[at].local);
    for (const TableLoop& loop : loops_) {
      std::vector<ValueId> local;
      for (std::size_t i = 0; i < loop.rows.size(); ++i) local.push_back(named_[at++].local);
      // A loop that ends early scans the rows of the steps that it runs.
      if (module_.node(loop.loop).loop->has_keep_going)
        module_.node(loop.loop).inputs[0] = trips_[loop.loop];
      const std::vector<ir::ScannedPort> ports(local.size());
      const std::vector<ValueId> rows = passes::add_scanned(module_, loop.loop, local, ports);
      for (const RowAccess& access : loop.body.accesses)
        set_rows(module_, access,
                 rows[static_cast<std::size_t>(std::ranges::find(loop.rows, access.rows) -
                                               loop.rows.begin())]);
    }
  }

  /// The next value: all copied rows in their positions. Equal indices write the same row.
  void write_back(ValueId last) {
    ops::Composer& c = composer_;
    builder_.set_location(module_.node(module_.value(last).producer).location);
    const ValueId written = c.gather(last, first_, 0);
    yields()[output_] = c.op(ops::scatter_nd_op, {now_, c.unsqueeze(rows_, {1}), written},
                             {{"reduction", std::string("none")}});
  }

  Module& module_;
  const ValueId now_;
  const std::size_t output_;
  ir::Builder builder_;
  ops::Composer composer_;
  RegionAccesses top_;
  std::vector<TableLoop> loops_;
  std::vector<ValueId> top_rows_;    ///< the different indices at the top
  std::vector<NodeId> after_;        ///< nodes of the top region that depend on the copied rows
  std::vector<NamedRows> named_;     ///< top_rows_, then those of each loop
  std::map<NodeId, ValueId> trips_;  ///< of loops that may end early: how many steps they run
  ValueId rows_, copy_, first_;
};

}  // namespace

TouchedForm touched_form(Module module, const UpdateSites& sites) {
  TouchedForm form{std::move(module), {}};
  std::vector<ValueId> rows;  // of each table
  for (std::size_t i = 0; i < sites.arguments.size(); ++i) {
    if (!sites.arguments[i]) continue;
    Module changed = form.module;
    const ValueId now = changed.region(changed.top()).args[*sites.arguments[i]];
    TableRewriter rewriter(changed, now, sites.first + i);
    const ValueId touched = rewriter.rewrite();
    if (!touched.valid()) continue;
    rows.push_back(touched);
    form.tables.push_back(
        {.argument = *sites.arguments[i], .per_step = rewriter.indices_per_step()});
    form.module = std::move(changed);
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    form.tables[i].rows = form.module.value(rows[i]).type.dims[0];
  return form;
}

namespace {

/// Nanoseconds, measured: copying a byte into new memory, copying and sorting a row (and a byte of
/// it), the same where only the data decide how many there are, and what the additional nodes take
/// in any case.
constexpr double kByteOfTable = 0.25, kRow = 100, kByteOfRow = 0.75, kRowOfData = 3000,
                 kAlways = 15'000;

}  // namespace

bool copies_less(const TouchedForm& form, const std::vector<tensor::Shape>& shapes,
                 std::int64_t steps) {
  const Module& module = form.module;
  const std::vector<ValueId>& args = module.region(module.top()).args;
  std::vector<std::optional<std::int64_t>> symbols(module.dims.size());
  for (std::size_t i = 0; i < args.size(); ++i)
    for (std::size_t axis = 0; axis < module.value(args[i]).type.dims.size(); ++axis) {
      const tensor::Dim dim = module.value(args[i]).type.dims[axis];
      if (!dim.is_constant()) symbols[dim.expr()] = shapes[i][static_cast<int>(axis)];
    }
  const auto sizes = module.dims.evaluate(symbols);
  double saved = -kAlways;
  for (const TouchedTable& table : form.tables) {
    const tensor::Shape& shape = shapes[table.argument];
    const double bytes = static_cast<double>(shape.elements()) *
                         dtype_bytes(module.value(args[table.argument]).type.dtype);
    const auto known =
        table.rows.is_constant() ? std::optional(table.rows.value()) : sizes[table.rows.expr()];
    if (!known && steps < 0) return false;
    const double rows =
        known ? static_cast<double>(*known) : static_cast<double>(steps) * table.per_step;
    const double row = shape[0] > 0 ? bytes / static_cast<double>(shape[0]) : 0;
    saved += bytes * kByteOfTable - rows * ((known ? kRow : kRowOfData) + row * kByteOfRow);
  }
  return saved > 0;
}

}  // namespace scanloom
