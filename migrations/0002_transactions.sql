-- Why: a charge, its payment, its refunds and its disputes (MED).

-- The same table as src/transactions/status.ts; a test keeps them equal. In plpgsql: every statement that writes
-- transactions calls it, and an SQL function with a subquery is parsed again by each statement (8 to 10 µs a row).
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

-- The key begins with the id, not with the merchant, because a bank's callback knows only the txid, which is the id
-- (docs/decisions/0002).
create table transactions (
  id uuid not null,
  merchant_id uuid not null,
  acquirer text not null,
  amount bigint not null,
  idempotency_key text,
  external_code text,
  webhook_url text,
  -- Where the payment page leads back to.
  return_url text,
  is_info_product boolean not null,
  -- json, not jsonb: returned in the order in which it came.
  customer json,
  seller json,
  address json,
  items json,
  -- What the payer's bank shows: as requested; null for the titles of the items.
  description text,
  metadata json,
  -- What the list's filters compare with.
  customer_search_name text,
  customer_search_email text,
  customer_document text,
  customer_landline_digits text,
  customer_mobile_digits text,
  pix_expiration_seconds integer not null,
  -- Both are null until the acquirer's answer is known, and stay null if it refused.
  pix_uri text,
  pix_expires_at timestamptz(3),
  created_at timestamptz(3) not null,
  -- The whole history in order; its last entry is the status.
  statuses text[] not null,
  status_dates timestamptz(3)[] not null,
  status text not null generated always as (statuses[cardinality(statuses)]) stored,
  amount_paid bigint,
  payment_date timestamptz(3),
  end_to_end text,
  payer json,
  receiver json,
  fee_amount bigint,
  infraction_date timestamptz(3),
  error_message text,
  -- When the service next asks the acquirer on its own: an unknown outcome, or an expiry. Null when nothing is open.
  check_at timestamptz(3),
  -- Earlier acquirers that were asked for the charge and may have it: a payment at any of them is credited.
  other_acquirers text[] not null default '{}',
  -- When an attribution of its payment was reversed.
  attribution_reversed_at timestamptz(3),
  -- When its cancel was requested; null once the acquirer has refused it.
  cancel_requested_at timestamptz(3),
  -- The sum of transaction_returns, so that what is left of a payment is known without reading them.
  amount_returned bigint not null default 0,
  -- When the personal columns were erased: null for nearly all.
  erased_at timestamptz(3),
  primary key (id, merchant_id),
  constraint transactions_amount_in_range check (amount between 1 and 10000000),
  constraint transactions_moves_allowed check (transaction_moves_are_allowed(statuses)),
  constraint transactions_history_whole check (cardinality(statuses) = cardinality(status_dates)),
  constraint transactions_code_with_status check (status in ('PENDING', 'FAILED') or (pix_uri is not null and pix_expires_at is not null)),
  constraint transactions_paid_whole check ((amount_paid is null) = (payment_date is null) and (amount_paid is null) = (end_to_end is null))
) with (
  -- Every transaction is written twice or more, never within its page alone (HOT), because its status is in an index.
  -- Counts and pages read only indexes where vacuum has been: with the defaults two of ten million rows waited for it.
  autovacuum_vacuum_insert_scale_factor = 0.02,
  autovacuum_vacuum_scale_factor = 0.05,
  -- How rows are spread over merchants, states and amounts changes slowly; vacuum keeps their number current.
  autovacuum_analyze_scale_factor = 0.2
);

create unique index transactions_idempotency_key on transactions (merchant_id, idempotency_key) where idempotency_key is not null;
-- One payment pays one transaction, and another one once its attribution to the first was reversed.
create unique index transactions_end_to_end on transactions (merchant_id, end_to_end, attribution_reversed_at)
  nulls not distinct where end_to_end is not null;
-- A name is searched in here, where a merchant's entries are together: 9 ms for 100,000 of them, where their rows took
-- 435. An index of trigrams took 1 to 20 ms, more the larger the whole table is, and a fifth of the inserts.
create index transactions_newest on transactions (merchant_id, created_at desc, id desc) include (status, amount, customer_search_name);
-- Statuses that few transactions have: a page of them would otherwise pass over thousands of others. Creates do not
-- write to it, as long as the acquirer answers.
create index transactions_rare on transactions (merchant_id, status, created_at desc, id desc)
  where status not in ('PIX_QRCODE_GENERATED', 'PAID', 'FAILED');
create index transactions_document on transactions (merchant_id, customer_document, created_at desc) where customer_document is not null;
create index transactions_email on transactions (merchant_id, customer_search_email, created_at desc) where customer_search_email is not null;
create index transactions_landline on transactions (merchant_id, customer_landline_digits) where customer_landline_digits is not null;
create index transactions_mobile on transactions (merchant_id, customer_mobile_digits) where customer_mobile_digits is not null;
create index transactions_external_code on transactions (merchant_id, external_code, created_at desc) where external_code is not null;
-- A list by amounts: 1.3 ms for a tenth of 100,000, where reading them all took 12; 1 µs of an insert (docs/decisions/0007).
create index transactions_amount on transactions (merchant_id, amount);
create index transactions_to_check on transactions (check_at) where check_at is not null;
-- For reconciliation. Payments come in the order of time, so each goes to the index's last page.
create index transactions_paid on transactions (payment_date) where payment_date is not null;

create table refunds (
  merchant_id uuid not null,
  id uuid not null,
  transaction_id uuid not null,
  amount bigint not null check (amount > 0),
  status text not null check (status in ('PROCESSING', 'REFUNDED', 'FAILED')),
  end_to_end text,
  reason text,
  created_at timestamptz(3) not null,
  idempotency_key text,
  fee_amount bigint not null default 0,
  error_message text,
  finished_at timestamptz(3),
  -- When the service next asks the acquirer on its own; null when nothing is open.
  check_at timestamptz(3),
  -- A reversed attribution is a refund whose money went into suspense, not to the payer.
  suspense_payment_id uuid,
  -- When the acquirer was last asked to send it. An acquirer may refuse the repeat of a request whose answer was lost,
  -- and carry out the first one a while later: until then a refusal is not believed.
  requested_at timestamptz(3),
  -- The part of the payment's fee that was returned with this refund, in cents.
  fee_returned bigint not null default 0 check (fee_returned >= 0),
  -- Whether the amount was all that was left of the payment when the refund was requested. A repeated request without an
  -- amount is recognized by it, also when a dispute or a failed refund has changed since what is left.
  is_of_rest boolean not null default false,
  primary key (merchant_id, id),
  foreign key (transaction_id, merchant_id) references transactions,
  constraint refunds_idempotency_key unique (merchant_id, idempotency_key)
);
create index refunds_of_transaction on refunds (merchant_id, transaction_id);
create index refunds_end_to_end on refunds (merchant_id, end_to_end);
-- One refund of a transaction runs at a time.
create unique index refunds_one_at_a_time on refunds (merchant_id, transaction_id) where status = 'PROCESSING';
create index refunds_to_check on refunds (check_at) where check_at is not null;
create index refunds_finished on refunds (finished_at) where finished_at is not null;
create index refunds_id on refunds (id);

-- A dispute (MED): a payer's bank disputes a payment. It may be returned in parts, be reopened, and exist beside another
-- dispute of the same payment.
create table disputes (
  merchant_id uuid not null,
  id uuid not null,
  transaction_id uuid not null,
  -- The acquirer that received the payment.
  acquirer text not null,
  -- The acquirer's own identifier; null when the operator entered it.
  acquirer_reference text,
  -- What is disputed.
  amount bigint not null check (amount > 0),
  reason text,
  -- open: blocked; accepted: to be returned; returned: the money is gone; rejected, canceled: released.
  state text not null check (state in ('open', 'accepted', 'returned', 'rejected', 'canceled')),
  opened_at timestamptz(3) not null,
  decided_at timestamptz(3),
  finished_at timestamptz(3),
  -- Where it was learned of. return: only from the return itself, as at PSPs that list no disputes.
  source text not null default 'acquirer' check (source in ('acquirer', 'operator', 'return')),
  -- What the acquirer last reported, in its own word and as we read it. Null until it reports anything.
  acquirer_status text,
  acquirer_state text
    check (acquirer_state in ('open', 'accepted', 'returned', 'rejected', 'canceled', 'unknown')),
  -- Until when the acquirer decides, where it reports so.
  deadline_at timestamptz(3),
  -- What is set aside for it now, and what was returned under it.
  blocked_amount bigint not null default 0,
  returned_amount bigint not null default 0,
  -- How often it was posted: each posting is an event of its own.
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

-- Money of a payment that was returned other than by our refunds, each return once: under MED, or by the bank itself and
-- confirmed by an operator.
create table transaction_returns (
  merchant_id uuid not null,
  id uuid not null,
  transaction_id uuid not null,
  -- The dispute under which it was returned; null if there was none.
  dispute_id uuid,
  -- The acquirer's id of the return, or of the discrepancy that was confirmed.
  reference text not null,
  end_to_end text,
  -- Below zero where a confirmed return proved wrong.
  amount bigint not null check (amount <> 0),
  returned_at timestamptz(3) not null,
  posted_at timestamptz(3) not null,
  primary key (merchant_id, id),
  foreign key (transaction_id, merchant_id) references transactions,
  constraint transaction_returns_once unique (merchant_id, transaction_id, reference)
);
create index transaction_returns_end_to_end on transaction_returns (merchant_id, end_to_end) where end_to_end is not null;
create index transaction_returns_posted on transaction_returns (posted_at);

-- The day in Brazil, where nearly every filter of dates begins at midnight. src/lib/brasilia.ts has the same days, from
-- the same tz database.
create function brazilian_day(at timestamptz) returns date
  language sql immutable parallel safe
  return (at at time zone 'America/Sao_Paulo')::date;

-- How many transactions a merchant has of a day and a status, and their sum (what was paid, or else the requested amount):
-- the sum of both tables (docs/decisions/0007). A change is only added, so that no writer waits for another; a job folds
-- the changes into the counts. Both in one commit each, so any snapshot has the exact number.
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
  -- Emptied every few seconds: vacuumed by what passed through it.
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_insert_threshold = -1
);
create index transaction_count_changes_of_merchant on transaction_count_changes (merchant_id);

-- Whatever statement writes transactions, they are counted: once per statement, hence once per batch.
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

-- The service deletes none; a person who repairs a database may.
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
