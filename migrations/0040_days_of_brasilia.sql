-- Why: if Brazil has daylight saving time again, the days of counts and those of everything else must change together. src/lib/brasilia.ts has the
-- same days, from the same tz database. Since 2019 the clocks are three hours behind UTC all year: no count changes.
create or replace function brazilian_day(at timestamptz) returns date
  language sql immutable parallel safe
  return (at at time zone 'America/Sao_Paulo')::date;
