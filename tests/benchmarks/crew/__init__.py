"""The Django app whose agent the benchmarks run, in workers as in the test process."""
