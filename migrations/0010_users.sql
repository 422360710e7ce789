-- Why: people sign in to the dashboard: the operator's own, and those of merchants. API clients are programs and have
-- their own table. Some actions need a second person.

create table users (
  id uuid primary key,
  -- In lower case.
  email text not null,
  name text not null,
  -- The merchant that the user belongs to. Null: a user of the operator.
  merchant_id uuid references clients,
  role text not null,
  -- The argon2id hash with its parameters. Null: the person signs in at the identity provider.
  password_hash text,
  -- The person at the identity provider: the claims iss and sub of the ID token. Null: the user is not linked to a
  -- person there. The e-mail address is not used, because it may change or be given to somebody else.
  issuer text,
  subject text,
  -- Whether the user is disabled because the identity provider no longer gives the person a role. It is set together
  -- with disabled_at, and ends when the provider gives a role again.
  is_disabled_by_provider boolean not null default false,
  -- The secret of the second factor (RFC 6238), encrypted under the service's secret key. Null: there is none. Once it
  -- is confirmed, each sign-in with a password needs a code.
  sealed_totp bytea,
  is_totp_confirmed boolean not null default false,
  -- The last time step of which a code was used, so that each code is used once.
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
  -- The address of the new user. Null: whoever has the link enters it, as for the first admin.
  email text,
  merchant_id uuid references clients,
  role text not null,
  -- The user who created the link. Null: the service itself or the command line.
  invited_by uuid references users,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3)
);

create table sessions (
  -- The SHA-256 of the session's cookie.
  token_hash bytea primary key,
  user_id uuid not null references users,
  created_at timestamptz(3) not null,
  seen_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  -- Identifies the session where its cookie must not appear, such as in the list of sessions.
  id uuid not null default gen_random_uuid() unique,
  -- The browser and the operating system in a few words, and the network of the IP address from which the session began
  -- (/24 for IPv4, /48 for IPv6).
  device text,
  network text
);
create index sessions_of_user on sessions (user_id);

-- Browsers and addresses that a person has signed in from. Failed attempts from elsewhere do not block a sign-in from
-- there.
create table known_devices (
  user_id uuid not null references users,
  -- A keyed hash of the browser's cookie, or of the address.
  hash bytea not null,
  seen_at timestamptz(3) not null,
  primary key (user_id, hash)
);

-- Actions that need a second person: one person proposes an action, and another approves or rejects it.
create table proposals (
  id uuid primary key,
  -- The proposed action, such as withdrawal.limits. src/proposal-kinds.ts has the list.
  kind text not null,
  -- Null: the action concerns the operator itself.
  merchant_id uuid,
  -- The record that the action changes. At most one proposal of a kind is open for a record.
  record_id uuid not null,
  -- Everything that the approval carries out; nothing is added later.
  content json not null,
  -- Who proposed it, as the audit log names people, such as user:ana@example.com.
  proposed_by text not null,
  proposed_at timestamptz(3) not null,
  state text not null default 'open' check (state in ('open', 'approved', 'rejected', 'replaced')),
  decided_by text,
  decided_at timestamptz(3),
  constraint proposals_decided check ((state = 'open') = (decided_by is null) and (state = 'open') = (decided_at is null))
);
create unique index proposals_one_open on proposals (kind, record_id) where state = 'open';
