-- Why: the queue of jobs is a table of our own (docs/decisions/0015). Its statements are in src/jobs/store.ts.

-- The processes that work on queues. Each process holds an advisory lock as long as it runs. If another process can
-- take that lock, the first one is dead, and its leases are released (src/jobs/instances.ts).
create table instances (
  id integer primary key,
  started_at timestamptz not null default now()
);
create sequence instance_ids as integer cycle;

create table jobs (
  id bigint primary key generated always as identity,
  name text not null,
  payload json not null,
  -- At most one waiting or running job has a given key. Null: a job without a key, or one that has lost it because it
  -- was replaced while it ran or was given up.
  key text unique,
  run_at timestamptz not null,
  attempts integer not null default 0,
  -- After so many attempts the job is given up. It stays in the table for the operator to see.
  attempts_max integer not null,
  last_error text,
  -- The instance that runs the job. Null: no instance runs it.
  locked_by integer,
  locked_at timestamptz,
  created_at timestamptz not null default now(),
  constraint jobs_lock check ((locked_by is null) = (locked_at is null))
);

create index jobs_due on jobs (run_at) where locked_by is null and attempts < attempts_max;
