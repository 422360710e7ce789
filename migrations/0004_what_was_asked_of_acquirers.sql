-- Why: "what did the bank say, and when?" is the first question about a record that hangs, and the log of the day is elsewhere by
-- then. Here stand the questions to acquirers and how they came out, for as long as anybody asks: a month.

-- Best effort, nothing is decided by it. A charge that was created is not here: the record's history says so, and creating is the
-- busiest path there is. No content, hence nothing personal. Whose record it is, is not known where it is written, and nobody but
-- the operator reads it: the one table whose key does not begin with the merchant.
create table acquirer_exchanges (
  at timestamptz(3) not null,
  id bigint not null generated always as identity,
  acquirer text not null,
  operation text not null,
  -- The transaction, refund or withdrawal that it was about, which the acquirer knows by the same id.
  record_id uuid,
  -- Where a payment was asked for by itself.
  end_to_end text,
  outcome text not null,
  -- What was thrown, by name. Never what the acquirer wrote.
  error text,
  duration_ms integer not null,
  -- By time, so that those of one age lie together when they are deleted.
  primary key (at, id)
);
create index acquirer_exchanges_of_record on acquirer_exchanges (record_id) where record_id is not null;
create index acquirer_exchanges_of_payment on acquirer_exchanges (end_to_end) where record_id is null;
