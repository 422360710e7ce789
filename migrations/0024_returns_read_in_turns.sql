-- Why: a return under MED comes days after its payment, and where its callback is lost only the list of payments that have a return shows it.
-- That list can be long, so the service reads it in parts and keeps up to where it has come.
alter table acquirer_cursors add column returns_read_from timestamptz(3);
comment on column acquirer_cursors.returns_read_from is
  'Payments from this moment on were read for their returns; the next part ends here. Null: begin with the last ones.';
