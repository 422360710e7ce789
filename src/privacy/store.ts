import { raw, type Sql, sql, type Tx } from '../db/sql.ts'

/** A record with data about a person. */
export type PersonalRecord = { merchant_id: string; id: string }

export type PersonalRecords = {
  /** What the person was in each. */
  transactions: (PersonalRecord & { is_customer: boolean; is_payer: boolean; is_seller: boolean })[]
  withdrawals: PersonalRecord[]
  suspense: PersonalRecord[]
}

/** `hashes`: the values that replaced an erased document, under the current and each former secret key. */
export type Person = { document: string; hashes: string[] }

/** A customer is also the payer if the digits that a masked document shows are theirs. */
const isPaidBy = ({ document, hashes }: Person) => sql`coalesce(
  payer->>'document' = ${document}
    or (customer_document = any(${[document, ...hashes]}) and ${document} like translate(payer->>'document', '*./-', '_')), false)`

/** Every record that names a person. Payers and sellers have no index, so it reads all transactions: it takes a while. */
export async function findPersonal(tx: Tx, person: Person): Promise<PersonalRecords> {
  const { document } = person
  const known = [document, ...person.hashes]
  const transactions = await tx.query<PersonalRecords['transactions'][number]>(sql`
    select merchant_id, id, coalesce(customer_document = any(${known}), false) as is_customer,
      ${isPaidBy(person)} as is_payer,
      coalesce(seller->'document'->>'value' = ${document}, false) as is_seller
    from transactions
    where customer_document = any(${known}) or payer->>'document' = ${document} or seller->'document'->>'value' = ${document}
    order by id`)
  const withdrawals = await tx.query<PersonalRecord>(sql`
    select merchant_id, id from withdrawals
    where pix_key = any(${known}) or receiver->>'document' = ${document} order by id`)
  const suspense = await tx.query<PersonalRecord>(sql`
    select merchant_id, id from suspense_payments where payer->>'document' = ${document} order by id`)
  return { transactions, withdrawals, suspense }
}

const idsOf = (records: PersonalRecord[]) => records.map(({ id }) => id)

/** An undecided discrepancy needs the data of both sides. */
const isInQuestion = (record: Sql) => sql`exists (
  select from differences where differences.state = 'open' and ${record})`

/** A charge that may still be paid, or that has a refund in progress, an unfinished dispute or an open discrepancy. */
export const isOpenTransaction = sql`(
  transactions.status in ('PENDING', 'PIX_QRCODE_GENERATED', 'PROCESSING_REFUND', 'BLOCKED', 'PROCESSING_INFRACTION')
  or exists (
    select from disputes i where i.merchant_id = transactions.merchant_id and i.transaction_id = transactions.id
    and i.state in ('open', 'accepted'))
  or exists (
    select from refunds r where r.merchant_id = transactions.merchant_id and r.transaction_id = transactions.id
    and r.status = 'PROCESSING')
  or ${isInQuestion(sql`differences.record_id = transactions.id`)})`

export const isOpenWithdrawal = sql`(
  withdrawals.status in ('PENDING', 'PROCESSING') or ${isInQuestion(sql`differences.record_id = withdrawals.id`)})`

/**
 * A payment that is in suspense or being sent back, that has an unfinished dispute or an open discrepancy, or whose
 * transaction is open.
 */
export const isOpenSuspense = sql`(
  suspense_payments.status in ('held', 'returning')
  or exists (
    select from unattributed_disputes d
    where d.acquirer = suspense_payments.acquirer and d.end_to_end = suspense_payments.end_to_end
    and d.acquirer_state in ('open', 'accepted', 'unknown'))
  or exists (
    select from transactions
    where transactions.id = suspense_payments.attributed_transaction_id
    and transactions.merchant_id = suspense_payments.attributed_merchant_id and ${isOpenTransaction})
  or ${isInQuestion(sql`
    differences.acquirer = suspense_payments.acquirer and differences.reference = suspense_payments.end_to_end`)})`

/** Of these records, those that are still open. Locks all of them. */
export async function lockUnfinished(tx: Tx, records: PersonalRecords): Promise<string[]> {
  const rows = [
    ...(await tx.query<{ id: string; is_open: boolean }>(sql`
      select id, ${isOpenTransaction} as is_open
      from transactions where id = any(${idsOf(records.transactions)}::uuid[]) order by id for update`)),
    ...(await tx.query<{ id: string; is_open: boolean }>(sql`
      select id, ${isOpenWithdrawal} as is_open
      from withdrawals where id = any(${idsOf(records.withdrawals)}::uuid[]) order by id for update`)),
    ...(await tx.query<{ id: string; is_open: boolean }>(sql`
      select id, ${isOpenSuspense} as is_open
      from suspense_payments where id = any(${idsOf(records.suspense)}::uuid[]) order by id for update`)),
  ]
  return rows.filter(({ is_open }) => is_open).map(({ id }) => id)
}

/** Erases the customer of these transactions; a payer with a masked document counts as the customer. */
export async function eraseCustomers(
  tx: Tx,
  { ids, hashes, now }: { ids: string[]; hashes: (string | null)[]; now: Date },
): Promise<void> {
  // A trigger takes the same lock for each row, in any order of the merchants.
  await tx.query(sql`
    select pg_advisory_xact_lock(hashtextextended('customer names ' || merchant_id, 0)) from (
      select distinct merchant_id from transactions where id = any(${ids}::uuid[]) order by merchant_id) merchants`)
  await tx.query(sql`
    update transactions set customer = null, address = null, return_url = null, description = null, metadata = null, customer_search_name = null,
      customer_search_email = null, customer_document = erased.hash, customer_landline_digits = null, customer_mobile_digits = null,
      payer = case when payer->>'document' like '%*%' then null else payer end, erased_at = ${now}
    from unnest(${ids}::uuid[], ${hashes}::text[]) as erased (id, hash)
    where transactions.id = erased.id`)
}

/** `person`: erases only this payer, and nobody else who paid one of these transactions. */
export async function erasePayers(
  tx: Tx,
  { ids, person, now }: { ids: string[]; person?: Person; now: Date },
): Promise<void> {
  // Those that were never paid need no second version of their row.
  await tx.query(sql`
    update transactions set payer = null, erased_at = ${now}
    where id = any(${ids}::uuid[]) and payer is not null and ${person ? isPaidBy(person) : sql`true`}`)
}

export async function eraseSellers(tx: Tx, { ids, now }: { ids: string[]; now: Date }): Promise<void> {
  await tx.query(sql`
    update transactions set seller = null, erased_at = ${now} where id = any(${ids}::uuid[]) and seller is not null`)
}

/** A PIX key may be a document, an e-mail address or a phone number. */
export async function eraseReceivers(
  tx: Tx,
  { ids, hashes, now }: { ids: string[]; hashes: string[]; now: Date },
): Promise<void> {
  await tx.query(sql`
    update withdrawals set pix_key = erased.hash, receiver = null, metadata = null, erased_at = ${now}
    from unnest(${ids}::uuid[], ${hashes}::text[]) as erased (id, hash)
    where withdrawals.id = erased.id`)
}

/** Erases what was written and uploaded against disputes of these transactions. The hashes of the files stay. */
export async function eraseDefences(tx: Tx, { ids, now }: { ids: string[]; now: Date }): Promise<void> {
  const ofDisputes = sql`
    from disputes where disputes.transaction_id = any(${ids}::uuid[]) and disputes.merchant_id = defence.merchant_id
      and disputes.id = defence.dispute_id`
  await tx.query(sql`
    update dispute_defences defence set text = '', delivery = '{"kind":null,"carrier":"","trackingCode":"","deliveredOn":"","receivedBy":"","invoice":""}',
      reference = null, erased_at = ${now} ${ofDisputes}`)
  await tx.query(sql`update dispute_files defence set name = 'erased', content = null ${ofDisputes}`)
}

export async function eraseSuspensePayers(tx: Tx, ids: string[]): Promise<void> {
  await tx.query(sql`update suspense_payments set payer = null where id = any(${ids}::uuid[])`)
}

/**
 * Events contain the record as it was: erases the person from them as well, and the answers of webhook receivers, which
 * may repeat what was sent to them.
 */
export async function erasePersonFromEvents(
  tx: Tx,
  { recordIds, field }: { recordIds: string[]; field: 'payer' | 'receiver' },
): Promise<void> {
  await tx.query(sql`
    update events e set snapshot = (e.snapshot::jsonb || jsonb_build_object(${field}::text, null))::json
    from transactions t
    where t.id = any(${recordIds}::uuid[]) and e.merchant_id = t.merchant_id and e.record_id = t.id
      and e.snapshot->>${field}::text is not null and t.payer is null`)
  await tx.query(sql`
    update events e set snapshot = (e.snapshot::jsonb || jsonb_build_object(${field}::text, null))::json
    from withdrawals w
    where w.id = any(${recordIds}::uuid[]) and e.merchant_id = w.merchant_id and e.record_id = w.id
      and e.snapshot->>${field}::text is not null and w.receiver is null`)
  await tx.query(sql`
    update webhook_attempts a set response = null
    from webhook_deliveries d
    join (
      select merchant_id, id from transactions where id = any(${recordIds}::uuid[])
      union all
      select merchant_id, id from withdrawals where id = any(${recordIds}::uuid[])
    ) record on record.merchant_id = d.merchant_id and record.id = d.record_id
    where a.merchant_id = d.merchant_id and a.delivery_id = d.id and a.response is not null`)
}

/**
 * What is stored about these records, without what is about somebody else: of a transaction, the customer gets what was
 * ordered and the defences against its disputes, and the payer who paid.
 */
export async function exportPersonal(tx: Tx, records: PersonalRecords): Promise<Record<string, unknown[]>> {
  const rows = async (statement: Parameters<Tx['query']>[0]) =>
    (await tx.query<{ row: unknown }>(statement)).map(({ row }) => row)
  const transactions = idsOf(records.transactions)
  const isCustomer = sql`t.id = any(${idsOf(records.transactions.filter(({ is_customer }) => is_customer))}::uuid[])`
  const isPayer = sql`t.id = any(${idsOf(records.transactions.filter(({ is_payer }) => is_payer))}::uuid[])`
  const isSeller = sql`t.id = any(${idsOf(records.transactions.filter(({ is_seller }) => is_seller))}::uuid[])`
  const ofCustomer = (column: string) => sql`case when ${isCustomer} then t.${raw(column)} end as ${raw(column)}`
  return {
    transactions: await rows(sql`
      select to_json(t) as row from (
        select t.id, c.client_id as "clientId", c.name as "merchantName", t.amount, t.status, t.created_at as "createdAt",
          t.external_code as "externalCode", ${ofCustomer('customer')}, ${ofCustomer('address')}, ${ofCustomer('items')},
          ${ofCustomer('description')}, ${ofCustomer('metadata')}, t.payment_date as "paymentDate",
          t.amount_paid as "amountPaid", t.end_to_end as "endToEnd", case when ${isPayer} then t.payer end as payer,
          case when ${isSeller} then t.seller end as seller,
          t.erased_at as "erasedAt",
          (select coalesce(json_agg(json_build_object('id', r.id, 'amount', r.amount, 'status', r.status, 'reason', r.reason)), '[]')
           from refunds r where r.merchant_id = t.merchant_id and r.transaction_id = t.id) as refunds,
          (select coalesce(json_agg(json_build_object('id', i.id, 'amount', i.amount, 'state', i.state, 'reason', i.reason,
             'defence', case when ${isCustomer} then json_build_object('text', d.text, 'delivery', d.delivery, 'files', (
               select coalesce(json_agg(json_build_object('name', f.name, 'type', f.type, 'base64', replace(encode(f.content, 'base64'), chr(10), ''))), '[]')
               from dispute_files f where f.merchant_id = i.merchant_id and f.dispute_id = i.id)) end)), '[]')
           from disputes i left join dispute_defences d on d.merchant_id = i.merchant_id and d.dispute_id = i.id
           where i.merchant_id = t.merchant_id and i.transaction_id = t.id) as disputes
        from transactions t join clients c using (merchant_id)
        where t.id = any(${transactions}::uuid[]) order by t.created_at, t.id) t`),
    withdrawals: await rows(sql`
      select to_json(w) as row from (
        select w.id, c.client_id as "clientId", c.name as "merchantName", w.amount, w.status, w.created_at as "createdAt",
          w.external_code as "externalCode", w.pix_key as "pixKey", w.pix_key_type as "pixKeyType", w.receiver, w.metadata,
          w.processed_date as "processedDate", w.end_to_end as "endToEnd", w.erased_at as "erasedAt"
        from withdrawals w join clients c using (merchant_id)
        where w.id = any(${idsOf(records.withdrawals)}::uuid[]) order by w.created_at, w.id) w`),
    unattributedPayments: await rows(sql`
      select to_json(s) as row from (
        select s.id, s.kind, s.status, s.acquirer, s.amount, s.paid_at as "paidAt", s.end_to_end as "endToEnd", s.payer
        from suspense_payments s
        where s.id = any(${idsOf(records.suspense)}::uuid[]) order by s.paid_at, s.id) s`),
  }
}
