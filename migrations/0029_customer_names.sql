-- Why: a merchant with a million transactions finds those of a name as fast as one with a thousand.
-- Compatible with code from migration 0015 on.

-- How many transactions of a merchant have a customer of a name, up to a moment (docs/decisions/0020). A job reads them, so
-- that a create writes nothing here.
create table customer_names (
  merchant_id uuid not null,
  search_name text not null,
  count bigint not null,
  -- The customers of that name. Null: too many to keep.
  documents text[],
  primary key (merchant_id, search_name)
) with (
  -- Counts change in place (HOT).
  fillfactor = 85
);

-- Every three characters of a name, as numbers that no other merchant's names have: the entries of one merchant are
-- together, and the index needs no extension.
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
-- The planner would read them for each list, and has no choice.
alter index customer_names_grams alter column 1 set statistics 0;

-- The transactions of a merchant that are counted in customer_names: all that were created before `until`, also those
-- without a name. Their number shows whether one became visible later: then lists do without customer_names.
create table customer_names_counted (
  merchant_id uuid primary key,
  until timestamptz(3) not null,
  transactions bigint not null
) with (fillfactor = 50);

-- How a list by a part of a name, of three characters or more, is read. Few transactions: those of `documents` created before
-- `until`, and all from `since` on. Many: only `total` is not null. If the counted names cannot be used: all from `since` on,
-- which is the beginning. A function, because its plans are kept: they would take as long as a short list. It sees the
-- same snapshot as the statement that calls it.
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
  -- Otherwise one became visible after its time was counted, or was deleted.
  if present - later = counted.transactions then
    -- Every third, so that they do not overlap: more find hardly fewer names, and take longer.
    select array_agg(gram) into grams from unnest(name_grams(merchant, name)) with ordinality each (gram, place)
      where place % 3 = 1 or place = length(name) - 2;
    -- Not by the primary key, which would read all names of the merchant.
    select coalesce(sum(named.count), 0), coalesce(bool_and(named.is_kept), true) into matching, have_documents from (
      select count, names.documents is not null as is_kept from customer_names names
      where name_grams(merchant_id, search_name) @> grams and (merchant_id = merchant) is true and search_name like pattern
      -- With another filter, only whether there are more than 500.
      limit case when not is_alone then 501 end) named;
    -- So many rows take 2 ms by their customers. More are frequent enough to fill a page from the newest transactions.
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

-- An erased name vanishes in the commit of its transaction, whoever erases it: also a process of the version before this
-- table, or an operator. Updates of other columns do not call it.
create function forget_customer_name() returns trigger language plpgsql as $$
declare
  counted_until timestamptz;
begin
  -- The job and other erasures wait, and then read the transaction as it is after this commit.
  perform pg_advisory_xact_lock(hashtextextended('customer names ' || old.merchant_id, 0));
  select until into counted_until from customer_names_counted where merchant_id = old.merchant_id;
  if counted_until is null or old.created_at >= counted_until then
    return null;
  end if;
  if new.customer_search_name is not null then
    -- No code changes a name. The job begins again.
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
