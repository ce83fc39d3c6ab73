// What a container allows, from files as the Linux kernel writes them (kernel documentation, cgroup-v2 and
// sched-bwc).
#include "attn/core/processor.hpp"

#include <cmath>

#include "attn/core/files.hpp"
#include "catch.hpp"
#include "scratch.hpp"

using namespace attn;
using tests::Scratch;

TEST_CASE("the processor time of a container: version 2 of control groups") {
  const Scratch root;
  write_file(root / "proc/self/cgroup", "0::/outer/inner\n");
  CHECK(std::isinf(cpu_quota(root.path())));  // no file says anything
  write_file(root / "sys/fs/cgroup/cpu.max", "max 100000\n");
  CHECK(std::isinf(cpu_quota(root.path())));
  write_file(root / "sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
  CHECK(cpu_quota(root.path()) == 1.5);
  write_file(root / "sys/fs/cgroup/outer/inner/cpu.max", "300000 100000\n");
  CHECK(cpu_quota(root.path()) == 1.5);  // the group outside allows less
  write_file(root / "sys/fs/cgroup/outer/inner/cpu.max", "5000 10000\n");
  CHECK(cpu_quota(root.path()) == 0.5);
}

TEST_CASE("in a container only the group itself may be visible, as the root") {
  const Scratch root;
  write_file(root / "proc/self/cgroup", "0::/docker/0123456789abcdef\n");
  write_file(root / "sys/fs/cgroup/cpu.max", "250000 100000\n");
  CHECK(cpu_quota(root.path()) == 2.5);
}

TEST_CASE("the processor time of a container: version 1") {
  for (const std::string mount : {"cpu", "cpu,cpuacct"}) {
    const Scratch root;
    write_file(root / "proc/self/cgroup", "9:memory:/a\n4:" + mount + ":/a/b\n3:cpuset:/\n");
    const auto group = root / ("sys/fs/cgroup/" + mount + "/a/b");
    write_file(group / "cpu.cfs_period_us", "100000\n");
    write_file(group / "cpu.cfs_quota_us", "-1\n");
    CHECK(std::isinf(cpu_quota(root.path())));
    write_file(group / "cpu.cfs_quota_us", "175000\n");
    CHECK(cpu_quota(root.path()) == 1.75);
  }
}

TEST_CASE("without control groups, or with files that say nothing, there is no limit") {
  const Scratch root;
  CHECK(std::isinf(cpu_quota(root.path())));
  write_file(root / "proc/self/cgroup", "nonsense\n\n0:\n0::/\n");
  for (const char* text : {"", "0 0", "x y", "100000", "-5 100000", "100000 0"}) {
    write_file(root / "sys/fs/cgroup/cpu.max", text);
    CHECK(std::isinf(cpu_quota(root.path())));
  }
  CHECK(cpu_quota() > 0.0);  // this machine's own
}

TEST_CASE("as many threads as the quota has processors, rounded up") {
  CHECK(threads_within(8, INFINITY) == 8);
  CHECK(threads_within(8, 1.5) == 2);
  CHECK(threads_within(8, 0.2) == 1);
  CHECK(threads_within(2, 3.0) == 2);
  CHECK(threads_within(4, 4.0) == 4);
  CHECK(threads_within(0, 0.0) == 1);
}
