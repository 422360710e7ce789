-- Why: money that moved on an account before Guichê first read its lists does not concern Guichê.
-- Compatible with code from migration 0015 on.

-- When the acquirer's list was first read: reconciliation ignores earlier movements that only the acquirer has. The
-- default is for lists that were read before this migration: nothing of them is ignored.
alter table acquirer_cursors add column first_listed_at timestamptz(3) not null default '1970-01-01 00:00:00+00';
