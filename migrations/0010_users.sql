-- Why: people sign in to the dashboard: the operator's own, and those of merchants. API clients are programs and have
-- their own table. Some actions need a second person.

create table users (
  id uuid primary key,
  -- In lower case.
  email text not null,
  name text not null,
  -- Null: one of the operator's people. Otherwise the merchant: clients has one row for each.
  merchant_id uuid references clients,
  role text not null,
  -- argon2id, with its parameters. Null: the person signs in at the identity provider.
  password_hash text,
  -- Who the person is at the identity provider (the claims iss and sub of its ID token). An e-mail address identifies
  -- nobody there: it changes, and may be given to somebody else.
  issuer text,
  subject text,
  -- The provider no longer gives the person a role here. Set together with disabled_at; ends when it gives one again.
  is_disabled_by_provider boolean not null default false,
  -- The secret of the second factor (RFC 6238), sealed under the service's secret key; required once it was confirmed.
  sealed_totp bytea,
  is_totp_confirmed boolean not null default false,
  -- The last time step whose code was used: each code is single-use.
  totp_step bigint not null default 0,
  created_at timestamptz(3) not null,
  disabled_at timestamptz(3),
  -- Who created the link with which the password was first chosen or reset, and when it was used. It stays as it was if
  -- that account leads back to this user. Null: the command line, the service or the identity provider. Approvals read
  -- it, so that nobody approves their own request with a second account.
  enrolled_by uuid references users,
  enrolled_at timestamptz(3),
  -- The number of wrong codes in a row, and when it reached the limit: from then on no code is accepted until somebody
  -- resets the password.
  totp_failures integer not null default 0,
  totp_locked_at timestamptz(3),
  constraint users_email_key unique (email),
  constraint users_identity_key unique (issuer, subject),
  constraint users_identity_whole check ((issuer is null) = (subject is null)),
  constraint users_disabled_by_provider check (not is_disabled_by_provider or disabled_at is not null),
  constraint users_role_of_side check (
    case when merchant_id is null then role in ('admin', 'finance', 'support', 'read_only')
    else role in ('owner', 'finance', 'developer') end)
);

-- A single-use link: to become a user, or to choose another password.
create table invitations (
  -- SHA-256 of the token in the link.
  token_hash bytea primary key,
  id uuid not null unique,
  -- The user who chooses another password; null for a new user.
  user_id uuid references users,
  -- Null: whoever has the link enters it. The first admin is created so.
  email text,
  merchant_id uuid references clients,
  role text not null,
  -- Null: the service itself or the command line.
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
  expires_at timestamptz(3) not null,
  -- Identifies the session where its cookie must not appear, such as in the list of sessions.
  id uuid not null default gen_random_uuid() unique,
  -- The browser and the system in a few words, and the first part of the IP address from which it began (/24 or /48).
  device text,
  network text
);
create index sessions_of_user on sessions (user_id);

-- Browsers and networks that a person has signed in from: a right password from there passes, whatever others try.
create table known_devices (
  user_id uuid not null references users,
  -- A keyed hash of the browser's cookie, or of the address.
  hash bytea not null,
  seen_at timestamptz(3) not null,
  primary key (user_id, hash)
);

-- What needs a second person, until somebody else approves it.
create table proposals (
  id uuid primary key,
  -- What would be done, such as withdrawal.limits. src/proposal-kinds.ts has the list.
  kind text not null,
  -- Null: the operator's own.
  merchant_id uuid,
  -- One proposal of a kind is open for a record at a time.
  record_id uuid not null,
  -- Everything that the approval carries out; nothing is added later.
  content json not null,
  -- The actor as in the audit log, such as user:ana@example.com.
  proposed_by text not null,
  proposed_at timestamptz(3) not null,
  state text not null default 'open' check (state in ('open', 'approved', 'rejected', 'replaced')),
  decided_by text,
  decided_at timestamptz(3),
  constraint proposals_decided check ((state = 'open') = (decided_by is null) and (state = 'open') = (decided_at is null))
);
create unique index proposals_one_open on proposals (kind, record_id) where state = 'open';
