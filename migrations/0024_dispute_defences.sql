-- Why: a merchant defends a payment against a dispute with a text, proof of the delivery and files, and people see
-- which disputes have no answer yet.
-- Compatible with code from migration 0015 on.

-- When the dispute's defence was sent to the PSP, or given to the PSP by a person. Null: the dispute has no answer, or
-- the PSP has refused the defence.
alter table disputes add column answered_at timestamptz(3);

-- The defences of disputes. A defence is changed under the lock of the dispute's transaction.
create table dispute_defences (
  merchant_id uuid not null,
  dispute_id uuid not null,
  -- draft: it can be edited; sending: the PSP's answer is not known yet; refused: the PSP refused it, and it can be
  -- edited and sent again; sent: the PSP has it; handed_in: a person gave it to the PSP outside Guichê.
  -- src/defences/status.ts has the transitions.
  state text not null check (state in ('draft', 'sending', 'refused', 'sent', 'handed_in')),
  -- The number of changes of text and delivery. A request names the revision that the person has read, so that nobody
  -- overwrites or sends another one.
  revision integer not null,
  text text not null check (char_length(text) <= 4000),
  -- Proof of the delivery: kind, carrier, trackingCode, deliveredOn, receivedBy, invoice.
  delivery json not null,
  -- Our id of the defence at the PSP, so that a repeated request adds no second defence. A corrected defence has a new
  -- id. Null: it was not sent.
  submission_id uuid,
  -- When the service last began to send the defence, and when the PSP received it or a person gave it to the PSP. Null:
  -- that has not happened.
  requested_at timestamptz(3),
  answered_at timestamptz(3),
  -- The PSP's own number of the defence, or what a person noted. Null: there is none.
  reference text,
  -- Why the PSP refused the defence. Null: it did not.
  refusal text,
  changed_at timestamptz(3) not null,
  erased_at timestamptz(3),
  primary key (merchant_id, dispute_id),
  foreign key (merchant_id, dispute_id) references disputes,
  constraint dispute_defences_answered check ((answered_at is not null) = (state in ('sent', 'handed_in'))),
  constraint dispute_defences_requested check (state not in ('sending', 'sent') or (submission_id is not null and requested_at is not null))
);

-- Files that prove the delivery. They are in the database and not in a folder, so that a backup of the database has
-- them.
create table dispute_files (
  merchant_id uuid not null,
  id uuid not null,
  dispute_id uuid not null,
  -- A name that is safe in a file system, with the extension of the real type.
  name text not null check (char_length(name) between 1 and 120),
  -- The type that the content has, whatever type the sender named.
  type text not null check (type in ('application/pdf', 'image/png', 'image/jpeg', 'image/webp', 'text/plain')),
  size integer not null check (size between 1 and 5242880),
  -- The SHA-256 of the content as uploaded. It stays after the content was erased.
  sha256 bytea not null check (octet_length(sha256) = 32),
  -- Null: it was erased as personal data.
  content bytea,
  added_at timestamptz(3) not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, dispute_id) references disputes,
  constraint dispute_files_size check (content is null or octet_length(content) = size)
);
create index dispute_files_of_dispute on dispute_files (merchant_id, dispute_id, added_at);
-- PostgreSQL does not compress the content, because photos and PDF files are compressed already.
alter table dispute_files alter column content set storage external;
