-- Why: the first screen has a list of first steps, which a person dismisses.
-- Compatible with code from migration 0015 on.

alter table users add column first_steps_dismissed_at timestamptz(3);
