-- Why: merchants are notified of each status change, signed, in order, at least once.

-- One row per status change, written in the same commit. Its content changes only when personal data is erased.
create table events (
  merchant_id uuid not null,
  id uuid not null,
  type text not null,
  record_type text not null check (record_type in ('transaction', 'withdrawal')),
  record_id uuid not null,
  -- The number of the event among those of its record: 1, 2, 3 …
  sequence integer not null,
  occurred_at timestamptz(3) not null,
  -- The record's mutable fields after this change. Null: they are those that the record was created with.
  snapshot json,
  primary key (merchant_id, record_id, sequence)
) with (
  -- Rows are only inserted. Early vacuums allow index-only scans, and freeze rows while their pages are still in
  -- memory.
  autovacuum_vacuum_insert_scale_factor = 0.05,
  -- Queries read rows by key or in the order of an index, so rare statistics are enough.
  autovacuum_analyze_scale_factor = 0.5
);
create index events_newest on events (merchant_id, occurred_at desc, id desc);

-- The addresses that a merchant registered. Each receives the events of all the merchant's records that match its
-- filter.
create table webhook_endpoints (
  merchant_id uuid not null references clients,
  id uuid not null,
  url text not null,
  -- Scheme, host and port of the URL, as in the endpoint's deliveries.
  receiver text not null,
  description text not null,
  -- The types of events that the endpoint receives. Null: all types.
  event_types text[],
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  -- Since when every attempt has failed. Null: the last attempt succeeded, or there was none.
  failing_since timestamptz(3),
  disabled_at timestamptz(3),
  -- Who or what disabled the endpoint. request: a person or program of the merchant; failing: the service, after days
  -- without a successful attempt; gone: the service, because the endpoint answered 410.
  disabled_reason text check (disabled_reason in ('request', 'failing', 'gone')),
  -- When the endpoint was deleted. The row is kept, because deliveries name it.
  deleted_at timestamptz(3),
  primary key (merchant_id, id),
  constraint webhook_endpoints_disabled check ((disabled_at is null) = (disabled_reason is null))
);
-- A merchant registers an address once, so that it receives an event once.
create unique index webhook_endpoints_url on webhook_endpoints (merchant_id, url) where deleted_at is null;

-- The secrets that deliveries are signed with.
create table webhook_secrets (
  merchant_id uuid not null references clients,
  id uuid not null,
  -- The endpoint whose deliveries the secret signs. Null: it signs the deliveries to the own URLs of the merchant's
  -- records.
  endpoint_id uuid,
  -- The secret, encrypted with AES-256-GCM under the service's secret key. It is not hashed, because signing needs it.
  sealed bytea not null,
  created_at timestamptz(3) not null,
  -- When the secret ends, after a rotation. Null: no end is set.
  expires_at timestamptz(3),
  primary key (merchant_id, id),
  foreign key (merchant_id, endpoint_id) references webhook_endpoints
);

-- One row per event and address that it is sent to: the record's own URL, and each registered endpoint.
create table webhook_deliveries (
  merchant_id uuid not null,
  -- For a delivery to the record's own URL: the event's id. For one to an endpoint: a hash of the event's and the
  -- endpoint's ids, so that no event has two deliveries to one endpoint.
  id uuid not null,
  record_id uuid not null,
  sequence integer not null,
  -- Null: the delivery goes to the record's own URL. There is no foreign key, because its check would cost time for
  -- every delivery, and rows of endpoints are never removed.
  endpoint_id uuid,
  url text not null,
  -- Scheme, host and port of the URL. Deliveries to one receiver share a limit of connections.
  receiver text not null,
  -- waiting: until an earlier delivery of its record to the same address is finished; pending: attempts are made;
  -- exhausted: the schedule of attempts has ended; gone: the receiver answered 410; canceled: the endpoint was disabled
  -- or deleted.
  state text not null check (state in ('waiting', 'pending', 'delivered', 'exhausted', 'gone', 'canceled')),
  -- The number of all attempts that were ever made.
  attempts integer not null default 0,
  -- The number of attempts made before the schedule last started again, because of a resend or because a newer event of
  -- the record was queued behind this delivery.
  attempts_before integer not null default 0,
  -- When the next attempt is due. While a worker has the delivery, this is the end of its lease, so that the index of
  -- due deliveries has none that cannot be claimed.
  next_attempt_at timestamptz(3) not null,
  -- Until when a worker has leased the delivery. Null: no worker has it. The lease of a dead worker ends by itself.
  leased_until timestamptz(3),
  -- The instance of the last worker that leased it. When an instance is dead, others release its leases before they end
  -- (src/jobs/instances.ts).
  leased_by integer,
  -- The moment before which the receiver wants no attempt (Retry-After in its last answer). Null: it named none.
  retry_after timestamptz(3),
  last_status integer,
  last_error text,
  created_at timestamptz(3) not null,
  finished_at timestamptz(3),
  -- The last bulk resend that included the delivery: a repeated request does not include it again, and the progress of
  -- the resend can be counted. Null: none.
  resend_id uuid,
  -- How much sooner the next attempts are due: the part that is not used yet of the time by which the sandbox clock was
  -- advanced. Null: none.
  advance_left interval,
  primary key (merchant_id, id),
  foreign key (merchant_id, record_id, sequence) references events
) with (
  -- The open deliveries are few among many finished ones. A small scale factor makes vacuum follow the changes of the
  -- queue and not the size of the whole table.
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.5
);
create index webhook_deliveries_due on webhook_deliveries (receiver, next_attempt_at) where state = 'pending';
create index webhook_deliveries_of_record on webhook_deliveries (merchant_id, record_id, sequence);
-- Undelivered ones are few, and a new delivery rarely writes to this index.
create index webhook_deliveries_undelivered on webhook_deliveries (merchant_id, state, created_at desc, id desc)
  where state in ('waiting', 'exhausted', 'gone', 'canceled');
create index webhook_deliveries_resent on webhook_deliveries (merchant_id, resend_id) where resend_id is not null;

create table webhook_attempts (
  merchant_id uuid not null,
  delivery_id uuid not null,
  -- The number of the attempt among those of its delivery: 1, 2, 3 …
  number integer not null,
  started_at timestamptz(3) not null,
  duration_ms integer not null,
  -- The HTTP status of the answer. Null: there was no answer.
  status integer,
  error text,
  -- The beginning of the answer's body. Null: it had none.
  response text,
  primary key (merchant_id, delivery_id, number),
  foreign key (merchant_id, delivery_id) references webhook_deliveries
) with (autovacuum_analyze_scale_factor = 0.5);
-- For the deletion of old attempts. Attempts are inserted in the order of time, so each goes to the last page of the
-- index: 1 to 2 µs.
create index webhook_attempts_started on webhook_attempts (started_at);
