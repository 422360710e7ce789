-- Why: whoever approves a withdrawal sees what was sent to the key before, and what is disputed is defended with evidence.

-- What was sent to a key, of one merchant and of others. A withdrawal enters it when it is sent, not when it is created.
create index withdrawals_sent_to_key on withdrawals (pix_key, merchant_id, created_at desc) include (amount)
  where status = 'PROCESSED';
