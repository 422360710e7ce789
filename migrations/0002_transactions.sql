-- Why: a charge, its payment, its refunds and its disputes (MED).

-- The same transitions as in src/transactions/status.ts; a test keeps them equal. The function is in plpgsql, because
-- every statement that writes transactions calls it, and each such statement would parse an SQL function with a
-- subquery again (8 to 10 µs a row).
create function transaction_moves_are_allowed(statuses text[]) returns boolean
  language plpgsql immutable strict parallel safe as $$
begin
  for i in 2 .. cardinality(statuses) loop
    if statuses[i - 1] || '>' || statuses[i] <> all (array[
      'PENDING>PIX_QRCODE_GENERATED', 'PENDING>FAILED',
      'PIX_QRCODE_GENERATED>PAID', 'PIX_QRCODE_GENERATED>FAILED',
      'FAILED>PAID',
      'PAID>PROCESSING_REFUND', 'PAID>BLOCKED', 'PAID>INFRACTION',
      'PROCESSING_REFUND>REFUNDED', 'PROCESSING_REFUND>PAID', 'PROCESSING_REFUND>BLOCKED', 'PROCESSING_REFUND>INFRACTION',
      'REFUNDED>INFRACTION',
      'BLOCKED>PROCESSING_INFRACTION', 'BLOCKED>PAID', 'BLOCKED>PROCESSING_REFUND', 'BLOCKED>INFRACTION',
      'PROCESSING_INFRACTION>INFRACTION', 'PROCESSING_INFRACTION>PAID', 'PROCESSING_INFRACTION>PROCESSING_REFUND',
      'PROCESSING_INFRACTION>BLOCKED',
      'INFRACTION>BLOCKED', 'INFRACTION>PROCESSING_REFUND'
    ]) then
      return false;
    end if;
  end loop;
  return statuses[1] = 'PENDING';
end $$;

-- The primary key begins with the id and not with the merchant, because an acquirer's callback has only the txid, which
-- is the id without hyphens (docs/decisions/0002). All amounts are in cents.
create table transactions (
  id uuid not null,
  merchant_id uuid not null,
  acquirer text not null,
  amount bigint not null,
  idempotency_key text,
  external_code text,
  webhook_url text,
  -- The address of the shop that the payment page links back to. Null: the address in the merchant's branding, if any.
  return_url text,
  is_info_product boolean not null,
  -- json and not jsonb, so that the API returns the members in the order of the request.
  customer json,
  seller json,
  address json,
  items json,
  -- The text that the payer's bank shows. Null: the titles of the items are used.
  description text,
  metadata json,
  -- The customer's data in the normalized form that the filters of lists compare with.
  customer_search_name text,
  customer_search_email text,
  customer_document text,
  customer_landline_digits text,
  customer_mobile_digits text,
  pix_expiration_seconds integer not null,
  -- The text of the QR code (copy-and-paste code) and when it expires. Both are null until the acquirer's answer is
  -- known, and stay null if the acquirer refused the charge.
  pix_uri text,
  pix_expires_at timestamptz(3),
  created_at timestamptz(3) not null,
  -- All statuses in order, and when each began. The last one is the current status.
  statuses text[] not null,
  status_dates timestamptz(3)[] not null,
  status text not null generated always as (statuses[cardinality(statuses)]) stored,
  amount_paid bigint,
  payment_date timestamptz(3),
  -- The end-to-end id of the payment, with which banks identify it. Null: not paid.
  end_to_end text,
  payer json,
  receiver json,
  fee_amount bigint,
  -- When a dispute of the payment was last opened. Null: never.
  infraction_date timestamptz(3),
  -- Why the charge failed. Null: it did not fail.
  error_message text,
  -- When the service next queries the acquirer about the charge without being asked: because the outcome of a request
  -- is unknown, the code expires, the payment page was opened or a cancel was requested. Null: no check is planned.
  check_at timestamptz(3),
  -- Other acquirers that may have the charge too, because they were requested to create it: a payment at any of them is
  -- credited. If one of them receives the payment, it becomes the acquirer, and the former acquirer is the first one
  -- here.
  other_acquirers text[] not null default '{}',
  -- When the attribution of the payment to this transaction was reversed. Null: never.
  attribution_reversed_at timestamptz(3),
  -- When a cancel of the charge was requested. Null: never, or the acquirer has refused the cancel.
  cancel_requested_at timestamptz(3),
  -- The sum of the transaction's rows in transaction_returns, so that what is left of the payment is known without
  -- them.
  amount_returned bigint not null default 0,
  -- When personal data of this transaction was last erased. Null: never.
  erased_at timestamptz(3),
  primary key (id, merchant_id),
  constraint transactions_amount_in_range check (amount between 1 and 10000000),
  constraint transactions_moves_allowed check (transaction_moves_are_allowed(statuses)),
  constraint transactions_history_whole check (cardinality(statuses) = cardinality(status_dates)),
  constraint transactions_code_with_status check (status in ('PENDING', 'FAILED') or (pix_uri is not null and pix_expires_at is not null)),
  constraint transactions_paid_whole check ((amount_paid is null) = (payment_date is null) and (amount_paid is null) = (end_to_end is null))
) with (
  -- Every row is updated at least once, and never as a heap-only update (HOT), because the status is in an index.
  -- Index-only scans need vacuumed pages: with the defaults, 2 of 10 million rows were waiting for vacuum.
  autovacuum_vacuum_insert_scale_factor = 0.02,
  autovacuum_vacuum_scale_factor = 0.05,
  -- The distribution of merchants, statuses and amounts changes slowly, and vacuum keeps the number of rows current.
  autovacuum_analyze_scale_factor = 0.2
);

create unique index transactions_idempotency_key on transactions (merchant_id, idempotency_key) where idempotency_key is not null;
-- A payment pays one transaction only. After the attribution to that transaction was reversed, it may pay another one.
create unique index transactions_end_to_end on transactions (merchant_id, end_to_end, attribution_reversed_at)
  nulls not distinct where end_to_end is not null;
-- Names are searched in this index, where the entries of a merchant are adjacent: 9 ms for 100,000 entries, instead of
-- 435 ms in the table. An index of trigrams took 1 to 20 ms, growing with the whole table, and a fifth of the insert
-- rate.
create index transactions_newest on transactions (merchant_id, created_at desc, id desc) include (status, amount, customer_search_name);
-- For lists of a rare status: otherwise a page of one would read thousands of other transactions. The creation of a
-- charge does not write to this index, as long as the acquirer answers.
create index transactions_rare on transactions (merchant_id, status, created_at desc, id desc)
  where status not in ('PIX_QRCODE_GENERATED', 'PAID', 'FAILED');
create index transactions_document on transactions (merchant_id, customer_document, created_at desc) where customer_document is not null;
create index transactions_email on transactions (merchant_id, customer_search_email, created_at desc) where customer_search_email is not null;
create index transactions_landline on transactions (merchant_id, customer_landline_digits) where customer_landline_digits is not null;
create index transactions_mobile on transactions (merchant_id, customer_mobile_digits) where customer_mobile_digits is not null;
create index transactions_external_code on transactions (merchant_id, external_code, created_at desc) where external_code is not null;
-- For lists filtered by amount: 1.3 ms to find 10,000 of 100,000 transactions, instead of 12 ms to read them all. The
-- index costs 1 µs per insert (docs/decisions/0007).
create index transactions_amount on transactions (merchant_id, amount);
create index transactions_to_check on transactions (check_at) where check_at is not null;
-- For reconciliation. Payments arrive in the order of time, so each write goes to the last page of the index.
create index transactions_paid on transactions (payment_date) where payment_date is not null;

create table refunds (
  merchant_id uuid not null,
  id uuid not null,
  transaction_id uuid not null,
  amount bigint not null check (amount > 0),
  status text not null check (status in ('PROCESSING', 'REFUNDED', 'FAILED')),
  -- The end-to-end id of the return. Null until the acquirer reports it.
  end_to_end text,
  reason text,
  created_at timestamptz(3) not null,
  idempotency_key text,
  fee_amount bigint not null default 0,
  error_message text,
  finished_at timestamptz(3),
  -- When the service next sends the refund or queries the acquirer about it. Null: the refund is final.
  check_at timestamptz(3),
  -- A reversed attribution is also a row here: the money went back to this payment in suspense, not to the payer. Null
  -- for all other refunds.
  suspense_payment_id uuid,
  -- When the acquirer was last requested to send the refund. Null: never. If the answer to a request was lost, the
  -- acquirer may refuse the repeated request and still carry out the first one. So for ten minutes after a request, the
  -- refusal of a repeated one is not final.
  requested_at timestamptz(3),
  -- The part of the payment's fee that was returned with this refund, in cents.
  fee_returned bigint not null default 0 check (fee_returned >= 0),
  -- Whether the amount was all that was left of the payment when the refund was requested. It shows that a repeated
  -- request without an amount is the same request, even if a dispute or a failed refund has changed what is left since
  -- then.
  is_of_rest boolean not null default false,
  primary key (merchant_id, id),
  foreign key (transaction_id, merchant_id) references transactions,
  constraint refunds_idempotency_key unique (merchant_id, idempotency_key)
);
create index refunds_of_transaction on refunds (merchant_id, transaction_id);
create index refunds_end_to_end on refunds (merchant_id, end_to_end);
-- A transaction has at most one refund in progress.
create unique index refunds_one_at_a_time on refunds (merchant_id, transaction_id) where status = 'PROCESSING';
create index refunds_to_check on refunds (check_at) where check_at is not null;
create index refunds_finished on refunds (finished_at) where finished_at is not null;
create index refunds_id on refunds (id);

-- Disputes (MED): a payer's bank disputes a payment. The amount may be returned in parts, a dispute may be reopened,
-- and a payment may have several disputes.
create table disputes (
  merchant_id uuid not null,
  id uuid not null,
  transaction_id uuid not null,
  -- The acquirer that received the payment.
  acquirer text not null,
  -- The acquirer's own identifier of the dispute. Null: the acquirer has not reported it, such as when the operator
  -- entered the dispute.
  acquirer_reference text,
  -- The disputed amount.
  amount bigint not null check (amount > 0),
  reason text,
  -- open: the amount is blocked; accepted: it will be returned; returned: it was returned; rejected, canceled: the
  -- block was released.
  state text not null check (state in ('open', 'accepted', 'returned', 'rejected', 'canceled')),
  opened_at timestamptz(3) not null,
  decided_at timestamptz(3),
  finished_at timestamptz(3),
  -- Who reported the dispute. return: nobody; the payment shows a return under MED, as at PSPs that list no disputes.
  source text not null default 'acquirer' check (source in ('acquirer', 'operator', 'return')),
  -- The status that the acquirer last reported, in its own word, and the state that we read it as. Null: none was
  -- reported.
  acquirer_status text,
  acquirer_state text
    check (acquirer_state in ('open', 'accepted', 'returned', 'rejected', 'canceled', 'unknown')),
  -- Until when the dispute is decided, as the acquirer reports it. Null: the acquirer reports no deadline.
  deadline_at timestamptz(3),
  -- How much is blocked for this dispute now, and how much was returned under it.
  blocked_amount bigint not null default 0,
  returned_amount bigint not null default 0,
  -- A counter that makes the event key of each ledger posting of this dispute unique.
  postings integer not null default 0,
  primary key (merchant_id, id),
  foreign key (transaction_id, merchant_id) references transactions,
  constraint disputes_blocks_while_undecided
    check (blocked_amount >= 0 and (blocked_amount = 0 or state in ('open', 'accepted'))),
  constraint disputes_returned_no_more check (returned_amount between 0 and amount),
  constraint disputes_finished_or_not check ((finished_at is null) = (state in ('open', 'accepted')))
);
create unique index disputes_acquirer_reference on disputes (merchant_id, acquirer, acquirer_reference) where acquirer_reference is not null;
create index disputes_of_transaction on disputes (merchant_id, transaction_id);
create index disputes_undecided on disputes (acquirer, opened_at) where state in ('open', 'accepted');
create index disputes_reference on disputes (acquirer, acquirer_reference) where acquirer_reference is not null;
create index disputes_finished on disputes (finished_at) where finished_at is not null;
create index disputes_finished_of_merchant on disputes (merchant_id, finished_at) where finished_at is not null;

-- Returns of a payment that are not our refunds, each one once: under MED, or made by the bank without a dispute and
-- confirmed by an operator.
create table transaction_returns (
  merchant_id uuid not null,
  id uuid not null,
  transaction_id uuid not null,
  -- The dispute under which the money was returned. Null: there was none.
  dispute_id uuid,
  -- The acquirer's id of the return; of a confirmed return, the id of the discrepancy.
  reference text not null,
  end_to_end text,
  -- Negative: it takes back a confirmed return that proved wrong.
  amount bigint not null check (amount <> 0),
  -- When the money moved, and when it was recorded here.
  returned_at timestamptz(3) not null,
  posted_at timestamptz(3) not null,
  primary key (merchant_id, id),
  foreign key (transaction_id, merchant_id) references transactions,
  constraint transaction_returns_once unique (merchant_id, transaction_id, reference)
);
create index transaction_returns_end_to_end on transaction_returns (merchant_id, end_to_end) where end_to_end is not null;
create index transaction_returns_posted on transaction_returns (posted_at);

-- The calendar day of a moment in Brasília time: nearly every filter by date begins and ends at midnight there.
-- src/lib/brasilia.ts computes the same days, from the same time zone database.
create function brazilian_day(at timestamptz) returns date
  language sql immutable parallel safe
  return (at at time zone 'America/Sao_Paulo')::date;

-- The number of a merchant's transactions by day of creation and status, and the sum of their amounts in cents: the
-- amount paid, or else the requested amount. The figure is the sum of both tables (docs/decisions/0007). Writers only
-- add rows to the changes, so that none waits for another, and a job moves the changes into the counts. Each does so in
-- one commit, so that every snapshot has the exact number.
create table transaction_counts (
  merchant_id uuid not null,
  day date not null,
  status text not null,
  count bigint not null,
  amount bigint not null,
  primary key (merchant_id, day, status)
) with (fillfactor = 80);
create table transaction_count_changes (
  merchant_id uuid not null,
  day date not null,
  status text not null,
  change bigint not null,
  amount bigint not null
) with (
  -- The table is emptied every few seconds, so it is vacuumed after a number of deleted rows and not after a share of
  -- them.
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_insert_threshold = -1
);
create index transaction_count_changes_of_merchant on transaction_count_changes (merchant_id);

-- Triggers count the transactions, whatever statement writes them: once per statement, and so once per batch.
create function count_added_transactions() returns trigger language plpgsql as $$
begin
  insert into transaction_count_changes (merchant_id, day, status, change, amount)
  select merchant_id, brazilian_day(created_at), status, count(*), sum(coalesce(amount_paid, amount)) from added group by 1, 2, 3;
  return null;
end $$;
create trigger transactions_added after insert on transactions
  referencing new table as added for each statement execute function count_added_transactions();

create function count_moved_transactions() returns trigger language plpgsql as $$
begin
  insert into transaction_count_changes (merchant_id, day, status, change, amount)
  select merchant_id, brazilian_day(created_at), status, sum(change), sum(change * worth) from (
    select merchant_id, created_at, status, 1 as change, coalesce(amount_paid, amount) as worth from added
    union all
    select merchant_id, created_at, status, -1, coalesce(amount_paid, amount) from removed
  ) moved
  group by 1, 2, 3 having sum(change) <> 0 or sum(change * worth) <> 0;
  return null;
end $$;
create trigger transactions_moved after update on transactions
  referencing new table as added old table as removed for each statement execute function count_moved_transactions();

-- The service deletes no transactions; a person who repairs a database may.
create function count_removed_transactions() returns trigger language plpgsql as $$
begin
  insert into transaction_count_changes (merchant_id, day, status, change, amount)
  select merchant_id, brazilian_day(created_at), status, -count(*), -sum(coalesce(amount_paid, amount)) from removed group by 1, 2, 3;
  return null;
end $$;
create trigger transactions_removed after delete on transactions
  referencing old table as removed for each statement execute function count_removed_transactions();

create function forget_transaction_counts() returns trigger language plpgsql as $$
begin
  truncate transaction_counts, transaction_count_changes;
  return null;
end $$;
create trigger transactions_emptied after truncate on transactions
  for each statement execute function forget_transaction_counts();
