-- Why: whoever approves a withdrawal sees what this merchant, and what other merchants, sent to the Pix key before.
-- Compatible with code from migration 0015 on.
-- Outside a transaction.
-- The creation of a withdrawal writes nothing to this index: the withdrawal is added when it becomes PROCESSED.
create index concurrently withdrawals_sent_to_key on withdrawals (pix_key, merchant_id, created_at desc) include (amount)
  where status = 'PROCESSED';
