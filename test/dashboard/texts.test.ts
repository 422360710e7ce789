import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { errorTexts, writeError } from '../../dashboard/src/error-texts.ts'
import { sentences, writeFieldError } from '../../dashboard/src/field-errors.ts'
import { findNotices, words as notificationWords } from '../../dashboard/src/find-notices.ts'
import { formats } from '../../dashboard/src/format.ts'
import { writeFreezeReasons, writeReasonSentence } from '../../dashboard/src/reason-texts.ts'
import { hiddenDetails, writeDetails } from '../../dashboard/src/screens/audit/details.ts'
import { sentences as auditSentences, writeAction } from '../../dashboard/src/screens/audit/sentences.ts'
import { words as auditWords } from '../../dashboard/src/screens/audit/text.ts'
import { writeSentence } from '../../dashboard/src/screens/record/current-status.ts'
import { writeEntry } from '../../dashboard/src/screens/record/timeline.ts'
import { writeRejection } from '../../src/acquirers/bacen/spi-codes.ts'
import { actionAreas, actionNames, detailNames } from '../../src/audit/actions.ts'
import { toReason } from '../../src/explain/sentences.ts'
import { toFreezeReasons, writeLossReason, writeMoneyLeftReason } from '../../src/ledger/payout-freeze.ts'
import { AppError, errors, fieldErrorCodes, refusal } from '../../src/lib/errors.ts'
import { createSpreadsheet } from '../../src/reports/spreadsheet.ts'

describe.each(['en', 'pt'] as const)('an error of a field, in the language %s', (language) => {
  it.each(fieldErrorCodes)('has a sentence for %s', (code) => {
    const written = writeFieldError({ field: 'anything', code, limit: 10 }, language)
    expect(written).toMatch(/^[A-Z].*\.$/)
    if (code !== 'invalid') expect(written).not.toBe(sentences[language].ofCode.invalid(''))
  })

  it('has a sentence for a code that this dashboard does not know yet', () => {
    expect(writeFieldError({ field: 'anything', code: 'toString' }, language)).toBe(
      sentences[language].ofCode.invalid(''),
    )
  })
})

it('writes sentences for the same fields in both languages', () => {
  expect(Object.keys(sentences.pt.ofField)).toEqual(Object.keys(sentences.en.ofField))
})

it('writes the limit of an amount as money', () => {
  const error = { field: 'amount', code: 'too_large', limit: 2590, unit: 'cents' } as const
  expect(writeFieldError(error, 'en')).toBe('Enter at most R$25.90.')
  expect(writeFieldError(error, 'pt')).toBe('No máximo R$\u00a025,90.')
  expect(writeFieldError({ field: 'name', code: 'too_short', limit: 3 }, 'pt')).toBe('No mínimo 3 caracteres.')
  expect(writeFieldError({ field: 'name', code: 'too_short', limit: 1 }, 'en')).toBe('Enter at least 1 character.')
})

describe('a reason that is stored in English', () => {
  it('has words in Portuguese, whatever the acquirer did', () => {
    const source = readdirSync('src/acquirers', { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map((file) => readFileSync(`src/acquirers/${file}`, 'utf8'))
      .join('')
    const thrown = [...source.matchAll(/new AcquirerUnavailable\(\s*['`]([^'`]*)['`]/g)].map(([, text = '']) => text)
    expect(thrown.length).toBeGreaterThan(15)
    for (const template of thrown) {
      const text = template.replace('${status}', '503').replaceAll(/\$\{[^}]*\}+/g, ': recusado')
      const reason = toReason(text)
      expect(reason?.code, text).not.toBeNull()
      expect(reason && writeReasonSentence(reason, 'pt'), text).toMatch(/^\p{Lu}.*\.$/u)
      expect(reason && writeReasonSentence(reason, 'en'), text).toContain(text)
    }
  })

  it('distinguishes wrong credentials and a wrong address from an answer that cannot be read, and says what to check', () => {
    const write = (text: string) => {
      const reason = toReason(text)
      expect(reason && writeReasonSentence(reason, 'en')).toBe(`${text}.`)
      return reason && writeReasonSentence(reason, 'pt')
    }
    expect(write('The acquirer answered 401 to the request for a token: invalid_client')).toBe(
      'O PSP não emitiu um token de acesso: 401 invalid_client.',
    )
    expect(write('The acquirer answered 503 to the request for a token')).toBe(
      'O PSP não emitiu um token de acesso: 503.',
    )
    expect(write('The acquirer answered 404 because it has no such path: check baseUrl and overrides.paths')).toBe(
      'O PSP respondeu 404 porque não tem este caminho: confira baseUrl e overrides.paths.',
    )
    const redirected = (to: string) =>
      `The acquirer answered 302 and points to ${to}, which is not followed: check baseUrl`
    expect(write(redirected('login.bank.example:8443'))).toBe(
      'Confira baseUrl, porque o PSP redireciona para outro endereço: login.bank.example:8443.',
    )
    expect(write(redirected('elsewhere'))).toBe('Confira baseUrl, porque o PSP redireciona para outro endereço.')
    expect(write('The acquirer answered 200 with a body that cannot be read')).toBe(
      'O PSP deu uma resposta que não pode ser lida.',
    )
    expect(write('The acquirer answered 503')).toBe('O PSP respondeu com um erro.')
  })

  it('keeps the words of the PSP', () => {
    const refused = toReason('The acquirer refused to list pix: período inválido')
    expect(refused && writeReasonSentence(refused, 'pt')).toBe('O PSP recusou a consulta: período inválido.')
    const own = toReason('Conta encerrada')
    expect(own && writeReasonSentence(own, 'pt')).toBe('Conta encerrada.')
    const gone = toReason('The acquirer efi is not configured any more: configure it again.')
    expect(gone && writeReasonSentence(gone, 'pt')).toBe('O PSP não está mais configurado: configure-o de novo.')
  })
})

describe('the reason of a payout freeze', () => {
  const write = (reason: string, language: 'en' | 'pt') =>
    writeFreezeReasons(toFreezeReasons(reason), language, formats[language])
  const restored = 'The backup of 2026-11-24T02:30:05.000Z was restored.'

  it('is in the chosen language and in Brasília time if the service wrote it', () => {
    const lost = writeLossReason('2026-11-24T02:30:05.123Z')
    expect(write(lost, 'pt')).toBe(
      'O banco de dados voltou no tempo: perdeu o que foi gravado depois de 23/11/2026, 23:30:05.',
    )
    expect(write(lost, 'en')).toBe(
      'The database went back in time: it has lost what was committed after 23 Nov 2026, 23:30:05.',
    )
    expect(write('trial_balance: the balances add up to 5, not to 0', 'pt')).toBe(
      'O razão está inconsistente (trial_balance: the balances add up to 5, not to 0).',
    )
  })

  it('is separate from one that was added later', () => {
    const left = writeMoneyLeftReason('efi', 'R$ 5,00 left under D1, and no withdrawal has it')
    expect(write(`trial_balance: 5, not 0 ${left} ${restored}`, 'pt')).toBe(
      'O razão está inconsistente (trial_balance: 5, not 0). A conciliação encontrou dinheiro que saiu e que nenhum saque explica: `npx guiche reconcile list --open` mostra. O backup de 23/11/2026, 23:30:05 foi restaurado.',
    )
    expect(write(left, 'en')).toBe(left)
  })

  it('stays as a person wrote it, also among others', () => {
    expect(write('Auditoria: aguardem', 'pt')).toBe('Auditoria: aguardem.')
    expect(write(`Ana pediu. ${restored} ${writeLossReason('2026-11-24T03:00:00.000Z')} E mais`, 'pt')).toBe(
      'Ana pediu. O backup de 23/11/2026, 23:30:05 foi restaurado. O banco de dados voltou no tempo: perdeu o que foi gravado depois de 24/11/2026, 00:00:00. E mais.',
    )
  })

  it('is in the explanation of a record that waits, except for merchants, who get no reasons', () => {
    const say = (reason: string) =>
      writeSentence(
        { code: 'payouts_stopped', data: { since: '2026-11-24T12:00:00.000Z', reasons: toFreezeReasons(reason) } },
        'pt',
        formats.pt,
      )
    expect(say(restored)).toBe(
      'As saídas estão bloqueadas desde 24/11/2026, 09:00:00: O backup de 23/11/2026, 23:30:05 foi restaurado.',
    )
    expect(say('')).toBe('As saídas estão bloqueadas desde 24/11/2026, 09:00:00.')
  })
})

describe('the current status of a record', () => {
  it('says that a withdrawal is going to be sent, not that it was', () => {
    const next = { step: 'send_withdrawal', at: '2026-11-24T12:00:00.000Z', isLate: false } as const
    const write = (language: 'en' | 'pt') => writeSentence({ code: 'next', data: next }, language, formats[language])
    expect(write('en')).toBe('Sending to the PSP on 24 Nov 2026, 09:00:00.')
    expect(write('pt')).toBe('Envio ao PSP em 24/11/2026, 09:00:00.')
  })

  it('says what the last attempt of a webhook met, whether the receiver answered or not', () => {
    const write = (last: { httpStatus: number | null; error: string; errorCode: 'no_answer' | null }) =>
      writeSentence(
        { code: 'webhook_given_up', data: { type: 'transaction.paid', eventId: 'e1', ...last } },
        'en',
        formats.en,
      )
    const all = 'Webhook transaction.paid not delivered: all attempts failed; at the last one,'
    expect(write({ httpStatus: null, error: 'No answer in time', errorCode: 'no_answer' })).toBe(
      `${all} no answer in time.`,
    )
    expect(write({ httpStatus: 500, error: 'The receiver answered 500', errorCode: null })).toBe(
      `${all} the receiver answered HTTP 500.`,
    )
  })
})

it('writes the reason of a refused refund and of a PSP’s silence in Portuguese in a timeline', () => {
  const reason = toReason(writeRejection('AC07'))
  const refund = { step: 'refused', id: 'a1', amount: 2590, status: 'FAILED', reason } as const
  expect(writeEntry({ kind: 'refund', data: refund }, 'pt', formats.pt)).toBe(
    'Devolução de R$\u00a025,90 recusada: a conta do recebedor está encerrada (AC07)',
  )
  const silence = toReason('The acquirer did not answer in time')
  const check = { acquirer: 'efi', operation: 'findPayout', outcome: 'unknown', reason: silence, durationMs: 5 }
  expect(writeEntry({ kind: 'acquirer', data: check }, 'pt', formats.pt)).toContain('(o PSP não respondeu a tempo)')
})

it('names who did something in a timeline, also `operator`, which a merchant’s users see for the operator’s staff', () => {
  const by = (actor: string) =>
    ({ kind: 'operator', data: { actor, action: 'withdrawal.approve', details: null } }) as const
  const write = (actor: string, language: 'en' | 'pt') => writeEntry(by(actor), language, formats[language])
  expect(write('operator', 'pt')).toBe('Operador aprovou o saque')
  expect(write('user:ana@example.com', 'pt')).toBe('ana@example.com aprovou o saque')
  expect(write('cli:maria', 'en')).toBe('maria (command line): approved the withdrawal')
  expect(write('service', 'en')).toBe('Guichê: approved the withdrawal')
})

describe('a refusal', () => {
  const write = (error: AppError, language: 'en' | 'pt') => {
    const { code, message: sentence, details } = error
    return writeError({ code, sentence, fields: details.fields ?? [] }, language)
  }

  it.each(Object.keys(errors) as (keyof typeof errors)[])('has a sentence in both languages for %s', (code) => {
    expect(errorTexts.en[code]).toMatch(/^[A-Z].*[.:]$/)
    expect(errorTexts.pt[code]).toMatch(/^[A-Z].*[.:]$/)
    expect(errorTexts.pt[code]).not.toBe(errorTexts.en[code])
  })

  it('because of a record’s state must have a reason: without one it does not compile', () => {
    // @ts-expect-error A detail is in English only.
    void new AppError('refund_not_possible', { detail: 'No.' })
  })

  it('gives its reason in the chosen language, and shows nothing of the service’s sentence', () => {
    const error = refusal('refund_not_possible', 'refund_in_progress', 'A refund is in progress.')
    expect(write(error, 'pt')).toEqual({
      sentence:
        'Não é possível devolver esta transação. Uma devolução desta transação está em andamento. Tente de novo quando terminar.',
      list: [],
    })
  })

  it('names the fields of an invalid request, and the records that are in the way', () => {
    const field = { field: 'amount', code: 'required', message: 'is required' } as const
    expect(write(new AppError('validation_failed', { fields: [field] }), 'en').list).toEqual([
      ['amount', 'Fill in this field.'],
    ])
    const record = { field: 'document', code: 'still_open', message: 'is open', recordId: 'a1' } as const
    expect(write(new AppError('erasure_not_possible', { fields: [record] }), 'pt').list).toEqual([
      ['a1', 'Ainda não terminou. Até lá os dados são necessários.'],
    ])
  })
})

describe('an export for Excel', () => {
  const csv = [
    'id,created_at,status,amount_cents,fee_cents,payment_date,external_code,customer_name,customer_document,new_column',
    '1,2026-11-24T02:30:05.000Z,PAID,2590,-5,,000123,"Silva; ""Zé"", Ana",52998224725,x',
    '2,2026-11-24T15:00:00.000Z,FAILED,1234567890,,,order-7,"two\r\nlines",11222333000181,',
    '',
  ].join('\r\n')
  const nameOf = (status: string) => `<${status}>`

  it.each([1, 7, 10_000])(
    'has reais, Brasília’s time and Brazil’s separators in Portuguese, from pieces of %i',
    (length) => {
      const write = createSpreadsheet('pt', nameOf)
      const pieces = Array.from({ length: Math.ceil(csv.length / length) }, (_, at) =>
        csv.slice(at * length, (at + 1) * length),
      )
      expect(pieces.map(write).join('').split('\r\n1;')).toEqual([
        '\ufeffId;Criado em;Situação;Valor;Tarifa;Pago em;Código externo;Cliente;CPF ou CNPJ;new_column',
        [
          '23/11/2026 23:30:05;<PAID>;25,90;-0,05;;"=""000123""";"Silva; ""Zé"", Ana";529.982.247-25;x',
          '2;24/11/2026 12:00:00;<FAILED>;12345678,90;;;order-7;"two\r\nlines";11.222.333/0001-81;',
          '',
        ].join('\r\n'),
      ])
    },
  )

  it('writes the document of a payer as a person does, also one that a bank has masked', () => {
    const documents = ['11144477735', '***444777**', '***.444.777-**', '12ABC34501DE35']
    const written = createSpreadsheet('pt', nameOf)(`payer_document\r\n${documents.join('\r\n')}\r\n`)
    expect(written.split('\r\n').slice(1, -1)).toEqual([
      ...['111.444.777-35', '***.444.777-**', '***.444.777-**', '12.ABC.345/01DE-35'],
    ])
  })

  it('has the separators of English in English', () => {
    expect(createSpreadsheet('en', nameOf)(csv).split('\r\n')[1]).toBe(
      '1,2026-11-23 23:30:05,<PAID>,25.90,-0.05,,"=""000123""","Silva; ""Zé"", Ana",529.982.247-25,x',
    )
  })

  it('names every column of the exports in both languages', () => {
    const files = [
      'src/transactions/view.ts',
      'src/withdrawals/view.ts',
      'src/ledger/view.ts',
      'src/dashboard/audit.ts',
    ]
    const columns = files.flatMap((file) =>
      Array.from(readFileSync(file, 'utf8').matchAll(/^ {2}\['(\w+)', /gm), ([, name]) => String(name)),
    )
    expect(columns.length).toBeGreaterThan(30)
    for (const language of ['en', 'pt'] as const) {
      const head = createSpreadsheet(language, nameOf)(`${columns.join(',')}\r\n`)
      expect(
        head
          .slice(1)
          .trim()
          .split(language === 'pt' ? ';' : ',')
          .filter((name) => columns.includes(name)),
      ).toEqual([])
    }
  })
})

describe.each(['en', 'pt'] as const)('the audit log, in the language %s', (language) => {
  it.each(actionNames)('has a sentence for %s', (name) => {
    expect(auditSentences[language][name]).toMatch(/^\p{Ll}/u)
    expect(auditSentences[language][name]).not.toContain(name)
  })

  it('has a name for every area and every detail, and no others', () => {
    expect(Object.keys(auditWords[language].areas).toSorted()).toEqual(actionAreas.toSorted())
    const shown = detailNames.filter((name) => !hiddenDetails.has(name))
    expect(Object.keys(auditWords[language].details).toSorted()).toEqual(shown.toSorted())
  })
})

it('keeps a name with brackets and dollar signs whole in the sentence of an action', () => {
  const user = ' Ana [RH] $& $$'
  expect(writeAction('user.disable', { amount: '', user }, 'en')).toEqual(['disabled ', 'the user', user])
})

it('writes the details of an action in words, with amounts as money', () => {
  const details = { perDay: null, approvalAbove: 100_000, proposedBy: 'user:ana@loja.example', proposalId: 'x' }
  expect(writeDetails(details, { language: 'pt', format: formats.pt, accounts: {} })).toBe(
    'por dia: nenhum · aprovação acima de: R$\u00a01.000,00 · proposto por: ana@loja.example',
  )
})

it('has a sentence for an answer that is not from the service, such as a proxy’s page', async () => {
  vi.stubGlobal('location', { origin: 'http://127.0.0.1' })
  const { codeOf, request } = await import('../../dashboard/src/api.ts')
  const codeFor = async (status: number) => {
    vi.stubGlobal('fetch', async () => new Response('<html>', { status }))
    return await request('PUT', '/a').catch((error: unknown) => codeOf(error))
  }
  expect(await codeFor(413)).toBe('body_too_large')
  for (const status of [200, 502]) expect(await codeFor(status)).toBe('unexpected_answer')
  vi.unstubAllGlobals()
})

it('counts a session that has ended already as signed out, without a wait for a new sign-in', async () => {
  vi.stubGlobal('location', { origin: 'http://127.0.0.1' })
  const { codeOf, onSessionEnded, signOut } = await import('../../dashboard/src/api.ts')
  const waitForSignIn = vi.fn(async () => true)
  onSessionEnded(waitForSignIn)
  vi.stubGlobal('fetch', async () => Response.json({ code: 'not_signed_in' }, { status: 401 }))
  expect(await signOut()).toEqual({ providerSignOutUrl: null })
  expect(waitForSignIn).not.toHaveBeenCalled()
  vi.stubGlobal('fetch', async () => await Promise.reject(new TypeError('Failed to fetch')))
  expect(await signOut().catch((error: unknown) => codeOf(error))).toBe('connection_failed')
  vi.unstubAllGlobals()
})

it('counts payments in a notification, also those that are not named', () => {
  const records = Array.from({ length: 10 }, (_, index) => ({ id: String(index), amount: index < 3 ? 9_000 : 100 }))
  const change = { kind: 'transaction', clientId: null, status: 'PAID' } as const
  const choice = { desktop: true, sound: false, payments: true, approvals: true, disputes: true }
  const t = { ...notificationWords.en, money: String, number: String }
  const titleOf = (count: number, minAmount: number | null, named: { id: string; amount: number | null }[] = records) =>
    findNotices({ changes: [{ ...change, count, records: named }], isMore: false }, { ...choice, minAmount }, t).map(
      ({ title }) => title,
    )
  expect(titleOf(37, null)).toEqual(['37 payments'])
  expect(titleOf(10, 5_000)).toEqual(['3 payments'])
  expect(titleOf(37, 5_000)).toEqual(['At least 3 payments'])
  const [first, second] = records
  const afterRefund = [first, second, { id: 'refunded', amount: null }].filter((one) => one !== undefined)
  expect(titleOf(3, null, afterRefund)).toEqual(['2 payments'])
  expect(titleOf(37, null, afterRefund)).toEqual(['At least 2 payments'])
})
