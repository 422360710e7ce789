-- Why: what the service itself keeps, and the API clients that call it.
--
-- Every key of a merchant's table contains merchant_id, and every query of a merchant names it: that separates merchants,
-- and the same schema can be spread over several servers.

create table settings (
  name text primary key,
  value text not null
);

-- The buckets of rate limits, for all processes (src/http/store.ts). Unlogged: after a crash of PostgreSQL, and on
-- a standby, all of them are full.
create unlogged table rate_limits (
  -- A keyed hash of the limit and of what it counts.
  id uuid primary key,
  -- When it will be full again, if nothing more is used.
  full_at timestamptz not null,
  -- How long it takes from empty to full.
  fills_in interval not null
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
  -- The cell that the merchant has moved to, and its address there: new charges are refused here (docs/scaling.md).
  moved_to_cell text,
  moved_to_address text,
  constraint clients_moved_whole check ((moved_to_cell is null) = (moved_to_address is null)),
  constraint clients_client_id_key unique (client_id),
  -- The operator's own merchant has accounts and never a client (src/suspense/status.ts).
  constraint clients_operator_has_none check (merchant_id <> '00000000-0000-8000-8000-000000000001')
);

create table client_secrets (
  merchant_id uuid not null references clients,
  id uuid not null,
  -- HMAC-SHA-256 of the secret under the service's secret key. The secret itself is shown once and never stored.
  hash bytea not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3),
  -- The person who made it and so has seen it, as the audit log names people. Null: the service, for the sandbox.
  made_by text,
  primary key (merchant_id, id)
);

-- Access tokens are signed with these. The newest signs; a retired one verifies until its tokens have expired.
create table signing_keys (
  kid text primary key,
  public_jwk json not null,
  sealed_private_jwk bytea not null,
  created_at timestamptz(3) not null,
  retires_at timestamptz(3)
);
