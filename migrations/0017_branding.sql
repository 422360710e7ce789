-- Why: a merchant sets how its payment page looks, which shop it links to, and which sites may show it in a frame.
-- Compatible with code from migration 0015 on.

create table brandings (
  merchant_id uuid primary key references clients,
  -- The merchant's own color. The page derives a readable shade for each theme (src/branding/colors.ts). Null: the
  -- default.
  color text check (color ~ '^#[0-9a-f]{6}$'),
  -- A PNG that was checked and rewritten (src/branding/png.ts). Null: no logo.
  logo bytea check (octet_length(logo) <= 12288),
  -- The address that the page links back to, unless a transaction has its own. Null: none.
  shop_url text,
  embed_origins text[] not null default '{}',
  -- Whether the page shows what is bought. The description may have personal data, so the merchant decides.
  shows_items boolean not null default false,
  changed_at timestamptz(3) not null
);
