-- Why: a receiver may send a withdrawal back in parts, and the withdrawal is found by the end-to-end id of each part.
-- Compatible with code from migration 0015 on.

-- The end-to-end ids of all parts but the last, which is in end_to_end_refund. Null: there are fewer than two parts.
alter table withdrawals add column earlier_end_to_end_refunds text[];
