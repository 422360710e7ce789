-- Why: a period of deliveries is sent again in one step. Which of them, so that the step asked for twice sends each once, and so that one can see
-- how far it has come.
alter table webhook_deliveries add column resend_id uuid;
-- Of the few that were; no birth of a delivery writes to it.
create index webhook_deliveries_resent on webhook_deliveries (merchant_id, resend_id) where resend_id is not null;
