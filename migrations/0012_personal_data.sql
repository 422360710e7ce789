-- Why: a person may have their data erased (LGPD, art. 18), and an operator may not keep it longer than needed. Data
-- that identifies a person becomes null or a keyed hash; amounts, ids and the ledger stay (docs/privacy.md).

-- How far the job that erases old personal data has processed the transactions and the withdrawals of each merchant:
-- all that were created before erased_until.
create table personal_data_cursors (
  merchant_id uuid not null,
  erased_until timestamptz(3) not null,
  record_type text not null check (record_type in ('transaction', 'withdrawal')),
  primary key (merchant_id, record_type)
);
