// Guards for the GIL that survive the end of Python: a daemon thread that wants the GIL then gets
// the end of its thread instead (pthread_exit before Python 3.14), which would unwind through
// functions that must not be left by an exception and end the process with an abort.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

namespace scanloom::python {

/// Waits until the process ends.
[[noreturn]] inline void wait_for_the_end() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// Calls `take`, which takes the GIL; if Python is ending, waits for the end of the process, as
/// Python 3.14 does itself.
template <class Take>
void take_gil(Take take) {
  try {
    take();
  } catch (...) {  // the forced unwinding of pthread_exit; leaving this block would continue it
    wait_for_the_end();
  }
}

/// Releases the GIL for its lifetime. Precondition: the thread holds it.
class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;
  ~GilRelease() {
    take_gil([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* state_;
};

/// Holds the GIL for its lifetime, on any thread.
class GilAcquire {
 public:
  GilAcquire() {
    take_gil([this] { state_ = PyGILState_Ensure(); });
  }
  GilAcquire(const GilAcquire&) = delete;
  GilAcquire& operator=(const GilAcquire&) = delete;
  ~GilAcquire() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_ = PyGILState_LOCKED;
};

}  // namespace scanloom::python
