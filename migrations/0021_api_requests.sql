-- Why: a merchant's developers see what their program sent and which error it got, without the operator's log.
-- Compatible with code from migration 0015 on.
--
-- The requests of API clients for seven days: errors, up to a limit per minute and merchant, and a sample of the
-- successes (src/requests). Values are redacted before they are written: no token, secret, document, name, e-mail
-- address or other text of a caller is in these rows. Rows are written in the background, several in one commit. No
-- request waits for that.
create table api_requests (
  merchant_id uuid not null references clients,
  at timestamptz(3) not null,
  id bigint not null generated always as identity,
  request_id text not null,
  method text not null,
  -- The pattern of the route, such as one with :id, and not the address of the request.
  route text not null,
  status smallint not null,
  duration_ms integer not null,
  -- The record that the request was about or created. Null: none was found.
  record_id uuid,
  -- The redacted query and body; and of an error, its redacted problem document. Rows that were written before 0026
  -- have only its code and fields. Null: none.
  request json,
  problem json,
  -- How many requests of this merchant were not written since the row before, because there were too many.
  dropped integer not null,
  primary key (merchant_id, at, id)
);
-- For the deletion of old rows.
create index api_requests_at on api_requests (at);
