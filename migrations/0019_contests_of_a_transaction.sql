-- Why: the contests of a transaction were looked for among all that there are, since only those under way stand in an index.
create index infractions_of_transaction on infractions (merchant_id, transaction_id);
