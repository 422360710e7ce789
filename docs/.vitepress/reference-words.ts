/** The words of the reference that are not in the OpenAPI document. */
export const english = {
  response: 'Response',
  parameters: 'Parameters',
  body: 'Request body',
  fields: 'Response fields',
  errors: 'Errors',
  noBody: 'No body.',
  required: '**required**',
  optional: 'optional',
  header: 'header',
  path: 'path',
  listOf: (type: string) => `list of ${type}`,
  oneOf: (values: string[]) => `one of ${values.join(', ')}`,
  or: 'or',
  types: {} as Record<string, string>,
  object: { Transaction: 'transaction', Withdrawal: 'withdrawal', EventSummary: 'event', WebhookEndpoint: 'endpoint' },
  objectTitle: {
    Transaction: 'The transaction',
    Withdrawal: 'The withdrawal',
    EventSummary: 'The event',
    WebhookEndpoint: 'The webhook endpoint',
  },
  isObject: (object: string) => `The body is the ${object}.`,
  with: 'with',
  from: (least: string) => `From ${least}`,
  upTo: (most: string) => `Up to ${most}`,
  between: (least: string, most: string) => `${least} to ${most}`,
  characters: 'characters',
  items: 'items',
  byDefault: (value: string) => `By default ${value}`,
  webhook: {
    events: 'Events',
    event: 'type',
    meaning: 'when',
    headers: 'Headers',
    answer: 'Your answer',
    bodies: { TransactionEvent: 'Of a transaction', WithdrawalEvent: 'Of a withdrawal' },
  },
}

export type Words = typeof english
export type ObjectName = keyof Words['object']
