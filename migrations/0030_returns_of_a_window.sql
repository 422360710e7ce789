-- Why: the totals of a day count what the acquirer returned on that day, also of a payment that was returned in parts.
-- Compatible with code from migration 0015 on.

-- How much of the acquirer's side of the row moved in the run's own window, in cents, and in how many payments, returns
-- or payouts. The other amounts of a row of returns are sums over all returns of the payment, also on other days.
alter table reconciliation_pairs add column window_amount bigint not null default 0;
alter table reconciliation_pairs add column window_count integer not null default 0;
