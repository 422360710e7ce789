-- Why: the first screen has a list of first steps, which a person dismisses.

alter table users add column first_steps_dismissed_at timestamptz(3);
