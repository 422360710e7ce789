-- Why: what acquirers report, how far their lists have been read, and what was requested of them.

-- The callbacks of acquirers: stored before they are answered, processed after. It is its own queue (docs/decisions/0009).
create table callback_inbox (
  acquirer text not null,
  event_key text not null,
  end_to_end text not null,
  txid text,
  received_at timestamptz(3) not null,
  -- received, then: settled (true, and posted), unconfirmed (the acquirer does not confirm it), unmatched (none of our charges)
  state text not null check (state in ('received', 'settled', 'unconfirmed', 'unmatched')),
  finished_at timestamptz(3),
  -- When it is to be processed; while a process has it, the end of its lease. Without meaning once the state is final.
  check_at timestamptz(3) not null,
  -- The instance that has it (src/jobs/instances.ts); null: none, check_at is the end of a pause.
  leased_by integer,
  -- How often the acquirer has answered that it does not know it.
  checks smallint not null default 0,
  -- Why the last attempt had no result.
  last_error text,
  primary key (acquirer, event_key)
) with (
  -- A queue inside a history, as webhook_deliveries is.
  autovacuum_vacuum_scale_factor = 0.02
);
create index callback_inbox_due on callback_inbox (check_at) where state = 'received';
-- Callbacks are deleted by when they were finished.
create index callback_inbox_finished on callback_inbox (finished_at) where finished_at is not null;

-- Up to when each acquirer's list of payments has been read.
create table acquirer_cursors (
  acquirer text primary key,
  listed_until timestamptz(3) not null,
  -- A return under MED comes days after its payment, and if its callback is lost only the list of payments with a return
  -- shows it. That list is read in parts: payments from this moment on were read, and the next part ends here. Null:
  -- begin with the latest ones.
  returns_read_from timestamptz(3)
);

-- Requests to acquirers and their outcome, for a month: what did the bank answer, and when? Best effort, nothing is
-- decided by it. A charge that was created is not here: the record's history shows it, and creating is the busiest path.
-- It has no content, hence nothing personal. Its key does not begin with the merchant: the merchant is not known where it
-- is written, and only the operator reads it.
create table acquirer_exchanges (
  at timestamptz(3) not null,
  id bigint not null generated always as identity,
  acquirer text not null,
  operation text not null,
  -- The transaction, refund or withdrawal, which the acquirer knows by the same id.
  record_id uuid,
  -- Where the request was about a single payment.
  end_to_end text,
  outcome text not null,
  -- The name of the error. Never what the acquirer wrote.
  error text,
  duration_ms integer not null,
  -- By time, so that those of one age are together when they are deleted.
  primary key (at, id)
);
create index acquirer_exchanges_of_record on acquirer_exchanges (record_id) where record_id is not null;
create index acquirer_exchanges_of_payment on acquirer_exchanges (end_to_end) where record_id is null;
