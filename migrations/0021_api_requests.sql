-- Why: a merchant's developers see what their program sent and which error it got, without the operator's log.
-- Compatible with code from migration 0015 on.
--
-- Every error and a sample of the successes, for seven days (src/requests). Values are redacted before they are
-- written: no token, secret, document, name, e-mail address or other text of a caller is in these rows. They are
-- written in the background, several in one commit. No request waits for them.
create table api_requests (
  merchant_id uuid not null references clients,
  at timestamptz(3) not null,
  id bigint not null generated always as identity,
  request_id text not null,
  method text not null,
  -- The route's pattern, never the address.
  route text not null,
  status smallint not null,
  duration_ms integer not null,
  -- The id in the address, if it was found.
  record_id uuid,
  -- Redacted query and body, and the error's code with its fields.
  request json,
  problem json,
  -- How many of this merchant's requests in between should have been written and were not.
  dropped integer not null,
  primary key (merchant_id, at, id)
);
-- For their deletion.
create index api_requests_at on api_requests (at);
