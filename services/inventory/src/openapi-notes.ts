import type { DocumentNotes, HeaderNote } from '@trestle/common/documents/complete-document.ts'
import { IF_NONE_MATCH, REQUEST_ID } from '@trestle/common/documents/document-headers.ts'
import type { DocumentedOperation } from '@trestle/common/documents/document-part.ts'
import examples from './openapi-examples.json' with { type: 'json' }

const text = { type: 'string' }

const tags = [
  { name: 'Products', description: 'Products with free-form attributes, their import and export.' },
  { name: 'Locations', description: 'Places that keep stock.' },
  { name: 'Stock', description: 'How much there is of a product at a location.' },
  { name: 'Movements', description: 'The ledger: every change of a level of stock.' },
  { name: 'Reservations', description: 'Stock that is kept for an order until it is committed, released or expires.' },
  { name: 'Users', description: 'The users that the database has.' },
  { name: 'Operators', description: 'What the people who run the service see and do. Needs an operator key.' },
  { name: 'Service', description: 'Health and API documents.' },
]

/** The ends of the ids of operations on one record with an entity tag (reference: Versions and preconditions). */
const TAGGED = /(?:ProductsWithProductId|LocationsWithLocationId|StockWithProductIdLocationId)$/
const DOCUMENTS: ReadonlySet<string> = new Set(['getOpenapiJson', 'getDocs'])
/** Lists with pages. */
const LISTS = /^get(?:Products|Stock|Movements|Reservations|Locations|Users|Operator(?:Imports|LowStock|Audit))$/
/** Operations that take an Idempotency-Key (reference: Idempotency keys). */
const REPEATABLE =
  /^post(?:Products|Locations|Movements|Reservations|ReservationsCommitWithReservationId|OperatorImports)$/

/** The notes of the API document beside the controllers. Its examples are compared by test/document-examples.long.test.ts. */
export const documentNotes: DocumentNotes = {
  servers: [{ url: '/', description: 'This process' }],
  tags,
  requestHeaders,
  answerHeaders,
  examples,
}

function requestHeaders({ method, operationId: id }: DocumentedOperation): Record<string, HeaderNote> {
  return {
    ...(method === 'GET' &&
      (TAGGED.test(id) || DOCUMENTS.has(id)) && {
        'If-None-Match': { ...IF_NONE_MATCH, ...(TAGGED.test(id) && { example: exampleTag(id) }) },
      }),
    ...(method !== 'GET' &&
      TAGGED.test(id) && {
        'If-Match': {
          description:
            'The ETag of the version that the change is based on. INVENTORY_REQUIRE_IF_MATCH makes it required.',
          schema: text,
          example: exampleTag(id),
        },
      }),
    ...(REPEATABLE.test(id) && {
      'Idempotency-Key': {
        description: 'Makes a repeat safe: the same request with the same key gets the first answer again.',
        schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
      },
    }),
  }
}

function exampleTag(id: string): string {
  if (id.includes('Stock')) return '"s1-2-1"'
  return id.includes('Locations') ? '"l2-1"' : '"p1-1"'
}

function answerHeaders(operation: DocumentedOperation, status: string): Record<string, HeaderNote> {
  return {
    'X-Request-Id': REQUEST_ID,
    ...(['409', '429', '503'].includes(status) && {
      'Retry-After': {
        description: 'Seconds to wait before another attempt. A 409 has it only for a running Idempotency-Key.',
        schema: { type: 'integer', minimum: 1 },
      },
    }),
    ...(['401', '403'].includes(status) && {
      'WWW-Authenticate': {
        description: 'What is wrong with the token (RFC 6750). The 403 of an operator has none.',
        schema: text,
      },
    }),
    ...(Number(status) < 400 && successHeaders(operation, status)),
  }
}

function successHeaders({ operationId: id }: DocumentedOperation, status: string): Record<string, HeaderNote> {
  const hasTag = (TAGGED.test(id) && status !== '204') || DOCUMENTS.has(id) || CONFIRMED.has(id)
  return {
    ...(hasTag && { ETag: { description: 'The version, for If-Match and If-None-Match.', schema: text } }),
    ...(LISTS.test(id) && { Link: LINK }),
    ...(id === 'getProducts' && { 'X-Total-Count': TOTAL }),
    ...(['201', '202', '301'].includes(status) && {
      Location: { description: 'The path of what was created, or of the page.', schema: text, required: true },
    }),
    ...(REPEATABLE.test(id) && { 'Idempotent-Replayed': REPLAYED }),
    ...(id === 'getProductsExport' && {
      'Content-Disposition': { description: 'The name of the file.', schema: text, required: true },
    }),
  }
}

/** Operations that confirm a new record with its tag. */
const CONFIRMED: ReadonlySet<string> = new Set(['postProducts', 'postLocations'])
const LINK = {
  description: 'The first page, and the next one where there is one (RFC 8288).',
  schema: text,
  required: true,
  example: '</products>; rel="first"',
}
const TOTAL = { description: 'How long the list is, with count=exact.', schema: { type: 'integer', minimum: 0 } }
const REPLAYED = {
  description: 'Present when the answer repeats an earlier one for its Idempotency-Key.',
  schema: { type: 'string', enum: ['true'] },
}
