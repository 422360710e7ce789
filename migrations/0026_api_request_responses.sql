-- Why: a merchant's developers see what was answered, not only what was sent.
-- Compatible with code from migration 0015 on.
-- The id and the status in the answer to a successful request. Null: it has neither, or the request failed; `problem`
-- then has the redacted problem document.
alter table api_requests add column response json;
