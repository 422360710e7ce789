-- Why: what acquirers report, how far their lists have been read, and which requests were sent to them.

-- The notices in callbacks of acquirers. They are stored before the callback is answered, and processed afterwards. The
-- table is its own queue (docs/decisions/0009).
create table callback_inbox (
  acquirer text not null,
  -- Identifies the notice at its acquirer, so that a repeated callback adds no row.
  event_key text not null,
  end_to_end text not null,
  -- The id that the acquirer received from us: the txid of a charge, or our id of a payout. Null: the notice has none.
  txid text,
  received_at timestamptz(3) not null,
  -- received: not processed yet; settled: the acquirer confirmed the notice, and its effect is recorded; unconfirmed:
  -- the acquirer does not confirm it; unmatched: the acquirer confirms the payment, but its charge belongs to another
  -- cell or is not known here.
  state text not null check (state in ('received', 'settled', 'unconfirmed', 'unmatched')),
  finished_at timestamptz(3),
  -- When the notice is due to be processed. While a process has it, this is the end of its lease. It has no meaning
  -- once the state is final.
  check_at timestamptz(3) not null,
  -- The instance that has the notice (src/jobs/instances.ts). Null: none has it, and check_at is when it is due.
  leased_by integer,
  -- How often the acquirer has answered without confirming the notice.
  checks smallint not null default 0,
  -- Why the last attempt to process the notice had no result. Null: there was no such attempt.
  last_error text,
  primary key (acquirer, event_key)
) with (
  -- Open notices are few among many finished ones, as in webhook_deliveries.
  autovacuum_vacuum_scale_factor = 0.02
);
create index callback_inbox_due on callback_inbox (check_at) where state = 'received';
-- For the deletion of notices that were finished long ago.
create index callback_inbox_finished on callback_inbox (finished_at) where finished_at is not null;

-- How far the lists of each acquirer have been read.
create table acquirer_cursors (
  acquirer text primary key,
  -- The moment up to which the acquirer's list of payments has been read.
  listed_until timestamptz(3) not null,
  -- A return under MED comes days after its payment. If its callback is lost, only the acquirer's list of returned
  -- payments shows it. That list is read in parts, from the latest payments to earlier ones: payments from this moment
  -- on were read, and the next part ends here. Null, or a moment in the future: the next part is the first one.
  returns_read_from timestamptz(3)
);

-- Requests to acquirers and their outcomes, so that people see what an acquirer answered and when. Rows are kept for
-- RETENTION_EXCHANGES_DAYS. They are written on a best-effort basis: some may be missing. The successful creation of a
-- charge is not recorded, because the transaction's history shows it and creations are the most frequent requests. Rows
-- have no content of requests and answers, and so no personal data. The key does not contain the merchant: the code
-- that writes a row does not know it, and only the operator reads the table.
create table acquirer_exchanges (
  at timestamptz(3) not null,
  id bigint not null generated always as identity,
  acquirer text not null,
  operation text not null,
  -- Our record that the request was about, such as a transaction, refund or withdrawal. Null: none, or it is not known.
  record_id uuid,
  -- The end-to-end id of the payment that the request was about. Null: it was not about a single payment.
  end_to_end text,
  outcome text not null,
  -- The name of the error, with its status or code; never a text of the acquirer. Null: there was no error.
  error text,
  duration_ms integer not null,
  -- The key begins with the time, so that rows that are deleted together are adjacent.
  primary key (at, id)
);
create index acquirer_exchanges_of_record on acquirer_exchanges (record_id) where record_id is not null;
create index acquirer_exchanges_of_payment on acquirer_exchanges (end_to_end) where record_id is null;
