-- Why: a merchant's developers see what was answered, not only what was sent.
-- Compatible with code from migration 0015 on.
-- The id and status in the answer of a success. Of an error, `problem` has the redacted document.
alter table api_requests add column response json;
