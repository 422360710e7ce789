-- Fills an empty database with merchants' transactions of the last days and everything that belongs to them: histories,
-- events, deliveries, refunds, disputes, ledger, and what the simulated network knows of them.
--
-- bench/seed/seed.ts runs it in one transaction, after it created the API clients and the temporary table `options`: the
-- sizes that were requested, the acquirer and its account, a BR Code without the token of its location (the text before
-- it and after it), and the key of the HMAC from which the token is made, padded for the inner and the outer hash.
-- `random()` has a fixed seed, so amounts, times and outcomes are the same for the same options; ids are new.

-- No parallel workers, so that random numbers are drawn in one order.
set local max_parallel_workers_per_gather = 0;
set local work_mem = '128MB';
set local maintenance_work_mem = '512MB';
select setseed(0.5);

create function pg_temp.check_digit(digits text, weights integer[]) returns text language sql immutable
  return (
    select case when sum(weight * substr(digits, place::integer, 1)::integer) % 11 < 2 then '0'
      else (11 - sum(weight * substr(digits, place::integer, 1)::integer) % 11)::text end
    from unnest(weights) with ordinality weighted (weight, place));

create function pg_temp.digits(count integer) returns text language sql volatile
  return lpad(floor(random() * 10 ^ count)::bigint::text, count, '0');

-- The CRC-16/CCITT-FALSE at the end of a BR Code, from the CRC of its beginning and the rest.
create function pg_temp.crc16(crc integer, rest text) returns text language plpgsql immutable as $$
declare
  bytes bytea := convert_to(rest, 'UTF8');
  step integer;
begin
  for place in 0 .. length(bytes) - 1 loop
    step := (crc >> 8) # get_byte(bytes, place);
    step := step # (step >> 4);
    crc := ((crc << 8) # (step << 12) # (step << 5) # step) & 65535;
  end loop;
  return upper(lpad(to_hex(crc), 4, '0'));
end $$;

-- As a date in JSON.
create function pg_temp.iso(moment timestamptz) returns text language sql stable
  return to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- Of a payment (E) or a return (D): the bank, the minute, and eleven characters.
create function pg_temp.end_to_end(letter text, ispb text, moment timestamptz, id uuid) returns text language sql stable
  return letter || ispb || to_char(moment at time zone 'UTC', 'YYYYMMDDHH24MI') || left(replace(id::text, '-', ''), 11);

-- Merchants of very different sizes: the first has exactly 1 % of all transactions, the second is small, and the others
-- share the rest by Zipf's law, the n-th largest with an n-th of the largest.
create temporary table seeded_merchants on commit drop as
select merchant_id, number, case
    when number = 1 then round(o.transactions / 100.0)
    when number = 2 then least(100, ceil(o.transactions / 100.0))
    else floor(others / (number - 2) / harmonic)
      -- The largest also gets the remainder of the rounding.
      + case when number = 3 then others - (select sum(floor(others / n / harmonic)) from generate_series(1, o.merchants - 2) n) else 0 end
  end::integer as transactions,
  -- Half have a webhook receiver, under a domain reserved for examples, so that no real server is called.
  case when random() < 0.5 then 'https://shop-' || number || '.example' end as receiver,
  random() < 0.4 as sells_goods,
  -- In cents. Half of the merchant's sales are below it.
  round(8000 * exp(0.8 * random_normal())) as median_amount,
  (array[0, 10, 25])[random(1, 3)] as fixed,
  (array[49, 79, 99, 119])[random(1, 4)] as basis_points
from options o
cross join lateral (
  select o.transactions - round(o.transactions / 100.0) - least(100, ceil(o.transactions / 100.0)) as others,
    (select sum(1.0 / n) from generate_series(1, o.merchants - 2) n) as harmonic
) rest
cross join lateral (
  select merchant_id, split_part(client_id, '-', 2)::integer as number from clients where client_id like 'seed-%'
) client;

insert into fee_rules (merchant_id, operation, valid_from, fixed, basis_points)
select merchant_id, 'transaction', o.now - o.days * interval '1 day', fixed, basis_points from seeded_merchants, options o;

-- The customers, with five transactions or more each on average. The most common names come first and are drawn most
-- often: a search for "silva" finds many.
create temporary table seeded_people on commit drop as
with names as (
  select string_to_array('Maria José Ana João Antônio Francisco Carlos Paulo Pedro Lucas Luiz Marcos Gabriel Rafael Daniel Marcelo Bruno Eduardo Felipe Adriana Juliana Márcia Fernanda Patrícia Aline Sandra Camila Amanda Jéssica Letícia Luciana Mariana Vera Vitória Larissa Cláudia Beatriz Sônia Renata Otávio Thiago Vinícius Ícaro Raíssa Noêmia Zuleica', ' ') as firsts,
    string_to_array('Silva Santos Oliveira Souza Rodrigues Ferreira Alves Pereira Lima Gomes Costa Ribeiro Martins Carvalho Almeida Lopes Soares Fernandes Vieira Barbosa Rocha Dias Nascimento Andrade Moreira Nunes Marques Machado Mendes Freitas Cardoso Ramos Gonçalves Santana Teixeira Araújo Conceição Moura Brandão Assunção Guimarães Peçanha Simões Takahashi Weber Zanetti', ' ') as lasts
), drawn as (
  select number, random() < 0.06 as is_company,
    firsts[1 + floor(random() ^ 2 * cardinality(firsts))] as first, lasts[1 + floor(random() ^ 2 * cardinality(lasts))] as last,
    lasts[1 + floor(random() ^ 2 * cardinality(lasts))] as middle, random() < 0.6 as has_middle,
    (array['Comércio', 'Distribuidora', 'Padaria', 'Livraria', 'Oficina', 'Farmácia', 'Papelaria'])[random(1, 7)] as trade,
    pg_temp.digits(9) as cpf, pg_temp.digits(8) || '0001' as cnpj,
    '(' || (array[11, 21, 31, 41, 51, 61, 71, 81, 85, 91, 92, 19, 27, 47, 48, 62])[random(1, 16)] || ') ' as area,
    random(6000, 9999) || '-' || pg_temp.digits(4) as mobile, random(2000, 4999) || '-' || pg_temp.digits(4) as landline,
    random() < 0.8 as has_mobile, random() < 0.1 as has_landline,
    random(1, 9999) as mailbox, (array['com', 'org', 'net'])[random(1, 3)] as domain,
    pg_temp.digits(4) as branch, pg_temp.digits(7) as account,
    (array['00000000', '00360305', '60701190', '60746948', '90400888', '18236120', '00416968', '31872495', '10573521', '13140088'])[random(1, 10)] as ispb
  from options o, names, generate_series(1, least(50000, ceil(o.transactions / 5.0)::integer)) number
), person as (
  select *, case when is_company then concat_ws(' ', trade, last, 'Ltda') else concat_ws(' ', first, case when has_middle then middle end, last) end as name,
    case when is_company then cnpj || pg_temp.check_digit(cnpj, '{5,4,3,2,9,8,7,6,5,4,3,2}')
      else cpf || pg_temp.check_digit(cpf, '{10,9,8,7,6,5,4,3,2}') end as with_first_digit,
    case when is_company then 'CNPJ' else 'CPF' end as document_type,
    case when has_mobile then area || '9' || mobile end as mobile_phone, case when has_landline then area || landline end as landline_phone,
    translate(lower(first || '.' || last), 'áâãàéêíóôõúüç', 'aaaaeeiooouuc') || mailbox || '@example.' || domain as email
  from drawn
), documented as (
  select *, with_first_digit || pg_temp.check_digit(with_first_digit, case when is_company then '{6,5,4,3,2,9,8,7,6,5,4,3,2}' else '{11,10,9,8,7,6,5,4,3,2}' end::integer[]) as document
  from person
)
select number, ispb, translate(lower(name), 'áâãàéêíóôõúüç', 'aaaaeeiooouuc') as search_name, email, document,
  regexp_replace(landline_phone, '\D', '', 'g') as landline_digits, regexp_replace(mobile_phone, '\D', '', 'g') as mobile_digits,
  json_strip_nulls(json_build_object('name', name, 'document', json_build_object('value', document, 'type', document_type),
    'email', email, 'landline', landline_phone, 'mobilePhone', mobile_phone)) as customer,
  json_build_object('type', case when is_company then 'PJ' else 'PF' end, 'name', name, 'document', document,
    'bankAccount', json_build_object('type', 'CHECKING', 'branch', branch, 'number', account, 'digit', '1', 'ispb', ispb),
    'pix', json_build_object('key', document, 'type', document_type)) as payer
from documented;

-- One row per transaction, with its random draws.
create temporary table seeded_draws on commit drop as
select gen_random_uuid() as id, m.merchant_id, m.number as merchant, m.transactions, n, random(1, people) as person,
  -- Sales grow a little from day to day, and their hours are those of a business day in Brazil.
  o.now - o.days * interval '1 day' + floor(((n - random()) / m.transactions) ^ 0.9 * o.days) * interval '1 day'
    + ((hours[random(1, cardinality(hours))] - extract(hour from o.now at time zone 'UTC')::integer + 24) % 24 + random()) * interval '1 hour' as created_at,
  -- Three in five prices end in ,00 or ,90.
  case when random() < 0.6 then round(price / 100) * 100 - random(0, 1) * 10 else round(price) end as price,
  (array[900, 1800, 1800, 3600, 86400])[random(1, 5)] as expires_in,
  case when random() < 0.003 then 'refused' when random() < 0.76 then 'paid' else 'expired' end as outcome,
  -- Half of the payers need up to a minute and a quarter; about one in 1,600 needs more than an hour.
  exp(1.2 * random_normal()) * 75 * interval '1 second' as paid_after,
  -- The refund or dispute that follows (`sequel`), if any. Not for a merchant's first sales: the fee is not returned, so
  -- a sale alone does not cover its own refund.
  case when n > 10 and n > m.transactions / 5 and random() < 0.017
    then (array['refund', 'refund', 'refund', 'refund', 'refund', 'refund', 'refund', 'refund', 'refund', 'refund', 'refund',
      'part', 'part', 'part', 'failed', 'accepted', 'rejected'])[random(1, 17)] end as sequel,
  (array[0.25, 0.3, 0.5])[random(1, 3)] as part,
  -ln(1 - random()) * 2 * interval '1 day' as sequel_after, random(1, 7) * interval '1 day' as decided_after,
  random() < 0.85 as is_named, random() < 0.95 as is_notified
from options o
cross join (select count(*)::integer as people from seeded_people) counted
-- Hours in UTC, each repeated as often as it should be drawn.
cross join (select string_to_array('0 0 0 1 1 2 3 8 9 10 10 11 11 11 12 12 12 13 13 13 14 14 14 15 15 15 16 16 16 17 17 17 18 18 18 19 19 19 20 20 20 21 21 21 22 22 22 23 23 23', ' ')::integer[] as hours) day
cross join seeded_merchants m
cross join lateral generate_series(1, m.transactions) n
-- `0 * n` makes the subquery depend on the row; otherwise one price would be drawn for the whole merchant.
cross join lateral (select m.median_amount * exp(0.9 * random_normal() + 0 * n) as price) drawn;

-- Samples of the largest merchant, so that each kind exists however few transactions there are: five that have ended,
-- three in progress, and a code that can still be paid.
update seeded_draws set outcome = sample.outcome, sequel = sample.sequel, expires_in = 1800, paid_after = '1 minute',
  created_at = case when sample.ago is null then least(created_at, o.now - interval '5 days') else o.now - sample.ago end,
  sequel_after = sample.sequel_after, decided_after = interval '30 minutes'
from options o, (values
  (0.4, 0, 'paid', 'refund', null, interval '1 hour'), (0.4, 1, 'paid', 'part', null, '1 hour'), (0.4, 2, 'paid', 'failed', null, '1 hour'),
  (0.4, 3, 'paid', 'accepted', null, '1 hour'), (0.4, 4, 'paid', 'rejected', null, '1 hour'),
  (0.9, 0, 'paid', 'refund', interval '1 hour', '58 minutes 58.5 seconds'), (0.9, 1, 'paid', 'rejected', '2 hours', '100 minutes'),
  (0.9, 2, 'paid', 'accepted', '3 hours', '1 hour'), (0.9, 3, 'expired', null, '1 minute', null)
) sample (share, position, outcome, sequel, ago, sequel_after)
where merchant = 3 and n = floor(seeded_draws.transactions * sample.share) + sample.position;

-- What happened to each transaction, and when.
create temporary table seeded_sales on commit drop as
with timed as (
  select d.*, least(10000000, greatest(100, price))::bigint as amount,
    (d.created_at + interval '0.03 seconds')::timestamptz(3) as answered_at,
    (d.created_at + expires_in * interval '1 second')::timestamptz(3) as expires_at,
    (case when outcome = 'refused' then d.created_at + interval '0.03 seconds'
      when outcome = 'paid' and paid_after < expires_in * interval '1 second' then d.created_at + interval '1 second' + paid_after
      -- Just after the five minutes of grace (`expiryGraceMs` in src/transactions/check.ts).
      else d.created_at + expires_in * interval '1 second' + interval '5 minutes 2 seconds' end)::timestamptz(3) as settled_at,
    outcome = 'paid' and paid_after < expires_in * interval '1 second' as is_paid, o.now, o.base_url
  from seeded_draws d, options o
), followed as (
  select *, case when is_paid and settled_at <= now and settled_at + sequel_after <= now then sequel end as kind,
    (settled_at + sequel_after)::timestamptz(3) as sequel_at, settled_at <= now as is_settled,
    sha256(opad || sha256(ipad || convert_to(replace(id::text, '-', ''), 'UTF8'))) as hash
  from timed cross join (select ipad, opad, head, head_crc, tail from options) code
), ended as (
  select *, kind in ('refund', 'part', 'failed') as has_refund, kind in ('accepted', 'rejected') as has_dispute,
    case when kind in ('refund', 'part', 'failed') then sequel_at + interval '1.5 seconds' else sequel_at + decided_after end as decides_at,
    case when kind = 'accepted' then (sequel_at + decided_after + interval '2 days')::timestamptz(3) end as returns_at,
    translate(encode(substr(hash, 1, 16), 'base64'), '+/=', '-_') as token
  from followed
), reached as (
  select *, case when kind is not null and decides_at <= now then decides_at::timestamptz(3) end as decided_at,
    case when returns_at <= now then returns_at end as returned_at
  from ended
)
select s.id, s.merchant_id, person, n, answered_at - interval '0.03 seconds' as created_at, answered_at, expires_in, expires_at, settled_at, amount,
  is_paid and is_settled as is_paid, is_settled, is_named, m.receiver, kind, sells_goods, outcome = 'refused' as is_refused,
  m.receiver is not null and kind is null and is_settled and is_notified as is_notified,
  case when kind is not null then sequel_at end as sequel_at, decided_at, returns_at, returned_at, has_refund, has_dispute,
  case when is_paid and is_settled then settled_at - interval '0.3 seconds' end as paid_at,
  case when is_paid and is_settled then least(amount, fixed + div(amount * basis_points + 5000, 10000))::bigint end as fee,
  case when kind = 'part' then greatest(1, round(amount * part))::bigint else amount end as sequel_amount,
  gen_random_uuid() as sequel_id,
  case when outcome <> 'refused' then encode(substr(hash, 1, 16), 'hex')::uuid end as charge_id,
  case when outcome <> 'refused' then head || token || tail || pg_temp.crc16(head_crc, token || tail) end as uri,
  case when outcome = 'refused' then 'O valor da cobrança excede o limite da conta' when is_settled and not is_paid then 'PIX QR code expired'
    when kind = 'failed' and decided_at is not null then 'Saldo insuficiente na conta (AM04)' end as error,
  array_remove(array['PENDING', case when outcome <> 'refused' then 'PIX_QRCODE_GENERATED' end,
    case when is_settled then case when is_paid then 'PAID' else 'FAILED' end end,
    case when has_refund then 'PROCESSING_REFUND' when has_dispute then 'BLOCKED' end,
    case when decided_at is not null then case kind when 'refund' then 'REFUNDED' when 'accepted' then 'PROCESSING_INFRACTION' else 'PAID' end end,
    case when returned_at is not null then 'INFRACTION' end], null) as statuses,
  array_remove(array[answered_at - interval '0.03 seconds', case when outcome <> 'refused' then answered_at end, case when is_settled then settled_at end,
    case when kind is not null then sequel_at end, decided_at, returned_at], null) as dates
from reached s join seeded_merchants m using (merchant_id);
analyze seeded_merchants, seeded_people, seeded_sales;

-- Rows are inserted without keys, indexes, references and triggers, which are recreated once the tables are full.
create temporary table restored on commit drop as
with filled as (
  select unnest(array['transactions', 'refunds', 'disputes', 'transaction_returns', 'events', 'webhook_deliveries', 'webhook_attempts',
    'ledger_accounts', 'ledger_transfers', 'customer_names', 'simulator.charges', 'simulator.pix', 'simulator.returns', 'simulator.disputes'])::regclass as id
)
-- `place` is the order of dropping; recreating goes the other way. A foreign key is dropped before the key that it
-- references, and recreated after it.
select case contype when 'f' then 1 else 3 end as place, format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
  format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as make
from pg_constraint
where (conrelid in (select id from filled) and contype in ('p', 'u', 'f', 'x')) or confrelid in (select id from filled)
union
select 2, format('drop index %s', indexrelid::regclass), pg_get_indexdef(indexrelid) from pg_index
where indrelid in (select id from filled) and not exists (select from pg_constraint where conindid = indexrelid)
union
select 4, format('alter table %s disable trigger user', tgrelid::regclass), format('alter table %s enable trigger user', tgrelid::regclass)
from pg_trigger where tgrelid in (select id from filled) and not tgisinternal;
do $$
declare
  statement text;
begin
  for statement in select drop from restored order by place loop execute statement; end loop;
end $$;

insert into transactions (id, merchant_id, acquirer, amount, idempotency_key, external_code, webhook_url, is_info_product, customer, address,
  items, metadata, customer_search_name, customer_search_email, customer_document, customer_landline_digits, customer_mobile_digits,
  pix_expiration_seconds, pix_uri, pix_expires_at, created_at, statuses, status_dates, amount_paid, payment_date, end_to_end, payer, receiver,
  fee_amount, infraction_date, error_message, amount_returned, check_at)
select s.id, merchant_id, o.acquirer, amount, case when uri is not null and n % 10 < 7 then 'order-' || n end,
  case when n % 7 > 0 then 'order-' || lpad(n::text, 7, '0') end, case when is_notified then receiver || '/webhooks/pix' end, not sells_goods,
  case when is_named then customer end,
  case when sells_goods then json_build_object('zipCode', '01310-' || lpad((n % 1000)::text, 3, '0'), 'number', (n % 2999 + 1)::text,
    'street', 'Rua das Flores', 'neighborhood', 'Centro', 'city', 'São Paulo', 'state', 'SP', 'country', 'Brasil') end,
  case when n % 10 < 3 then json_build_array(json_build_object('title', 'Café torrado 500 g', 'unitPrice', amount, 'quantity', 1)) end,
  case when n % 4 = 0 then json_build_object('cart', n::text, 'channel', 'web') end,
  case when is_named then search_name end, case when is_named then email end, case when is_named then document end,
  case when is_named then landline_digits end, case when is_named then mobile_digits end,
  expires_in, uri, case when uri is not null then expires_at end, created_at, statuses, dates,
  case when is_paid then amount end, paid_at, case when is_paid then pg_temp.end_to_end('E', p.ispb, paid_at, s.id) end,
  case when is_paid then payer end, case when is_paid then o.account end, fee, case when has_dispute then sequel_at end, error,
  case when returned_at is not null then amount else 0 end,
  case when not is_settled then expires_at + interval '5 minutes' end
from seeded_sales s join seeded_people p on p.number = s.person, options o;

insert into refunds (merchant_id, id, transaction_id, amount, fee_amount, status, end_to_end, reason, idempotency_key, error_message, created_at,
  finished_at, check_at)
select merchant_id, sequel_id, s.id, sequel_amount, 0, case when decided_at is null then 'PROCESSING' when kind = 'failed' then 'FAILED' else 'REFUNDED' end,
  case when decided_at is not null and kind <> 'failed' then pg_temp.end_to_end('D', o.account_ispb, sequel_at, sequel_id) end, 'Desistência',
  'refund-' || sequel_id, error, sequel_at, decided_at, case when decided_at is null then o.now end
from seeded_sales s, options o where has_refund;

insert into disputes (merchant_id, id, transaction_id, acquirer, acquirer_reference, amount, reason, state, opened_at, decided_at, finished_at,
  acquirer_status, acquirer_state, deadline_at, blocked_amount, returned_amount, postings)
select merchant_id, sequel_id, id, o.acquirer, sequel_id::text, amount, 'golpe', state, sequel_at, decided_at, finished_at,
  case state when 'open' then 'ABERTA' when 'rejected' then 'REJEITADA' else 'ACEITA' end, case state when 'returned' then 'accepted' else state end,
  sequel_at + interval '7 days', case when finished_at is null then amount else 0 end, case when returned_at is null then 0 else amount end,
  case when finished_at is null then 1 else 2 end
from seeded_sales
cross join options o
cross join lateral (
  select case when decided_at is null then 'open' when kind = 'rejected' then 'rejected' when returned_at is null then 'accepted' else 'returned' end as state,
    case kind when 'rejected' then decided_at else returned_at end as finished_at
) dispute
where has_dispute;

insert into transaction_returns (merchant_id, id, transaction_id, dispute_id, reference, end_to_end, amount, returned_at, posted_at)
select merchant_id, sequel_id, s.id, sequel_id, replace(sequel_id::text, '-', ''), pg_temp.end_to_end('D', o.account_ispb, decided_at, sequel_id), amount,
  returned_at, returned_at
from seeded_sales s, options o where returned_at is not null;

-- An event for each status after PENDING, with the snapshot that toSnapshot (src/transactions/change.ts) would have taken
-- then. The event of the created code has none.
insert into events (merchant_id, id, type, record_type, record_id, sequence, occurred_at, snapshot)
select t.merchant_id, gen_random_uuid(), 'transaction.' || lower(t.statuses[place]), 'transaction', t.id, place - 1, t.status_dates[place],
  case when t.statuses[place] <> 'PIX_QRCODE_GENERATED' then json_build_object('acquirer', t.acquirer, 'pix_uri', t.pix_uri,
    'pix_expires_at', pg_temp.iso(t.pix_expires_at), 'statuses', t.statuses[:place],
    'status_dates', array(select pg_temp.iso(date) from unnest(t.status_dates[:place]) date),
    'amount_paid', t.amount_paid, 'payment_date', pg_temp.iso(t.payment_date), 'end_to_end', t.end_to_end, 'payer', t.payer, 'receiver', t.receiver,
    'fee_amount', t.fee_amount, 'infraction_date', case when place > 3 then pg_temp.iso(t.infraction_date) end,
    'error_message', case when place = cardinality(t.statuses) then t.error_message end,
    'refunds', case when place > 3 and s.has_refund then json_build_array(json_build_object('id', s.sequel_id, 'amount', s.sequel_amount,
      'status', case when place = 4 then 'PROCESSING' when s.kind = 'failed' then 'FAILED' else 'REFUNDED' end,
      'endToEndRefund', case when place > 4 and s.kind <> 'failed' then pg_temp.end_to_end('D', o.account_ispb, s.sequel_at, s.sequel_id) end,
      'reason', 'Desistência', 'createdAt', pg_temp.iso(s.sequel_at))) else '[]' end,
    'amount_returned', case when place > 5 then t.amount_returned else 0 end,
    'disputes', case when place > 3 and s.has_dispute then json_build_array(json_build_object('id', s.sequel_id, 'amount', t.amount,
      'amountReturned', case when place > 5 then t.amount else 0 end,
      'amountBlocked', case when place = 4 or place = 5 and s.kind = 'accepted' then t.amount else 0 end,
      'status', case when place = 4 then 'OPEN' when s.kind = 'rejected' then 'REJECTED' when place = 5 then 'ACCEPTED' else 'RETURNED' end,
      'reason', 'golpe', 'openedAt', pg_temp.iso(s.sequel_at), 'deadline', pg_temp.iso(s.sequel_at + interval '7 days'),
      'finishedAt', case when place > 5 or place = 5 and s.kind = 'rejected' then pg_temp.iso(t.status_dates[place]) end)) else '[]' end,
    'returns', case when place > 5 then json_build_array(json_build_object('endToEndRefund', pg_temp.end_to_end('D', o.account_ispb, s.decided_at, s.sequel_id),
      'amount', t.amount, 'disputeId', s.sequel_id, 'date', pg_temp.iso(s.returned_at))) else '[]' end) end
from transactions t join seeded_sales s on s.id = t.id, options o, generate_series(2, cardinality(t.statuses)) place;

-- Only of the last seven days, to keep the seed small. The service itself deletes no delivery.
-- A first attempt that failed took 15 s, and the second started 5 s after it.
insert into webhook_deliveries (merchant_id, id, record_id, sequence, url, receiver, state, attempts, next_attempt_at, last_status, created_at,
  finished_at)
select e.merchant_id, e.id, record_id, sequence, receiver || '/webhooks/pix', receiver, 'delivered', attempts,
  occurred_at + (attempts - 1) * interval '20 seconds', 200, occurred_at, occurred_at + (attempts - 1) * interval '20 seconds' + interval '0.1 seconds'
from events e join seeded_sales s on s.id = e.record_id, options o, lateral (select case when s.n % 33 = 0 then 2 else 1 end as attempts) counted
where is_notified and occurred_at >= o.now - interval '7 days';

insert into webhook_attempts (merchant_id, delivery_id, number, started_at, duration_ms, status, error)
select merchant_id, id, number, created_at + (number - 1) * interval '20 seconds', case when number = attempts then 100 else 15000 end,
  case when number = attempts then 200 end, case when number < attempts then 'No answer in time' end
from webhook_deliveries, generate_series(1, attempts) number;

-- In chronological order, as src/ledger/transfers.ts defines them. No seeded merchant has a debt, so none is repaid.
create temporary table seeded_transfers on commit drop as
select row_number() over (order by moment, s.id, place) as id, merchant_id, step.*
from seeded_sales s, options o, lateral (values
  (settled_at, 1, 'transaction:' || id || ':paid', 'payment', 'acquirer', 'available', case when is_paid then amount end, 'transaction', id),
  (settled_at, 2, 'transaction:' || id || ':paid', 'fee', 'available', 'fees', fee, 'transaction', id),
  (sequel_at, 3, 'refund:' || sequel_id || ':reserved', 'refund_reserved', 'available', 'reserved', case when has_refund then sequel_amount end, 'refund', sequel_id),
  (decided_at, 4, 'refund:' || sequel_id || ':sent', 'refund_sent', 'reserved', 'acquirer', case when has_refund and kind <> 'failed' then sequel_amount end, 'refund', sequel_id),
  (decided_at, 5, 'refund:' || sequel_id || ':released', 'refund_released', 'reserved', 'available', case when kind = 'failed' then sequel_amount end, 'refund', sequel_id),
  (sequel_at, 6, 'infraction:' || sequel_id || ':blocked', 'infraction_blocked', 'available', 'blocked', case when has_dispute then amount end, 'infraction', sequel_id),
  (decided_at, 7, 'infraction:' || sequel_id || ':released', 'infraction_released', 'blocked', 'available', case when kind = 'rejected' then amount end, 'infraction', sequel_id),
  (returned_at, 8, 'infraction:' || sequel_id || ':returned', 'infraction_returned', 'blocked', 'acquirer', amount, 'infraction', sequel_id)
) step (moment, place, event_key, kind, debit, credit, amount, record_type, record_id)
where moment is not null and step.amount > 0;

insert into ledger_transfers (merchant_id, id, event_key, position, kind, debit, credit, amount, debit_balance, credit_balance, record_type, record_id,
  created_at)
overriding system value
select merchant_id, id, event_key, case kind when 'fee' then 1 else 0 end, kind, case debit when 'acquirer' then clearing else debit end,
  case credit when 'acquirer' then clearing else credit end, amount, (balances ->> debit)::bigint, (balances ->> credit)::bigint, record_type, record_id, moment
from (
  select t.*, 'acquirer:' || o.acquirer as clearing, jsonb_build_object(
    'available', sum(case 'available' when credit then amount when debit then -amount else 0 end) over earlier,
    'reserved', sum(case 'reserved' when credit then amount when debit then -amount else 0 end) over earlier,
    'blocked', sum(case 'blocked' when credit then amount when debit then -amount else 0 end) over earlier,
    'fees', sum(case 'fees' when credit then amount when debit then -amount else 0 end) over earlier,
    'acquirer', sum(case 'acquirer' when credit then amount when debit then -amount else 0 end) over earlier) as balances
  from seeded_transfers t, options o
  window earlier as (partition by merchant_id order by id)
) running;
select setval(pg_get_serial_sequence('ledger_transfers', 'id'), max(id)) from ledger_transfers;

insert into ledger_accounts (merchant_id, account, balance)
select merchant_id, account, sum(change) from (
  select merchant_id, debit as account, -amount as change from ledger_transfers
  union all
  select merchant_id, credit, amount from ledger_transfers
) sides group by 1, 2;

-- What the simulated network must know: codes that can still be paid, and payments that were or may be returned.
insert into simulator.charges (id, txid, amount, expires_in, created_at, base_url)
select charge_id, replace(id::text, '-', ''), amount, expires_in, created_at, o.base_url
from seeded_sales, options o
where not is_settled or kind is not null or paid_at >= o.now - interval '7 days';

insert into simulator.pix (end_to_end_id, charge_id, amount, paid_at, payer)
select t.end_to_end, s.charge_id, t.amount, paid_at, t.payer
from seeded_sales s join transactions t using (id), options o
where is_paid and (kind is not null or paid_at >= o.now - interval '7 days');

-- A refund that is being processed was not sent yet; one that failed was rejected.
insert into simulator.returns (end_to_end_id, id, return_id, amount, nature, requested_at, settles_at, rejection)
select t.end_to_end, replace(sequel_id::text, '-', ''), pg_temp.end_to_end('D', o.account_ispb, case when has_refund then sequel_at else decided_at end, sequel_id),
  sequel_amount, case when has_refund then 'ORIGINAL' else 'MED_FRAUDE' end, case when has_refund then sequel_at else decided_at end,
  case when has_refund then decided_at else returns_at end, case when kind = 'failed' then 'AM04' end
from seeded_sales s join transactions t using (id), options o
where decided_at is not null and kind <> 'rejected';

insert into simulator.disputes (id, end_to_end_id, amount, reason, state, opened_at, changed_at, return_settles_at)
select sequel_id, t.end_to_end, t.amount, 'fraud', case when decided_at is null then 'open' else kind end, sequel_at, coalesce(decided_at, sequel_at),
  case when decided_at is not null then returns_at end
from seeded_sales s join transactions t using (id) where has_dispute;

-- What the triggers would have counted, and what polling would have found.
insert into transaction_counts (merchant_id, day, status, count, amount)
select merchant_id, brazilian_day(created_at), status, count(*), sum(coalesce(amount_paid, amount)) from transactions group by 1, 2, 3;
-- In the form of src/transactions/list/name-store.ts, but of every merchant and up to the newest transaction. 64:
-- documentsMax there.
insert into customer_names (merchant_id, search_name, count, documents)
select merchant_id, customer_search_name, count(*), case when count(distinct customer_document) <= 64 then array_agg(distinct customer_document) end
from transactions where customer_search_name is not null group by 1, 2;
insert into customer_names_counted (merchant_id, until, transactions)
select merchant_id, max(created_at) + interval '1 millisecond', count(*) from transactions group by 1;
insert into acquirer_cursors (acquirer, listed_until, first_listed_at) select acquirer || purpose, now, now from options, unnest(array['', ':disputes']) purpose;

do $$
declare
  statement text;
begin
  for statement in select make from restored order by place desc loop execute statement; end loop;
end $$;
