import type { DocumentedOperation } from '@trestle/common/documents/client-schemas.ts'
import type { DocumentNotes, HeaderNote, Json } from '@trestle/common/documents/complete-document.ts'
import { DOCUMENT_TAG, IF_NONE_MATCH, REQUEST_ID } from '@trestle/common/documents/document-headers.ts'
import { BASIC_CHALLENGE } from './errors.ts'
import examples from './openapi-examples.json' with { type: 'json' }
import { EVENT_TYPES } from './webhooks/event.ts'
import { SIGNATURE } from './webhooks/webhook-view.ts'

const text = { type: 'string' }
const majorUnits = { type: 'string', pattern: '^[0-9]{1,12}([.][0-9]+)?$' }
const DOCUMENTS: ReadonlySet<string> = new Set(['getApiDocument', 'showDocs'])

const tags = [
  { name: 'Merchants', description: 'Merchants, with their balance, bank account and permissions.' },
  { name: 'Checkout', description: 'What pages of a shop call in the browser of a customer. Needs no credentials.' },
  { name: 'Transactions', description: 'Charges, with their captures, refunds and voids.' },
  { name: 'Cards', description: 'Saved cards. Deprecated: charge from a previous transaction instead.' },
  { name: 'Disputes', description: 'Disputes and fraud alerts.' },
  { name: 'Lines', description: 'The history of a balance.' },
  { name: 'Payouts', description: 'Payments to the bank accounts of merchants.' },
  { name: 'Webhooks', description: 'Events, and the addresses that they are sent to.' },
  {
    name: 'Operators',
    description: 'What the people who run the service see and do. Needs an operator key and an access token.',
  },
  { name: 'Access', description: 'Apps, their keys, and the users of merchants.' },
  { name: 'Test mode', description: 'What acquirers and time do, for test merchants only.' },
  { name: 'Pages', description: 'Pages for the browsers of customers and invited users.' },
  { name: 'Service', description: 'Health and API documents.' },
]

/** The parts of the API document outside of route schemas. test/document-examples.long.test.ts checks the examples. */
export function documentNotes(): DocumentNotes {
  return {
    servers: [{ url: '/', description: 'This process' }],
    tags,
    webhooks: Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: describeDelivery(type) }])),
    parameters: {
      name: 'The name of a file of the pages',
      token: 'The token of the invitation, from its mail',
      task: 'The name of the task',
      step: 'What the challenge asks for, from its path',
      way: 'How it is taken, from its path',
      state: 'What the simulated bank was given, encrypted',
      from: 'The first day of the statement',
      to: 'The last day of the statement',
    },
    requestHeaders,
    answerHeaders,
    examples,
  }
}

function requestHeaders(operation: DocumentedOperation): Record<string, HeaderNote> {
  return {
    ...(operation.tags.includes('Checkout') && {
      'Accept-Version': {
        description: 'The version of the checkout API.',
        schema: { type: 'string', enum: ['1'] },
        required: true,
      },
      'X-Client': { description: 'The name of the client, for the log.', schema: text, example: 'my-shop/1.0' },
    }),
    ...(isRepeatable(operation) && {
      'Idempotency-Key': {
        description: 'Makes a repeat safe: for 24 hours the same request and key get the first answer again.',
        schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
        ...(operation.tags.includes('Operators') && { required: true }),
        // Each operation has its own example, because the service refuses a key that another request has used.
        example: `${operation.operationId.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}-1042`,
      },
    }),
    ...(DOCUMENTS.has(operation.operationId) && { 'If-None-Match': IF_NONE_MATCH }),
  }
}

/** Returns whether the client may safely repeat the operation with the same Idempotency-Key (reference: Idempotency-Key). */
function isRepeatable({ method, operationId, tags: [tag = ''] }: DocumentedOperation): boolean {
  if (operationId === 'createPayment' || tag === 'Operators') return method !== 'GET'
  return method === 'POST' && operationId !== 'createApp' && !['Checkout', 'Pages'].includes(tag)
}

function answerHeaders(operation: DocumentedOperation, status: string): Record<string, HeaderNote> {
  return {
    'X-Request-Id': REQUEST_ID,
    ...(Number(status) >= 400 && { 'X-Status-Code': { description: 'The code of the error.', schema: text } }),
    ...(status === '401' && {
      'WWW-Authenticate': {
        description: 'How a client proves who it is (RFC 9110).',
        schema: text,
        required: true,
        example: BASIC_CHALLENGE,
      },
    }),
    ...(['409', '429', '503'].includes(status) && {
      'Retry-After': {
        description: 'Seconds to wait before another attempt. A 409 that will never succeed has none.',
        schema: { type: 'integer', minimum: 1 },
      },
    }),
    ...(['200', '201'].includes(status) &&
      isRepeatable(operation) && {
        'Idempotent-Replayed': {
          description: 'Present when the answer repeats an earlier one for its Idempotency-Key.',
          schema: { type: 'string', enum: ['true'] },
        },
      }),
    ...(comesFromCheckout(operation, status) && {
      'Access-Control-Allow-Origin': {
        description: 'Any page may call the checkout.',
        schema: { type: 'string', enum: ['*'] },
        required: true,
      },
    }),
    ...((status === '301' || status === '303') && {
      Location: { description: 'Where the browser goes.', schema: text, required: true },
    }),
    ...(operation.operationId === 'getStatement' &&
      status === '200' && {
        'Content-Disposition': { description: 'The name of the file.', schema: text, required: true },
      }),
    ...(DOCUMENTS.has(operation.operationId) && (status === '200' || status === '304') && { ETag: DOCUMENT_TAG }),
  }
}

/** Returns whether only the checkout, and never the server in front of it, gives answers with this status. */
function comesFromCheckout({ operationId, tags }: DocumentedOperation, status: string): boolean {
  const isEarlier = ['414', '431', '503'].includes(status)
  const isOfOtherHost = operationId === 'tokenizeCardAtVaultHost' && status === '404'
  return tags.includes('Checkout') && !isEarlier && !isOfOtherHost
}

/** Query parameters of payment links (reference: Parameters of a link). Pages read them, so they cause no JSON errors. */
const LINK_PARAMETERS = [
  ['key', 'The public key of the merchant', { type: 'string', format: 'uuid' }],
  ['test', '1 for test merchants', { type: 'string', enum: ['1'] }],
  ['currency', 'Default: the funding currency of the merchant', { type: 'string', pattern: '^[A-Z]{3}$' }],
  ['value', 'The amount in major units; without it the page asks', majorUnits],
  ['reference', 'For the merchant, kept with the transaction', { type: 'string', maxLength: 255 }],
  ['text', 'Shown to the customer', { type: 'string', maxLength: 255 }],
  ['redirect', 'Where the customer goes after the payment', { type: 'string', format: 'uri', maxLength: 2_048 }],
  ['locale', 'The language of the page; default: by Accept-Language', { type: 'string', example: 'da' }],
  ['recurring', 'y: the customer agrees that the card is charged again', { type: 'string', enum: ['y'] }],
] as const
const RECEIPT_PARAMETERS = [['receipt', 'The encrypted receipt', text], LINK_PARAMETERS[7]] as const

const PAGE_PARAMETERS: ReadonlyMap<unknown, readonly (typeof LINK_PARAMETERS | typeof RECEIPT_PARAMETERS)[number][]> =
  new Map([
    ['showRoot', [...LINK_PARAMETERS]],
    ['showPaymentLink', [...LINK_PARAMETERS]],
    ['reopenCardForm', [...LINK_PARAMETERS]],
    ['returnFromBank', [...LINK_PARAMETERS]],
    ['showReceipt', [...RECEIPT_PARAMETERS]],
  ])

/** Adds the parameters of payment links to their pages. @param document is changed */
export function addLinkParameters({ paths = {} }: { readonly paths?: object }): void {
  for (const { get } of Object.values(paths)) {
    const added = PAGE_PARAMETERS.get(get?.operationId) ?? []
    const described = added.map(([name, description, schema]) => ({
      name,
      in: 'query',
      description,
      schema,
      // The root page works without a link. It then shows the links of the service.
      ...(name === 'key' && get.operationId !== 'showRoot' && { required: true }),
    }))
    if (described.length > 0) get.parameters = [...(get.parameters ?? []), ...described]
  }
}

/**
 * Adds the answers that the server gives before it has read the request (reference: Order of checks). Payment pages give even
 * these answers as a page.
 * @param document is changed
 */
export function addEarlyRefusals({ paths = {} }: { readonly paths?: object }): void {
  for (const { operationId, responses } of Object.values(paths).flatMap((item) => Object.values<Operation>(item))) {
    const page = responses[500]?.content?.['text/html']
    responses[414] = {
      description: 'The URL is longer than 8 KiB',
      content: {
        ...(page && { 'text/html': page }),
        ...((page === undefined || operationId === 'showRoot') && { 'application/json': reference('Error') }),
      },
    }
    responses[431] = {
      description: 'The headers have more than 16 KiB',
      content: { 'application/json': reference('FieldErrors') },
    }
  }
}

interface Operation {
  readonly operationId: string
  readonly responses: Record<number, { readonly description: string; readonly content?: Record<string, object> }>
}

function reference(name: string) {
  return { schema: { $ref: `#/components/schemas/${name}` } }
}

/** The schema of the object in an event, by the noun of the event type. */
const OBJECTS: Readonly<Record<string, string>> = {
  transaction: 'Transaction',
  dispute: 'Dispute',
  fraud: 'FraudAlert',
  payout: 'Payout',
  merchant: 'Merchant',
  app: 'App',
  user: 'MerchantUser',
  webhook: 'Webhook',
}

/** The request that the service sends to the URL of a webhook (reference: Deliveries). */
function describeDelivery(type: (typeof EVENT_TYPES)[number]): Json {
  const [noun = ''] = type.split('.')
  const data = {
    type: 'object',
    properties: { [noun]: { $ref: `#/components/schemas/${OBJECTS[noun]}` } },
    required: [noun],
  }
  const event = { properties: { type: { const: type }, data } }
  return {
    operationId: `receive-${type.replace('.', '-')}`,
    tags: ['Webhooks'],
    summary: `Receive the event ${type}`,
    security: [],
    parameters: [
      {
        name: 'X-Signature',
        in: 'header',
        required: true,
        description: SIGNATURE,
        schema: text,
        example: `t=1767225600,v1=${'0'.repeat(64)}`,
      },
    ],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { allOf: [{ $ref: '#/components/schemas/Event' }, event] } } },
    },
    responses: {
      '2XX': { description: 'The event was taken.' },
      default: { description: 'The event is sent again later.' },
    },
  }
}
