-- Why: a receiver may send a withdrawal back in parts, and it is found by the id of each part.
-- Compatible with code from migration 0015 on.

-- The ids of all parts but the last, which is in end_to_end_refund. Null for nearly all.
alter table withdrawals add column earlier_end_to_end_refunds text[];
