// The messages of an ONNX model as bytes; field numbers are those of onnx.proto.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"
#include "tensor/type.h"

namespace scanloom::onnx {

/// A graph under construction: nodes in order, and what goes in and out.
class GraphWriter {
 public:
  /// An AttributeProto of one of the kinds that are needed.
  static std::string attribute(const std::string& name, std::int64_t value);
  static std::string attribute(const std::string& name, double value);
  static std::string attribute(const std::string& name, const std::string& text);
  static std::string attribute(const std::string& name, const std::vector<std::int64_t>& values);
  static std::string attribute(const std::string& name, const tensor::Tensor& tensor);
  static std::string attribute(const std::string& name, const GraphWriter& graph);

  void node(const std::string& type, const std::vector<std::string>& inputs,
            const std::vector<std::string>& outputs, const std::vector<std::string>& attributes);
  void initialiser(const std::string& name, const tensor::Tensor& tensor);
  void input(const std::string& name, const tensor::Type& type, const tensor::DimTable& dims);
  void output(const std::string& name, const tensor::Type& type, const tensor::DimTable& dims);

  [[nodiscard]] std::string bytes(const std::string& name) const;
  /// A whole model around it.
  [[nodiscard]] std::string model(const std::string& name) const;

 private:
  std::string nodes_, initialisers_, inputs_, outputs_;
};

}  // namespace scanloom::onnx
