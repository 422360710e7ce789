-- Why: people open the same filtered lists every day, so they name them.
-- Compatible with code from migration 0015 on.

-- The named filters of each user. The query is the query string of the list's address, which has no personal data.
create table saved_views (
  id uuid primary key,
  user_id uuid not null references users,
  screen text not null,
  name text not null,
  query text not null,
  created_at timestamptz(3) not null,
  constraint saved_views_name unique (user_id, screen, name)
);
