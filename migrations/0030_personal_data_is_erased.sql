-- Why: a person may have their data erased (LGPD, art. 18), and an operator may not keep it longer than needed. What identifies a person becomes
-- null or a keyed hash; amounts, ids and the ledger stay (docs/privacy.md).

-- When the personal columns were erased: null for nearly all.
alter table transactions add column erased_at timestamptz(3), alter column erased_at set statistics 25;
alter table withdrawals add column erased_at timestamptz(3);

-- Up to which creation time the retention of personal data has looked at a merchant's transactions.
create table personal_data_cursors (
  merchant_id uuid primary key,
  erased_until timestamptz(3) not null
);
