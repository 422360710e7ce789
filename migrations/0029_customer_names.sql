-- Why: a search by a customer's name is as fast among a million transactions as among a thousand.
-- Compatible with code from migration 0015 on.

-- How many of a merchant's transactions have a customer of this name, up to the moment in customer_names_counted
-- (docs/decisions/0020). A job counts them, so that the creation of a transaction writes nothing here.
create table customer_names (
  merchant_id uuid not null,
  search_name text not null,
  count bigint not null,
  -- The documents (CPF or CNPJ) of the customers of that name. Null: there are too many, or a customer gave none.
  documents text[],
  primary key (merchant_id, search_name)
) with (
  -- Free space for new versions of a row in its page, so that a new count writes no index (HOT).
  fillfactor = 85
);

-- All sequences of three characters in a name, as hashes that depend on the merchant too. So a search finds entries of
-- one merchant only, and the index needs no extension.
create function name_grams(merchant_id uuid, name text) returns bigint[]
  language plpgsql immutable strict parallel safe as $$
declare
  grams bigint[] := '{}';
  seed bigint := uuid_hash_extended(merchant_id, 0);
begin
  for i in 1 .. length(name) - 2 loop
    grams := grams || hashtextextended(substr(name, i, 3), seed);
  end loop;
  return grams;
end $$;
create index customer_names_grams on customer_names using gin (name_grams(merchant_id, search_name));
-- No statistics for the index's expression: the planner would read them for each list, and there is no other plan to
-- choose.
alter index customer_names_grams alter column 1 set statistics 0;

-- Which transactions of a merchant are counted in customer_names: all that were created before `until`, also those
-- without a name. Their number shows whether one became visible after it should have been counted: then lists do not
-- use customer_names.
create table customer_names_counted (
  merchant_id uuid primary key,
  until timestamptz(3) not null,
  transactions bigint not null
) with (fillfactor = 50);

-- Decides how a list reads the transactions whose customer's name contains a text of three characters or more:
-- - if there are few, and all their customers are known: those of the customers in `documents` that were created before
--   `until`, and all from `since` on;
-- - otherwise, if the list has no other filter (`is_alone`): only `total` is set, and the newest transactions fill a
--   page;
-- - otherwise, or if the counted names cannot be used: all from `since` on, which is the beginning.
-- It is a function, because PostgreSQL keeps the plans of its statements: planning them takes as long as reading a
-- short list. It sees the same snapshot as the statement that calls it.
create function find_names(merchant uuid, name text, pattern text, is_alone boolean,
  out until timestamptz, out since timestamptz, out documents text[], out total bigint)
  language plpgsql stable set plan_cache_mode = force_generic_plan as $$
declare
  grams bigint[];
  counted customer_names_counted;
  present bigint;
  later bigint;
  later_matching bigint;
  matching bigint;
  have_documents boolean;
begin
  since := '-infinity';
  select * into counted from customer_names_counted where merchant_id = merchant;
  if not found then
    return;
  end if;
  select count(*), count(*) filter (where customer_search_name like pattern) into later, later_matching
    from transactions where merchant_id = merchant and created_at >= counted.until;
  select sum(count) into present from (
    select count from transaction_counts where merchant_id = merchant
    union all
    select change from transaction_count_changes where merchant_id = merchant) counts;
  -- If the numbers differ, a transaction became visible after those of its time were counted, or one was deleted.
  if present - later = counted.transactions then
    -- Every third sequence and the last one: overlapping ones would exclude hardly any more names, and take longer.
    select array_agg(gram) into grams from unnest(name_grams(merchant, name)) with ordinality each (gram, place)
      where place % 3 = 1 or place = length(name) - 2;
    -- "is true" keeps the planner from using the primary key, which would read all names of the merchant.
    select coalesce(sum(named.count), 0), coalesce(bool_and(named.is_kept), true) into matching, have_documents from (
      select count, names.documents is not null as is_kept from customer_names names
      where name_grams(merchant_id, search_name) @> grams and (merchant_id = merchant) is true and search_name like pattern
      -- If the list has other filters too, it only matters whether there are more than 500 transactions.
      limit case when not is_alone then 501 end) named;
    -- Up to 500 transactions are found by their customers in 2 ms. A more frequent name fills a page from the newest
    -- ones.
    if matching <= 500 and have_documents then
      until := counted.until;
      since := counted.until;
      select array_agg(distinct document) into documents from customer_names names, unnest(names.documents) document
        where name_grams(merchant_id, search_name) @> grams and (merchant_id = merchant) is true and search_name like pattern;
    elsif is_alone then
      since := null;
      total := matching + later_matching;
    end if;
  end if;
end $$;

-- When the name of a transaction's customer is erased, this trigger removes it from customer_names in the same commit,
-- even if an earlier version of the service or a person erases it. Updates of other columns do not fire the trigger.
create function forget_customer_name() returns trigger language plpgsql as $$
declare
  counted_until timestamptz;
begin
  -- The counting job and other erasures wait for this commit, and then read the transaction as it is after it.
  perform pg_advisory_xact_lock(hashtextextended('customer names ' || old.merchant_id, 0));
  select until into counted_until from customer_names_counted where merchant_id = old.merchant_id;
  if counted_until is null or old.created_at >= counted_until then
    return null;
  end if;
  if new.customer_search_name is not null then
    -- The service never changes a name. If a person does, the job counts the merchant's names again.
    delete from customer_names_counted where merchant_id = old.merchant_id;
    delete from customer_names where merchant_id = old.merchant_id;
    return null;
  end if;
  update customer_names set count = count - 1, documents = case
    when exists (
      select from transactions
      where merchant_id = old.merchant_id and customer_document = old.customer_document
        and customer_search_name = old.customer_search_name and created_at < counted_until) then documents
    else array_remove(documents, old.customer_document) end
  where merchant_id = old.merchant_id and search_name = old.customer_search_name;
  delete from customer_names where merchant_id = old.merchant_id and search_name = old.customer_search_name and count = 0;
  return null;
end $$;
create trigger transactions_name_erased after update of customer_search_name, customer_document on transactions
  for each row when (old.customer_search_name is not null
    and (old.customer_search_name, old.customer_document) is distinct from (new.customer_search_name, new.customer_document))
  execute function forget_customer_name();
