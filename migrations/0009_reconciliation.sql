-- Why: the ledger is compared with the acquirers' own lists: discrepancies (the table differences), proposals, decisions,
-- and days that were closed.
--
-- All of it belongs to the service as a whole: a discrepancy may be about money that is no merchant's.

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
  -- interrupted: the run ended early, for the reason in error: a list could not be read, the service stopped. What it
  -- had found is stored, and it resolved nothing.
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
  -- The same classes as in src/reconciliation/classes.ts; a test keeps them equal, and docs/reconciliation.md explains
  -- them. unreadable: an entry of the acquirer's list that cannot be read is left to a person; the rest is compared.
  class text not null check (class in (
    'late', 'missing_in_ledger', 'missing_at_acquirer', 'amount', 'fee', 'duplicate', 'unattributed', 'cut_off', 'return', 'payout', 'unreadable')),
  subject text not null check (subject in ('payment', 'return', 'payout')),
  -- By which the acquirer knows it: an endToEndId, or our id of a payout.
  reference text not null,
  -- 2, 3 … if the same entry differs again, in another way, after a correction.
  sequence smallint not null default 1,
  -- Null where it belongs to no merchant.
  merchant_id uuid,
  -- Our transaction, refund or withdrawal.
  record_id uuid,
  -- When the money moved, by the acquirer's record, or else by ours.
  at timestamptz(3) not null,
  -- Both sides have it with the same amount, on different days. No action is necessary.
  is_timing boolean not null,
  -- The acquirer's side and ours; null where there is none.
  at_acquirer jsonb,
  in_ledger jsonb,
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
-- Earlier corrections of a payment, return or payout that is compared again.
create index differences_corrected on differences (acquirer, subject, reference) where state = 'confirmed';

-- Only while a run compares: one row for each payment, return or payout, with what the acquirer has, what the ledger has,
-- or both. One more row of subject 'mark' shows the run that a crash has not emptied the table: it is unlogged, because
-- nothing needs its rows afterwards.
create unlogged table reconciliation_pairs (
  run_id uuid not null,
  subject text collate "C" not null,
  -- The endToEndId of the payment, also for its returns; of a payout our id.
  key text collate "C" not null,
  -- The transaction or withdrawal that the acquirer's side names.
  named_id uuid,
  -- Of a return: when its payment arrived.
  paid_at timestamptz(3),
  -- Of returns: the sum of all of one payment, and the part of it under MED.
  acquirer_amount bigint,
  acquirer_med bigint,
  acquirer_at timestamptz(3),
  acquirer_state text,
  acquirer_fee bigint,
  -- Another payment that names the same transaction is listed, and came before.
  is_later boolean not null default false,
  merchant_id uuid,
  record_id uuid,
  ledger_amount bigint,
  ledger_med bigint,
  ledger_processing bigint,
  ledger_at timestamptz(3),
  posted_at timestamptz(3),
  ledger_state text,
  primary key (run_id, subject, key)
);

-- What closed days are signed with. A key is never deleted: whoever has a statement can verify it.
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
-- SECRET_KEY can be replaced: what is sealed under it is then sealed again.
grant update (sealed_private_jwk) on statement_keys to current_user;
