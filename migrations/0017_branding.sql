-- Why: how a merchant's payment page looks, where it leads back to, and which sites may show it in a frame.
-- Compatible with code from migration 0015 on.

create table brandings (
  merchant_id uuid primary key references clients,
  -- The merchant's own color; the page derives a readable shade of it for each theme (src/branding/colors.ts).
  color text check (color ~ '^#[0-9a-f]{6}$'),
  -- A PNG that was checked and rewritten (src/branding/png.ts).
  logo bytea check (octet_length(logo) <= 12288),
  shop_url text,
  embed_origins text[] not null default '{}',
  -- Whether the page shows what is bought. The description may be personal, so the merchant decides.
  shows_items boolean not null default false,
  changed_at timestamptz(3) not null
);
