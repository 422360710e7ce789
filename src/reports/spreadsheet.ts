import { correctedSubjects, correctionTexts } from '../ledger/correction-texts.ts'
import { kindNames } from '../ledger/kind-names.ts'
import type { Language } from '../lib/alert-settings.ts'
import { brasilia } from '../lib/brasilia.ts'
import { operationNames, statusNames, subjectNames } from './names.ts'

/** What a person reads instead of the column names of the exports. */
const headings: Record<Language, Record<string, string>> = {
  en: {
    id: 'Id',
    created_at: 'Created',
    status: 'Status',
    amount_cents: 'Amount',
    amount_paid_cents: 'Amount paid',
    amount_refunded_cents: 'Amount refunded',
    amount_withdrawn_cents: 'Amount withdrawn',
    fee_cents: 'Fee',
    balance_cents: 'Balance',
    payment_date: 'Paid at',
    processed_date: 'Sent at',
    end_to_end: 'End-to-end id',
    end_to_end_refund: 'End-to-end id of the return',
    external_code: 'External code',
    customer_name: 'Customer',
    customer_document: 'CPF or CNPJ',
    customer_email: 'E-mail',
    payer_name: 'Payer',
    payer_document: 'CPF or CNPJ of the payer',
    pix_key: 'Pix key',
    pix_key_type: 'Type of key',
    kind: 'Entry',
    record_type: 'Type of record',
    record_id: 'Id of the record',
    transaction_id: 'Id of the transaction',
    description: 'Description',
    actor: 'Account',
    actor_name: 'Person',
    action: 'What happened',
    client_id: 'API client',
    client_name: 'Merchant',
    user_name: 'User concerned',
    details: 'Details',
    corrected_subject: 'Corrected: what',
    corrected_reference: 'Corrected: reference',
    error_message: 'Error',
    net_cents: 'Net amount',
    amount_returned_cents: 'Amount returned by dispute (MED)',
    posted_at: 'Posted at',
    receiver_name: 'Receiver',
    receiver_document: 'CPF or CNPJ of the receiver',
    operation: 'Operation',
    fee_fixed_cents: 'Fee: fixed part',
    fee_basis_points: 'Fee: hundredths of a percent',
    fee_minimum_cents: 'Fee: minimum',
    fee_maximum_cents: 'Fee: maximum',
    count: 'Number',
    volume_cents: 'Volume',
  },
  pt: {
    id: 'Id',
    created_at: 'Criado em',
    status: 'Situação',
    amount_cents: 'Valor',
    amount_paid_cents: 'Valor pago',
    amount_refunded_cents: 'Valor devolvido',
    amount_withdrawn_cents: 'Valor sacado',
    fee_cents: 'Tarifa',
    balance_cents: 'Saldo',
    payment_date: 'Pago em',
    processed_date: 'Enviado em',
    end_to_end: 'End-to-end id',
    end_to_end_refund: 'End-to-end id da devolução',
    external_code: 'Código externo',
    customer_name: 'Cliente',
    customer_document: 'CPF ou CNPJ',
    customer_email: 'E-mail',
    payer_name: 'Pagador',
    payer_document: 'CPF ou CNPJ do pagador',
    pix_key: 'Chave Pix',
    pix_key_type: 'Tipo da chave',
    kind: 'Lançamento',
    record_type: 'Tipo de registro',
    record_id: 'Id do registro',
    transaction_id: 'Id da transação',
    description: 'Descrição',
    actor: 'Conta',
    actor_name: 'Pessoa',
    action: 'O que aconteceu',
    client_id: 'Credencial de API',
    client_name: 'Lojista',
    user_name: 'Usuário afetado',
    details: 'Detalhes',
    corrected_subject: 'Corrigido: o quê',
    corrected_reference: 'Corrigido: referência',
    error_message: 'Erro',
    net_cents: 'Valor líquido',
    amount_returned_cents: 'Valor devolvido por contestação (MED)',
    posted_at: 'Lançado em',
    receiver_name: 'Recebedor',
    receiver_document: 'CPF ou CNPJ do recebedor',
    operation: 'Operação',
    fee_fixed_cents: 'Tarifa: valor fixo',
    fee_basis_points: 'Tarifa: centésimos de %',
    fee_minimum_cents: 'Tarifa: mínimo',
    fee_maximum_cents: 'Tarifa: máximo',
    count: 'Quantidade',
    volume_cents: 'Volume',
  },
}

/** As a spreadsheet recognizes a moment: `23/11/2026 02:37:30`, or `2026-11-23 02:37:30`. */
const moments = { en: momentsOf('sv-SE'), pt: momentsOf('pt-BR') }

function momentsOf(locale: string) {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'short', timeStyle: 'medium', timeZone: brasilia })
}

/** How cells of some columns are written, by the name of the column. */
export type CellWriters = Record<string, (text: string) => string>

/**
 * Turns an export of the API, in pieces, into a file that Excel opens by a double click: named columns, reais instead of
 * cents, Brasília's time, and in Portuguese the separators of Brazil. A BOM at its start tells Excel that it is UTF-8.
 */
export function createSpreadsheet(
  language: Language,
  nameOf = (status: string): string => statusNames[language][status] ?? status,
  writers: CellWriters = {},
): (piece: string) => string {
  const separator = language === 'pt' ? ';' : ','
  const decimal = language === 'pt' ? ',' : '.'
  const kinds: Record<string, string> = kindNames[language]
  const operations: Record<string, string> = operationNames[language]
  const subjects: Record<string, string> = subjectNames[language]
  const readRecords = createCsvReader()
  let names: string[] | null = null

  /** The export describes a correction in English, and has the columns to describe it in another language. */
  function describe(record: string[], text: string): string {
    const cellOf = (name: string) => record[names?.indexOf(name) ?? -1] ?? ''
    const subject = correctedSubjects.find((one) => one === cellOf('corrected_subject'))
    return subject ? correctionTexts[language][subject](cellOf('corrected_reference')) : text
  }

  function toCell(name: string, text: string, record: string[]): string {
    if (text === '') return ''
    const write = writers[name]
    if (write) return write(text)
    if (name.endsWith('_cents')) return (Number(text) / 100).toFixed(2).replace('.', decimal)
    if (/_(?:at|date)$/.test(name)) return moments[language].format(new Date(text)).replace(',', '')
    if (name === 'status') return nameOf(text)
    if (name === 'kind') return kinds[text] ?? text
    if (name === 'operation') return operations[text] ?? text
    if (name === 'corrected_subject') return subjects[text] ?? text
    if (name === 'description') return describe(record, text)
    if (name.endsWith('_document')) return writeDocument(text)
    // Excel would read a number, without its first zeros or its last digits.
    return /^(?:0\d+|\d{16,})$/.test(text) ? `="${text}"` : text
  }

  return (piece) => {
    let written = ''
    for (const record of readRecords(piece)) {
      const cells: string[] = names
        ? record.map((text, index) => toCell(names?.[index] ?? '', text, record))
        : record.map((name) => headings[language][name] ?? name)
      if (!names) written += '\ufeff'
      names ??= record
      written += `${cells.map((cell) => (/["\r\n]/.test(cell) || cell.includes(separator) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(separator)}\r\n`
    }
    return written
  }
}

/** 529.982.247-25 or 11.222.333/0001-81, as people write a CPF and a CNPJ. One that a bank has masked may have dots. */
function writeDocument(text: string): string {
  return text
    .replace(/^([\d*]{3})([\d*]{3})([\d*]{3})([\d*]{2})$/, '$1.$2.$3-$4')
    .replace(/^(\w{2})(\w{3})(\w{3})(\w{4})(\d{2})$/, '$1.$2.$3/$4-$5')
}

/** Reads CSV (RFC 4180) in pieces. A record may have line breaks within quotes. */
function createCsvReader(): (piece: string) => string[][] {
  let cell = ''
  let record: string[] = []
  let isQuoted = false
  return (piece) => {
    const records: string[][] = []
    for (const character of piece) {
      // A doubled quote leaves the quotes and enters them again, with one quote in the cell.
      if (character === '"') {
        isQuoted = !isQuoted
        cell += character
      } else if (isQuoted || !/[,\r\n]/.test(character)) cell += character
      else if (character !== '\r') {
        record.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)
        cell = ''
        if (character === '\n') {
          records.push(record)
          record = []
        }
      }
    }
    return records
  }
}
