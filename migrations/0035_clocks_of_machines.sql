-- Why: a machine whose clock is ahead expires charges early and processes days that are not over. Each process compares
-- the clock of its machine with PostgreSQL's (src/jobs/instances.ts), and any process can report the differences.
-- Compatible with code from migration 0015 on.

-- The name of the machine, and by how many milliseconds its clock is ahead of PostgreSQL's. Null: the process has not
-- compared the clocks yet, or has an earlier version.
alter table instances
  add column host text,
  -- Negative: the machine's clock is behind.
  add column clock_ahead_ms bigint;
