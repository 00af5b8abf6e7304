// The progress line of long commands. Nothing is drawn if stderr is not a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include <scanloom/options.h>

namespace scanloom::cli {

/// Whether stderr is a terminal, so that lines are drawn.
bool draws_lines();
/// Returns the text if it is shorter than that many columns (0: not known), otherwise its beginning
/// and, because it says how long the work takes, more of its end.
std::string fitted(const std::string& text, std::size_t columns);
/// Draws the text over the last one, cut to the width of the terminal. Thread safe.
void draw_line(const std::string& text);
/// Erases the line. Call it before printing anything else to stderr. Thread safe.
void erase_line();

/// Returns the time left, such as "12 s left" or "1 min 5 s left", given the share that is done and
/// the seconds that it took; empty while that is too little for an estimate.
std::string left_text(double share, double seconds);

/// Shows work whose end is not known: after a second, and then every second until it is destroyed,
/// draws the name of the work and the seconds so far.
class Waiting {
 public:
  explicit Waiting(std::string what);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::jthread thread_;  // none if stderr is not a terminal
};

/// Shows the runs of a model: draws the number of the run, its progress and the time left, at most
/// ten times a second.
class Repeats {
 public:
  /// A number of runs; or, if it is 0, as many as fit into `seconds`.
  explicit Repeats(std::int64_t runs, double seconds = 0);
  ~Repeats();
  Repeats(const Repeats&) = delete;
  Repeats& operator=(const Repeats&) = delete;

  /// Counts a run that has ended. Costs less than a microsecond unless it draws.
  void end_of_run();
  /// Draws the progress of a loop in the current run: for RunOptions::progress.
  void within(const Progress& progress) const;

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] double elapsed() const;
  /// Draws the text and the time left, when `of_run` of the current run is done.
  void draw(const std::string& text, double of_run) const;
  [[nodiscard]] std::string run_text() const;

  std::int64_t runs_;
  double seconds_;
  bool is_drawn_;
  std::int64_t done_ = 0;
  Clock::time_point begin_ = Clock::now(), drawn_ = begin_;
};

}  // namespace scanloom::cli
