-- Why: a machine whose clock is wrong expires charges early and works on days that are not over. Each process compares
-- its machine's clock with PostgreSQL's (src/jobs/instances.ts), and any process reports what was found.
-- Compatible with code from migration 0015 on.

-- Null for a process of an earlier version.
alter table instances
  add column host text,
  -- Negative: the machine's clock is behind PostgreSQL's.
  add column clock_ahead_ms bigint;
