// Bodies of If, Loop and Scan: their formals, and the outer values that they read, which the IR
// hands in as arguments.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontends/onnx/node_ctx.h"

namespace scanloom::onnx {

class Body {
 public:
  /// The graph of that attribute. An input that is an initialiser too is none of its formals: it
  /// has the initialiser's value. Errors: it is missing; inputs without names of their own.
  static Expected<Body> of(NodeCtx& ctx, std::string_view attribute);

  /// The attribute that holds it: "body", "then_branch", ...
  [[nodiscard]] const std::string& role() const { return role_; }
  [[nodiscard]] GraphIndex graph() const { return graph_; }
  [[nodiscard]] const GraphFacts& facts() const { return *facts_; }
  [[nodiscard]] std::size_t input_count() const { return formals_.size(); }
  [[nodiscard]] std::size_t output_count() const { return facts_->outputs.size(); }
  /// "body input 1 'x'", "body output 0 'y'".
  [[nodiscard]] std::string describe_input(std::size_t i) const;
  [[nodiscard]] std::string describe_output(std::size_t i) const;
  [[nodiscard]] NameId input_name(std::size_t i) const { return facts_->inputs[formals_[i]]; }
  /// Whether the body may read its input i: its graphs do not show what a function's default values
  /// read.
  [[nodiscard]] bool reads_input(std::size_t i) const {
    return facts_->input_is_read[formals_[i]] || !facts_->references.empty();
  }
  /// Returns the body's name for what the node reads as `outer`; nullopt: the body has no name for
  /// it.
  [[nodiscard]] std::optional<NameId> own_name(NameId outer) const;
  /// Returns what its nodes share: the Root of the place where it is written.
  [[nodiscard]] const std::shared_ptr<Root>& root(const NodeCtx& ctx) const;
  /// nullopt: the model declares none.
  Expected<std::optional<tensor::Type>> declared_input(NodeCtx& ctx, std::size_t i) const;
  Expected<std::optional<tensor::Type>> declared_output(NodeCtx& ctx, std::size_t i) const;
  /// The type of formal i for a value of type `actual`: the declared one where the actual one has
  /// no known rank. Errors: they contradict each other (lenient: the actual one holds).
  Expected<tensor::Type> formal_type(NodeCtx& ctx, std::size_t i, const tensor::Type& actual) const;
  /// Errors with both numbers. Warns of inputs that are initialisers too.
  Expected<void> check_counts(NodeCtx& ctx, std::size_t inputs, std::string_view input_words,
                              std::size_t outputs, std::string_view output_words) const;
  /// An argument for formal i, added to the region and entered into the request.
  ir::ValueId add_formal(NodeCtx& ctx, BodyRequest& request, std::size_t i,
                         tensor::Type type) const;

 private:
  [[nodiscard]] std::string describe_defaulted() const;

  GraphIndex graph_ = 0;
  std::string role_;
  const GraphProto* proto_ = nullptr;
  const GraphFacts* facts_ = nullptr;
  // Into the graph's inputs: those that the node feeds, and those that are initialisers too.
  std::vector<std::size_t> formals_, defaulted_;
  const GivenAttribute* given_ = nullptr;  // of a body that a call hands to the function around
  std::unordered_map<std::uint32_t, NameId> by_alias_;  // of such a body, by NameId::index
};

/// A request for a body that reads into a new region of `owner`.
BodyRequest request_body(NodeCtx& ctx, const Body& body, ir::NodeId owner);

/// What bodies read from outside: values become operands and arguments, constants are handed in as
/// they are.
class Captures {
 public:
  /// Collects the captures of the node's bodies.
  explicit Captures(NodeCtx& ctx);

  /// In the order of the arguments.
  [[nodiscard]] const std::vector<ir::ValueId>& operands() const { return operands_; }
  /// Adds the arguments to the region, which has none yet, and enters all names that `body` knows.
  void enter(NodeCtx& ctx, const Body& body, BodyRequest& request) const;

 private:
  std::vector<std::pair<NameId, Binding>> outer_;
  std::vector<ir::ValueId> operands_;
};

}  // namespace scanloom::onnx
