-- Why: who asked for a withdrawal does not approve it; and contests that have ended are listed merchant by merchant.

alter table withdrawals
  -- The person who asked for it, as the audit log names people, such as user:maria@example.com. Null: a shop, by its token.
  add column requested_by text;

create index infractions_finished_of_merchant on infractions (merchant_id, finished_at) where finished_at is not null;
