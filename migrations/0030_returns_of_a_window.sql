-- Why: the totals of a day count what the acquirer returned on that day, also of a payment that was returned in parts.
-- Compatible with code from migration 0015 on.

-- How much of an entry of the acquirer's list moved in the run's own window, and how many payments, returns or payouts that
-- were. A return's row has the sum of all returns of its payment, also of other days.
alter table reconciliation_pairs add column window_amount bigint not null default 0;
alter table reconciliation_pairs add column window_count integer not null default 0;
