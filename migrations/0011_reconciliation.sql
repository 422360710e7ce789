-- Why: the books beside the acquirers' own lists. What differs, what was proposed about it and who decided, and the days that were closed.
--
-- All of it belongs to the service as a whole: a difference may be about money that is no merchant's.

create table reconciliation_runs (
  id uuid primary key,
  acquirer text not null,
  -- rolling: every few minutes; daily: a day in Brasília time; manual: by hand, any window
  kind text not null check (kind in ('rolling', 'daily', 'manual')),
  -- [starts_at, ends_at)
  starts_at timestamptz(3) not null,
  ends_at timestamptz(3) not null,
  started_at timestamptz(3) not null,
  finished_at timestamptz(3),
  -- interrupted: not all of the acquirer's lists could be read, so nothing was concluded from what is not in them.
  state text not null check (state in ('running', 'complete', 'interrupted')),
  error text,
  -- How many were compared and how many differ, by class; sums of the acquirer's side.
  counts json,
  totals json,
  constraint reconciliation_runs_window check (starts_at < ends_at)
);
create index reconciliation_runs_last on reconciliation_runs (acquirer, kind, state, ends_at);

create table differences (
  id uuid primary key,
  acquirer text not null,
  -- The same table as src/reconciliation/classes.ts; a test keeps them equal.
  class text not null check (class in (
    'late', 'missing_here', 'missing_there', 'amount', 'fee', 'duplicate', 'orphan', 'cut_off', 'return', 'payout')),
  subject text not null check (subject in ('payment', 'return', 'payout')),
  -- What the acquirer knows it by: an endToEndId, or our id of a payout.
  reference text not null,
  -- More than 1 where something new differs about what was corrected before.
  sequence smallint not null default 1,
  -- Null where it is nobody's.
  merchant_id uuid,
  -- The transaction, refund or withdrawal of ours.
  record_id uuid,
  -- When the money moved, as the acquirer says, or else we.
  at timestamptz(3) not null,
  -- Both are booked, in two days: nothing is to be done.
  is_timing boolean not null,
  -- What either side says; null where it says nothing.
  there jsonb,
  here jsonb,
  proposal jsonb not null,
  state text not null check (state in ('open', 'confirmed', 'dismissed', 'resolved')),
  -- The last run that found it.
  run_id uuid not null references reconciliation_runs,
  found_at timestamptz(3) not null,
  decided_at timestamptz(3),
  decided_by text,
  reason text,
  constraint differences_once unique (acquirer, subject, class, reference, sequence)
);
create index differences_open on differences (acquirer, class) where state = 'open';
create index differences_at on differences (acquirer, at);
-- What was corrected of something that is compared again.
create index differences_corrected on differences (acquirer, subject, reference) where state = 'confirmed';

-- While a run compares: one row for each of what either side has. Of no use after a crash, hence unlogged.
create unlogged table reconciliation_pairs (
  run_id uuid not null,
  subject text collate "C" not null,
  key text collate "C" not null,
  -- The transaction or withdrawal that the acquirer's side names.
  named_id uuid,
  -- When the payment arrived that a return is of.
  paid_at timestamptz(3),
  -- Of returns the sum of all of one payment, and what of it went back under MED.
  there_amount bigint,
  there_med bigint,
  there_at timestamptz(3),
  there_state text,
  there_fee bigint,
  -- Another payment that names the same transaction is listed, and came before.
  is_later boolean not null default false,
  merchant_id uuid,
  record_id uuid,
  here_amount bigint,
  here_med bigint,
  here_processing bigint,
  here_at timestamptz(3),
  booked_at timestamptz(3),
  here_state text,
  primary key (run_id, subject, key)
);

-- What a window of time has on our side. Payments come in the order of time, so that each goes to the index's last page; the ledger is
-- only added to, and a page of the coarsest index is enough for thousands of its rows.
create index transactions_paid on transactions (payment_date) where payment_date is not null;
create index ledger_transfers_created on ledger_transfers using brin (created_at) with (pages_per_range = 32, autosummarize = on);
create index refunds_finished on refunds (finished_at) where finished_at is not null;
create index refunds_id on refunds (id);
create index infractions_finished on infractions (finished_at) where finished_at is not null;
create index withdrawals_processed on withdrawals (processed_date) where processed_date is not null;
create index withdrawals_created on withdrawals (created_at);

-- What closed days are signed with. A key signs for ever after it was made and is never deleted: who has a statement can verify it.
create table statement_keys (
  kid text primary key,
  public_jwk json not null,
  sealed_private_jwk bytea not null,
  created_at timestamptz(3) not null
);

-- A day of an acquirer that was closed: the signed statement, and each later version of it.
create table closed_days (
  acquirer text not null,
  day date not null,
  version integer not null check (version >= 1),
  run_id uuid not null references reconciliation_runs,
  signed_at timestamptz(3) not null,
  -- A compact JWS over canonical JSON.
  statement text not null,
  -- SHA-256 of it, in hex: the next version and the next day refer to it.
  sha256 text not null,
  primary key (acquirer, day, version)
);

-- Only ever added to, as the ledger is.
revoke update, delete, truncate on closed_days, statement_keys from current_user;
