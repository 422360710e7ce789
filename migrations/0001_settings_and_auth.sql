-- Why: what the service itself keeps, and the API clients that call it.
--
-- Tables with records of merchants have merchant_id in their primary key, and every query for a merchant names it: this
-- keeps the data of merchants apart.

-- Values of the service itself, by name, such as a generated secret key or the day that a job has reached.
create table settings (
  name text primary key,
  value text not null
);

-- The token buckets of rate limits, shared by all processes (src/http/store.ts). A bucket without a row is full. The
-- table is unlogged: after a crash of PostgreSQL, and on a standby that becomes the primary, it is empty.
create unlogged table rate_limits (
  -- A keyed hash of the name of the limit and of the caller that it counts, such as an address or a client.
  id uuid primary key,
  -- When the bucket will be full again, if nothing more is taken from it.
  full_at timestamptz not null,
  -- How long an empty bucket takes to become full.
  fills_in interval not null
);

-- One API client is one merchant.
create table clients (
  merchant_id uuid primary key,
  client_id text not null,
  name text not null,
  scopes text[] not null,
  -- Access tokens issued before this moment are refused. Null: no token was revoked.
  not_before timestamptz(0),
  created_at timestamptz(3) not null,
  -- The cell that the merchant has moved to, and that cell's address. New charges are refused here then
  -- (docs/scaling.md). Null: the merchant has not moved.
  moved_to_cell text,
  moved_to_address text,
  constraint clients_moved_whole check ((moved_to_cell is null) = (moved_to_address is null)),
  constraint clients_client_id_key unique (client_id),
  -- The operator's own merchant has ledger accounts, but never an API client (src/suspense/status.ts).
  constraint clients_operator_has_none check (merchant_id <> '00000000-0000-8000-8000-000000000001')
);

create table client_secrets (
  merchant_id uuid not null references clients,
  id uuid not null,
  -- HMAC-SHA-256 of the secret under the service's secret key. The secret itself is shown once and never stored.
  hash bytea not null,
  created_at timestamptz(3) not null,
  -- When the secret ends, after a rotation or a revocation. Null: no end is set.
  expires_at timestamptz(3),
  -- Who created the secret and so has seen it, as the audit log names people, such as user:maria@example.com or
  -- cli:maria. Null: the service, for the sandbox.
  made_by text,
  primary key (merchant_id, id)
);

-- The keys that sign access tokens. The key without retires_at signs; the others only verify the tokens that they
-- signed.
create table signing_keys (
  kid text primary key,
  public_jwk json not null,
  -- Encrypted under the service's secret key.
  sealed_private_jwk bytea not null,
  created_at timestamptz(3) not null,
  -- Until when the key verifies tokens, after a rotation. Null: it is the current key.
  retires_at timestamptz(3)
);
