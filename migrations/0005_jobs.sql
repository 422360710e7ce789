-- Why: the queue of jobs is a table of our own (docs/decisions/0015). Its statements are src/jobs/store.ts.

-- A process that works on queues. Each holds an advisory lock for as long as it lives: one whose lock can be taken is
-- dead, and its leases are released (src/jobs/instances.ts).
create table instances (
  id integer primary key,
  started_at timestamptz not null default now()
);
create sequence instance_ids as integer cycle;

create table jobs (
  id bigint primary key generated always as identity,
  name text not null,
  payload json not null,
  -- At most one job has a key, whether it waits or runs. A job that is given up has none.
  key text unique,
  run_at timestamptz not null,
  attempts integer not null default 0,
  -- A job that failed this often is given up, and remains for the operator to see.
  attempts_max integer not null,
  last_error text,
  -- The instance that runs the job.
  locked_by integer,
  locked_at timestamptz,
  created_at timestamptz not null default now(),
  constraint jobs_lock check ((locked_by is null) = (locked_at is null))
);

create index jobs_due on jobs (run_at) where locked_by is null and attempts < attempts_max;
