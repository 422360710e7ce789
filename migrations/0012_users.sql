-- Why: people sign in to the dashboard: the operator's own, and those of merchants. An API client is no person, and a person no client.

create table users (
  id uuid primary key,
  -- In lower case.
  email text not null,
  name text not null,
  -- Null: one of the operator's people.
  merchant_id uuid references clients,
  role text not null,
  -- argon2id, with its parameters.
  password_hash text not null,
  -- The secret of the second factor (RFC 6238), sealed under the service's secret key; asked for once it was confirmed.
  sealed_totp bytea,
  is_totp_confirmed boolean not null default false,
  -- The last time step whose code was used: each code is good once.
  totp_step bigint not null default 0,
  created_at timestamptz(3) not null,
  disabled_at timestamptz(3),
  constraint users_email_key unique (email),
  constraint users_role_of_side check (
    case when merchant_id is null then role in ('admin', 'finance', 'support', 'read_only')
    else role in ('owner', 'finance', 'developer') end)
);

-- A link that can be used once: to become a user, or to choose another password.
create table invitations (
  -- SHA-256 of what stands in the link.
  token_hash bytea primary key,
  id uuid not null unique,
  -- Whose password is chosen anew; null for somebody new.
  user_id uuid references users,
  -- Null: whoever has the link says it. So is the first admin made.
  email text,
  merchant_id uuid references clients,
  role text not null,
  -- Null: by the service itself or from the command line.
  invited_by uuid references users,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
);

create table sessions (
  -- SHA-256 of the cookie.
  token_hash bytea primary key,
  user_id uuid not null references users,
  created_at timestamptz(3) not null,
  seen_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create index sessions_of_user on sessions (user_id);
