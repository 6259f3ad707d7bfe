// Whether experts begin to be read when a router names them before its time: where the disk would else be idle while
// its time is needed (docs/cache_policy.md, "Reading early by prediction").
//
// Judged by how long the disk is busy for each second that is computed, over a few steps at a time. Times, not counts:
// what a machine is bound by cannot be told otherwise. Neither answer changes a result.
#pragma once

namespace sluice {

class ReadAheadGovernor {
 public:
  bool reads_named() const { return reads_named_; }
  // A step of few rows that took so many seconds; in these the disk was busy and the engine waited for it so long.
  void step(double seconds, double disk_busy, double waited);

 private:
  static constexpr int kSteps = 2;               // that are judged together
  static constexpr double kLeastSeconds = 0.01;  // of a step: in shorter ones times say little
  // Busy seconds for each second that is computed. Between two bounds that lie apart what was decided stays.
  static constexpr double kIdle = 0.05, kWorth = 0.1, kBusy = 1.6, kTooBusy = 2.2;

  bool reads_named_ = false;
  int steps_ = 0;
  double seconds_ = 0, disk_busy_ = 0, waited_ = 0;  // of those steps
};

}  // namespace sluice
