-- Why: a merchant defends a payment against a dispute with a text, proof of the delivery and files, and everybody sees which
-- disputes still need an answer.
-- Compatible with code from migration 0015 on.

-- When its defence was sent to the PSP or handed in there. Null: it still needs an answer. Null again if the PSP refuses it.
alter table disputes add column answered_at timestamptz(3);

-- The defence of a dispute. It is changed under the lock of the dispute's transaction.
create table dispute_defences (
  merchant_id uuid not null,
  dispute_id uuid not null,
  -- draft: it can be edited; sending: the PSP's answer is not known yet; refused: by the PSP, and can be corrected; sent: the
  -- PSP has it; handed_in: a person gave it to the PSP. src/defences/status.ts has the transitions.
  state text not null check (state in ('draft', 'sending', 'refused', 'sent', 'handed_in')),
  -- Counts the changes of text and delivery: nobody overwrites or sends what they have not read.
  revision integer not null,
  text text not null check (char_length(text) <= 4000),
  -- Proof of the delivery: kind, carrier, trackingCode, deliveredOn, receivedBy, invoice.
  delivery json not null,
  -- Our id of the defence at the PSP: the same id never counts twice. A corrected defence has a new one.
  submission_id uuid,
  -- When it was last sent for, and when the PSP received it or a person handed it in.
  requested_at timestamptz(3),
  answered_at timestamptz(3),
  -- The PSP's own number of it, where it gives one, or what a person noted.
  reference text,
  -- Why the PSP refused the last attempt.
  refusal text,
  changed_at timestamptz(3) not null,
  erased_at timestamptz(3),
  primary key (merchant_id, dispute_id),
  foreign key (merchant_id, dispute_id) references disputes,
  constraint dispute_defences_answered check ((answered_at is not null) = (state in ('sent', 'handed_in'))),
  constraint dispute_defences_requested check (state not in ('sending', 'sent') or (submission_id is not null and requested_at is not null))
);

-- Files that prove the delivery. Here and not in a folder, so that a backup has them.
create table dispute_files (
  merchant_id uuid not null,
  id uuid not null,
  dispute_id uuid not null,
  -- A safe name with the extension of its real type.
  name text not null check (char_length(name) between 1 and 120),
  -- As its content shows, whatever the sender said.
  type text not null check (type in ('application/pdf', 'image/png', 'image/jpeg', 'image/webp', 'text/plain')),
  size integer not null check (size between 1 and 5242880),
  -- Of the content as uploaded. It stays after an erasure.
  sha256 bytea not null check (octet_length(sha256) = 32),
  -- Null after the personal data was erased.
  content bytea,
  added_at timestamptz(3) not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, dispute_id) references disputes,
  constraint dispute_files_size check (content is null or octet_length(content) = size)
);
create index dispute_files_of_dispute on dispute_files (merchant_id, dispute_id, added_at);
-- Photos and PDFs are compressed already.
alter table dispute_files alter column content set storage external;
