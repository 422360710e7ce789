-- Why: a merchant sells without code: a link that many customers pay, and a printed QR code at a counter.
-- Compatible with code from migration 0015 on.

create table payment_links (
  merchant_id uuid not null references clients,
  id uuid not null,
  -- The last part of the address of the link's page. The address has no merchant, so a slug is unique among all
  -- merchants.
  slug text not null constraint payment_links_slug unique,
  title text not null,
  description text,
  -- The amount in cents. Null: the customer enters it, between amount_min and amount_max where they are set.
  amount bigint,
  amount_min bigint,
  amount_max bigint,
  -- The maximum number of payments. Null: there is no maximum.
  stock integer,
  expires_at timestamptz(3),
  -- Whether the customer has to enter a name, an e-mail address and a CPF or CNPJ.
  needs_customer boolean not null,
  webhook_url text,
  is_enabled boolean not null,
  -- The txid of the link's static QR code, in lower case, and the text of the code. Null: it has none. A printed code
  -- can be paid at any time, so neither changes.
  static_txid text constraint payment_links_static_txid unique,
  static_uri text,
  created_at timestamptz(3) not null,
  changed_at timestamptz(3) not null,
  primary key (merchant_id, id),
  constraint payment_links_amounts_in_range check (
    (amount is null or (amount between 1 and 10000000 and amount_min is null and amount_max is null))
    and amount_min between 1 and 10000000 and amount_max between 1 and 10000000 and amount_min <= amount_max),
  constraint payment_links_stock_in_range check (stock between 1 and 10000),
  constraint payment_links_static_whole check ((static_txid is null) = (static_uri is null)),
  -- A printed code can be paid any number of times, at any time.
  constraint payment_links_static_has_no_end check (static_txid is null or (stock is null and expires_at is null))
);
create index payment_links_newest on payment_links (merchant_id, created_at desc, id desc);

-- The charges of a link, by the idempotency keys of their transactions. A row is written before the charge is requested
-- from the acquirer, to reserve one payment of the stock.
create table payment_link_charges (
  merchant_id uuid not null,
  link_id uuid not null,
  key text not null,
  created_at timestamptz(3) not null,
  primary key (merchant_id, key),
  foreign key (merchant_id, link_id) references payment_links
);
create index payment_link_charges_of_link on payment_link_charges (merchant_id, link_id, created_at desc);
