-- What both peers keep: the same facts as Guichê about a transaction, in the tables that an ordinary application would
-- make of them, with the indexes that it cannot do without.
create table transactions (
  id uuid primary key,
  merchant_id uuid not null,
  amount bigint not null,
  status text not null,
  payment_method text not null,
  idempotency_key text,
  external_code text,
  webhook_url text,
  is_info_product boolean not null,
  customer jsonb,
  seller jsonb,
  address jsonb,
  items jsonb,
  metadata jsonb,
  pix_expiration_seconds integer not null,
  pix_uri text not null,
  pix_expires_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index transactions_idempotency on transactions (merchant_id, idempotency_key);
create index transactions_newest on transactions (merchant_id, created_at desc);

create table status_history (
  id bigint generated always as identity primary key,
  transaction_id uuid not null references transactions,
  status text not null,
  changed_at timestamptz not null
);
create index status_history_of_transaction on status_history (transaction_id);

create table events (
  id uuid primary key,
  merchant_id uuid not null,
  transaction_id uuid not null references transactions,
  type text not null,
  payload jsonb not null,
  created_at timestamptz not null
);
