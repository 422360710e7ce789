-- Why: a merchant's developers see what was answered, not only what was sent.
-- Runs with code since 0015.
-- The id and status in the answer of a success. Of an error, `problem` has the redacted document.
alter table api_requests add column response json;
