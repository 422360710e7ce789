-- Why: the first screen of the dashboard has a list of first steps, which each person can dismiss.
-- Compatible with code from migration 0015 on.

alter table users add column first_steps_dismissed_at timestamptz(3);
