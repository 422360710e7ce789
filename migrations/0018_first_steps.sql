-- Why: the first screen has a list of first steps, which a person dismisses.
-- Runs with code since 0015.

alter table users add column first_steps_dismissed_at timestamptz(3);
