// Exceptions pass between a program with the system's libstdc++ and the library with its own: those
// of the library are caught by type, and those of a function that the library calls come out again.
#include <scanloom/scan.h>
#include <scanloom/session.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

int main() {
  int caught = 0;
  try {
    scanloom::Session::load("/nowhere.onnx", {}).value_or_throw();
  } catch (const scanloom::Failure& failure) {
    caught += std::string(failure.what()).find("nowhere") != std::string::npos ? 1 : 0;
  }
  try {
    static_cast<void>(scanloom::Value().strings());
  } catch (const std::exception&) {
    ++caught;
  }
  try {
    const scanloom::Expr x = scanloom::input("x", scanloom::DType::f64, {-1});
    scanloom::scan({.sequences = {x}}, [](const scanloom::StepInputs&) -> scanloom::Expr {
      throw std::runtime_error("in a step");
    });
  } catch (const std::runtime_error& error) {
    caught += error.what() == std::string("in a step") ? 1 : 0;
  }
  std::printf("exceptions: %d of 3 caught, %d in flight\n", caught, std::uncaught_exceptions());
  return caught == 3 && std::uncaught_exceptions() == 0 ? 0 : 1;
}
