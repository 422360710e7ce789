-- Why: what moved on an account before Guichê first read its lists belongs to nobody here.
-- Compatible with code from migration 0015 on.

-- When each list was first read. By default, and for lists that were read before, nothing is left out.
alter table acquirer_cursors add column first_listed_at timestamptz(3) not null default '1970-01-01 00:00:00+00';
