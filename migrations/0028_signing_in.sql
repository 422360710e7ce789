-- Why: wrong passwords from elsewhere lock nobody out, guessing codes locks the second factor and shows, and people see and end their sessions.

alter table users
  -- Wrong codes in a row, and since when there were too many: no code counts until somebody resets the password.
  add column totp_failures integer not null default 0,
  add column totp_locked_at timestamptz(3);

alter table sessions
  -- What it is called where its cookie must not be.
  add column id uuid not null default gen_random_uuid() unique,
  -- Browser and system in a few words, and the network that it was begun from, without the part that names the host.
  add column device text,
  add column network text;

-- Browsers and networks that a person has signed in from: a right password from there passes, whatever others try.
create table known_devices (
  user_id uuid not null references users,
  -- A keyed hash of the browser's cookie, or of the address.
  hash bytea not null,
  seen_at timestamptz(3) not null,
  primary key (user_id, hash)
);
