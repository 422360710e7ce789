-- Why: the first schema. A shop charges by PIX, is paid, and is told.
--
-- Every key contains merchant_id and every query of a merchant names it: that is tenancy, and it is how the same schema
-- spreads over several servers. There are no triggers. A transaction's key begins with its id, not with the merchant,
-- because a bank's callback knows only the txid, which is the id (docs/decisions/0002).

create table settings (
  name text primary key,
  value text not null
);

-- One API client is one merchant.
create table clients (
  merchant_id uuid primary key,
  client_id text not null,
  name text not null,
  scopes text[] not null,
  -- Tokens issued before this moment are refused.
  not_before timestamptz(0),
  created_at timestamptz(3) not null,
  constraint clients_client_id_key unique (client_id)
);

create table client_secrets (
  merchant_id uuid not null references clients,
  id uuid not null,
  -- HMAC-SHA-256 of the secret under the service's secret key. The secret itself is shown once and never kept.
  hash bytea not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3),
  primary key (merchant_id, id)
);

create table webhook_secrets (
  merchant_id uuid not null references clients,
  id uuid not null,
  -- AES-256-GCM under the service's secret key: deliveries are signed with it, so it must be readable.
  sealed bytea not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3),
  primary key (merchant_id, id)
);

-- What access tokens are signed with. The newest signs; a retired one verifies until the tokens it signed have expired.
create table signing_keys (
  kid text primary key,
  public_jwk json not null,
  sealed_private_jwk bytea not null,
  created_at timestamptz(3) not null,
  retires_at timestamptz(3)
);

-- The same table as src/transactions/status.ts; a test keeps them equal.
create function transaction_moves_are_allowed(statuses text[]) returns boolean
  language sql immutable parallel safe
  return statuses[1] = 'PENDING' and not exists (
    select from generate_subscripts(statuses, 1) i
    where i > 1 and statuses[i - 1] || '>' || statuses[i] <> all (array[
      'PENDING>PIX_QRCODE_GENERATED', 'PENDING>FAILED',
      'PIX_QRCODE_GENERATED>PAID', 'PIX_QRCODE_GENERATED>FAILED',
      'FAILED>PAID',
      'PAID>PROCESSING_REFUND', 'PAID>BLOCKED', 'PAID>INFRACTION',
      'PROCESSING_REFUND>REFUNDED', 'PROCESSING_REFUND>PAID', 'PROCESSING_REFUND>BLOCKED', 'PROCESSING_REFUND>INFRACTION',
      'REFUNDED>INFRACTION',
      'BLOCKED>PROCESSING_INFRACTION', 'BLOCKED>PAID', 'BLOCKED>PROCESSING_REFUND', 'BLOCKED>INFRACTION',
      'PROCESSING_INFRACTION>INFRACTION', 'PROCESSING_INFRACTION>PAID', 'PROCESSING_INFRACTION>PROCESSING_REFUND'
    ])
  );

create table transactions (
  id uuid not null,
  merchant_id uuid not null,
  acquirer text not null,
  amount bigint not null,
  idempotency_key text,
  external_code text,
  webhook_url text,
  is_info_product boolean not null,
  -- json, not jsonb: given back in the order in which it came.
  customer json,
  seller json,
  address json,
  items json,
  metadata json,
  -- What the list's filters compare with.
  customer_search_name text,
  customer_search_email text,
  customer_document text,
  customer_landline_digits text,
  customer_mobile_digits text,
  pix_expiration_seconds integer not null,
  -- Both null as long as the acquirer's answer is not known, and for ever when it refused.
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
  -- When the service next asks the acquirer of its own accord: an unknown outcome, or an expiry. Null when nothing is open.
  check_at timestamptz(3),
  primary key (id, merchant_id),
  constraint transactions_amount_in_range check (amount between 1 and 10000000),
  constraint transactions_moves_allowed check (transaction_moves_are_allowed(statuses)),
  constraint transactions_history_whole check (cardinality(statuses) = cardinality(status_dates)),
  constraint transactions_code_with_status check (status in ('PENDING', 'FAILED') or (pix_uri is not null and pix_expires_at is not null)),
  constraint transactions_paid_whole check ((amount_paid is null) = (payment_date is null) and (amount_paid is null) = (end_to_end is null))
);

create unique index transactions_idempotency_key on transactions (merchant_id, idempotency_key) where idempotency_key is not null;
-- One payment pays one transaction.
create unique index transactions_end_to_end on transactions (merchant_id, end_to_end) where end_to_end is not null;
create index transactions_newest on transactions (merchant_id, created_at desc, id desc) include (status, amount);
create index transactions_document on transactions (merchant_id, customer_document, created_at desc) where customer_document is not null;
create index transactions_email on transactions (merchant_id, customer_search_email, created_at desc) where customer_search_email is not null;
create index transactions_external_code on transactions (merchant_id, external_code, created_at desc) where external_code is not null;
create index transactions_to_check on transactions (check_at) where check_at is not null;

create table refunds (
  merchant_id uuid not null,
  id uuid not null,
  transaction_id uuid not null,
  amount bigint not null check (amount > 0),
  status text not null check (status in ('PROCESSING', 'REFUNDED', 'FAILED')),
  end_to_end text,
  reason text,
  created_at timestamptz(3) not null,
  primary key (merchant_id, id),
  foreign key (transaction_id, merchant_id) references transactions
);
create index refunds_of_transaction on refunds (merchant_id, transaction_id);
create index refunds_end_to_end on refunds (merchant_id, end_to_end);

-- The same table as src/withdrawals/status.ts.
create function withdrawal_moves_are_allowed(statuses text[]) returns boolean
  language sql immutable parallel safe
  return statuses[1] = 'PENDING' and not exists (
    select from generate_subscripts(statuses, 1) i
    where i > 1 and statuses[i - 1] || '>' || statuses[i] <> all (array[
      'PENDING>PROCESSING', 'PENDING>CANCELED', 'PENDING>REJECTED',
      'PROCESSING>PROCESSED', 'PROCESSING>FAILED',
      'PROCESSED>REFUNDED'
    ])
  );

create table withdrawals (
  id uuid not null,
  merchant_id uuid not null,
  acquirer text not null,
  amount bigint not null,
  webhook_url text,
  external_code text,
  pix_key text not null,
  pix_key_type text not null check (pix_key_type in ('CPF', 'CNPJ', 'EMAIL', 'PHONE', 'EVP')),
  created_at timestamptz(3) not null,
  statuses text[] not null,
  status_dates timestamptz(3)[] not null,
  status text not null generated always as (statuses[cardinality(statuses)]) stored,
  amount_withdrawn bigint,
  processed_date timestamptz(3),
  error_message text,
  end_to_end text,
  end_to_end_refund text,
  payer json,
  receiver json,
  fee_amount bigint,
  primary key (id, merchant_id),
  constraint withdrawals_amount_in_range check (amount between 10 and 10000000),
  constraint withdrawals_moves_allowed check (withdrawal_moves_are_allowed(statuses)),
  constraint withdrawals_history_whole check (cardinality(statuses) = cardinality(status_dates))
);
create index withdrawals_newest on withdrawals (merchant_id, created_at desc, id desc) include (status, amount);

-- One row per status change, written in the commit that made it; never changed.
create table events (
  merchant_id uuid not null,
  id uuid not null,
  type text not null,
  record_type text not null check (record_type in ('transaction', 'withdrawal')),
  record_id uuid not null,
  -- Counts a record's status changes, from 1.
  sequence integer not null,
  occurred_at timestamptz(3) not null,
  -- The record's changeable members as they were after this change; null where they are as the record was born with them.
  snapshot json,
  primary key (merchant_id, record_id, sequence)
);
create index events_newest on events (merchant_id, occurred_at desc, id desc);

-- An event with somewhere to go.
create table webhook_deliveries (
  merchant_id uuid not null,
  event_id uuid not null,
  record_id uuid not null,
  sequence integer not null,
  url text not null,
  -- scheme, host and port of the url: what shares a budget of connections.
  receiver text not null,
  -- waiting: behind an earlier delivery of its record, and not to be looked at before that one is finished.
  state text not null check (state in ('waiting', 'pending', 'delivered', 'exhausted', 'gone')),
  -- All attempts ever made.
  attempts integer not null default 0,
  -- Those made before the schedule began anew: on a resend, or when a newer event of the record came to wait behind this one.
  attempts_before integer not null default 0,
  -- While a worker has it in hand, the end of its lease: so the due index holds nothing that cannot be claimed.
  next_attempt_at timestamptz(3) not null,
  -- Until when a worker has it in hand. A worker that died lets go by itself.
  leased_until timestamptz(3),
  -- The receiver asked not to be called before.
  retry_after timestamptz(3),
  last_status integer,
  last_error text,
  created_at timestamptz(3) not null,
  finished_at timestamptz(3),
  primary key (merchant_id, event_id),
  foreign key (merchant_id, record_id, sequence) references events
) with (
  -- A queue inside a history: vacuumed by what moved through it, not by how much has piled up.
  autovacuum_vacuum_scale_factor = 0.02
);
create index webhook_deliveries_due on webhook_deliveries (receiver, next_attempt_at) where state = 'pending';
create index webhook_deliveries_of_record on webhook_deliveries (merchant_id, record_id, sequence);

create table webhook_attempts (
  merchant_id uuid not null,
  event_id uuid not null,
  number integer not null,
  started_at timestamptz(3) not null,
  duration_ms integer not null,
  -- HTTP status of the answer; null when there was none.
  status integer,
  error text,
  primary key (merchant_id, event_id, number),
  foreign key (merchant_id, event_id) references webhook_deliveries
);

-- What acquirers told us by callback: kept before it is answered, worked on after.
create table callback_inbox (
  acquirer text not null,
  event_key text not null,
  end_to_end text not null,
  txid text,
  received_at timestamptz(3) not null,
  -- received, then: settled (true, and booked), unconfirmed (the acquirer does not know of it), unmatched (no charge of ours)
  state text not null check (state in ('received', 'settled', 'unconfirmed', 'unmatched')),
  finished_at timestamptz(3),
  primary key (acquirer, event_key)
);

-- Up to when each acquirer's list of payments has been read.
create table acquirer_cursors (
  acquirer text primary key,
  listed_until timestamptz(3) not null
);
