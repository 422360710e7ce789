-- Why: a merchant sells without code: a link that many customers pay, and a printed QR code at a counter.
-- Compatible with code from migration 0015 on.

create table payment_links (
  merchant_id uuid not null references clients,
  id uuid not null,
  -- In the address of its page, which names no merchant: unique among all of them.
  slug text not null constraint payment_links_slug unique,
  title text not null,
  description text,
  -- Null: the customer enters the amount, between the other two.
  amount bigint,
  amount_min bigint,
  amount_max bigint,
  -- The most payments; null: any number.
  stock integer,
  expires_at timestamptz(3),
  -- Whether the customer has to give name, e-mail and CPF or CNPJ.
  needs_customer boolean not null,
  webhook_url text,
  is_enabled boolean not null,
  -- The txid of its static code, in lower case, and the code. Once printed it can be paid for ever, so neither changes.
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
  -- A printed code knows neither a stock nor an end.
  constraint payment_links_static_has_no_end check (static_txid is null or (stock is null and expires_at is null))
);
create index payment_links_newest on payment_links (merchant_id, created_at desc, id desc);

-- The charges of a link, each by the idempotency key of its transaction. A row is written before the acquirer is asked:
-- it reserves one of the stock.
create table payment_link_charges (
  merchant_id uuid not null,
  link_id uuid not null,
  key text not null,
  created_at timestamptz(3) not null,
  primary key (merchant_id, key),
  foreign key (merchant_id, link_id) references payment_links
);
create index payment_link_charges_of_link on payment_link_charges (merchant_id, link_id, created_at desc);
