// The bodies of If, Loop and Scan: their formal inputs, and the outer values they read. A region of
// the IR is isolated, so each captured value is passed to it as an argument.
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
  /// Returns the graph of the given attribute. An input that is also an initialiser is not a
  /// formal: it keeps the initialiser's value. Errors: the attribute is missing; inputs without
  /// unique names.
  static Expected<Body> of(NodeCtx& ctx, std::string_view attribute);

  /// The attribute that holds the body: "body", "then_branch", ...
  [[nodiscard]] const std::string& role() const { return role_; }
  [[nodiscard]] GraphIndex graph() const { return graph_; }
  [[nodiscard]] const GraphFacts& facts() const { return *facts_; }
  [[nodiscard]] std::size_t input_count() const { return formals_.size(); }
  [[nodiscard]] std::size_t output_count() const { return facts_->outputs.size(); }
  /// For messages: "body input 1 'x'", "body output 0 'y'".
  [[nodiscard]] std::string describe_input(std::size_t i) const;
  [[nodiscard]] std::string describe_output(std::size_t i) const;
  [[nodiscard]] NameId input_name(std::size_t i) const { return facts_->inputs[formals_[i]]; }
  /// Whether the body may read its input i. Conservative: true if the body refers to attributes of
  /// the enclosing function, because its graphs do not show what those attributes read.
  [[nodiscard]] bool reads_input(std::size_t i) const {
    return facts_->input_is_read[formals_[i]] || !facts_->references.empty();
  }
  /// Returns the body's own name for the outer name `outer`; nullopt if it has none.
  [[nodiscard]] std::optional<NameId> own_name(NameId outer) const;
  /// Returns the Root shared by the body's nodes: that of the graph in which the body is written.
  [[nodiscard]] const std::shared_ptr<Root>& root(const NodeCtx& ctx) const;
  /// nullopt if the model declares no type.
  Expected<std::optional<tensor::Type>> declared_input(NodeCtx& ctx, std::size_t i) const;
  Expected<std::optional<tensor::Type>> declared_output(NodeCtx& ctx, std::size_t i) const;
  /// Returns the type of formal i when it is given a value of type `actual`: the declared type if
  /// the rank of `actual` is unknown, otherwise `actual`; a warning if their ranks differ. Errors:
  /// their elements differ (if lenient, `actual` wins with a warning).
  Expected<tensor::Type> formal_type(NodeCtx& ctx, std::size_t i, const tensor::Type& actual) const;
  /// Errors give both numbers. Warns about inputs that are also initialisers.
  Expected<void> check_counts(NodeCtx& ctx, std::size_t inputs, std::string_view input_words,
                              std::size_t outputs, std::string_view output_words) const;
  /// Adds an argument for formal i to the region and binds it in the request.
  ir::ValueId add_formal(NodeCtx& ctx, BodyRequest& request, std::size_t i,
                         tensor::Type type) const;

 private:
  [[nodiscard]] std::string describe_defaulted() const;

  GraphIndex graph_ = 0;
  std::string role_;
  const GraphProto* proto_ = nullptr;
  const GraphFacts* facts_ = nullptr;
  // Indices into the graph's inputs: those the node feeds, and those that are also initialisers.
  std::vector<std::size_t> formals_, defaulted_;
  const GivenAttribute* given_ = nullptr;               // set if a call passed the body
  std::unordered_map<std::uint32_t, NameId> by_alias_;  // of such a body, by NameId::index
};

/// Makes a request to read the body into a new region of `owner`.
BodyRequest request_body(NodeCtx& ctx, const Body& body, ir::NodeId owner);

/// The outer values read by bodies. Values become operands and arguments; constants are passed as
/// they are.
class Captures {
 public:
  /// Collects the captures of the node's bodies.
  explicit Captures(NodeCtx& ctx);

  /// In the order of the arguments.
  [[nodiscard]] const std::vector<ir::ValueId>& operands() const { return operands_; }
  /// Adds the arguments to the region, which must have none yet, and binds every name `body` knows.
  void enter(NodeCtx& ctx, const Body& body, BodyRequest& request) const;

 private:
  std::vector<std::pair<NameId, Binding>> outer_;
  std::vector<ir::ValueId> operands_;
};

}  // namespace scanloom::onnx
