import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import { z } from 'zod'
import * as errors from '../errors.ts'
import {
  answerWith,
  type OpenedFile,
  type Query,
  readBody,
  readRefusal,
  refuseMissing,
  refuseUnreadable,
  type SentFile,
  type ServiceAnswer,
  type ServiceName,
} from './service-call.ts'
import type { ServiceClient } from './service-client.ts'

/** The role (which selects the operator key), the operator's access token, and the address of the browser. */
interface Credentials {
  readonly role: OperatorRole
  readonly accessToken: string
  readonly address: string
}

/** For each service, one operator key for each role. */
export type OperatorKeys = Readonly<Partial<Record<ServiceName, ReadonlyMap<OperatorRole, string>>>>

export interface Change {
  readonly service: ServiceName
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Query
  readonly body?: Readonly<Record<string, unknown>> | undefined
  /** Sent instead of the body. */
  readonly file?: SentFile
  /** The expected answer. If it is `undefined`, any record or a status 204 confirms the change. */
  readonly answer?: z.ZodType | undefined
  /** The Idempotency-Key from the form. */
  readonly key: string
  /** The version in the form. The service rejects the change of another version (inventory reference: If-Match). */
  readonly ifMatch?: string | undefined
}

/**
 * The outcome of a change. `refused` means that the rules of the service forbid the change, and nothing changed. `unknown` means
 * that the answer is lost: only a retry with the same key makes the change exactly once.
 */
export type Outcome =
  | { readonly kind: 'done'; readonly body: unknown }
  | { readonly kind: 'refused'; readonly message: string; readonly field?: string | undefined }
  | { readonly kind: 'unknown'; readonly message: string }

export interface Listed<T> {
  readonly value: T
  readonly next: string | undefined
  /** The version of the record, for `Change.ifMatch`. */
  readonly etag: string | undefined
}

export interface OperatorCalls {
  has(service: ServiceName): boolean
  /** Reads an object or a list. @throws the errors of `refuse`, answerUnreadable and serviceUnavailable */
  read<T>(service: ServiceName, path: string, schema: z.ZodType<T>, query?: Query): Promise<Listed<T>>
  /** Opens a list as CSV, which arrives in pieces. @throws the errors of `refuse`, serviceUnavailable and serviceBusy */
  openCsv(service: ServiceName, path: string, query: Query): Promise<Extract<OpenedFile, { kind: 'file' }>>
  /** Opens a file. @throws the errors of `refuse`, serviceUnavailable and serviceBusy */
  openFile(service: ServiceName, path: string, query: Query): Promise<Extract<OpenedFile, { kind: 'file' }>>
  /**
   * @throws valuesInvalid for a malformed key or version, operatorForbidden if the console has no key for the role; notSignedIn,
   * consoleRefused, objectNotFound or tooManyRequests from the service
   */
  change(change: Change): Promise<Outcome>
}

/** The form of an Idempotency-Key (console reference: Changes). */
const KEY = /^[\x21-\x7e]{1,255}$/
/** The form of an entity tag (RFC 9110). `*` is excluded, because it would overwrite any version. */
const ENTITY_TAG = /^(?:W\/)?"[\x21\x23-\x7e]*"$/

/** The codes of services for a key that was used for another request. */
const KEY_SPENT = /^(?:IDEMPOTENCY_KEY_REUSED|idempotency_key_reused|VERIFICATION_ERROR)$/

/** Creates the calls of an operator, with the operator key of the role and the operator's access token. */
export function createOperatorCalls(
  { send, openFile }: ServiceClient,
  keys: OperatorKeys,
  { role, accessToken, address }: Credentials,
): OperatorCalls {
  const keyOf = (service: ServiceName): string => {
    // Without the service, its pages do not exist.
    const known = keys[service] ?? refuseMissing()
    return requireRole(known.get(role))
  }
  const headersFor = (service: ServiceName) => ({
    'x-trestle-operator-key': keyOf(service),
    authorization: `Bearer ${accessToken}`,
    'x-trestle-operator-address': address,
    'x-supabase-api-version': '2024-01-01',
  })
  const open = async (service: ServiceName, path: string, query: Query, accept: string) => {
    const opened = await openFile({ service, path, query, headers: { ...headersFor(service), accept } })
    return opened.kind === 'file' ? opened : refuse(service, { status: opened.status, body: undefined })
  }
  return {
    has: (service) => keys[service] !== undefined,
    read: async (service, path, schema, query) => {
      const headers = { ...headersFor(service), accept: 'application/json' }
      const answer = await send({ service, method: 'GET', path, query, headers })
      if (answer.status >= 300) refuse(service, answer)
      return { value: readBody(service, schema, answer.body), next: answer.next, etag: answer.etag }
    },
    openCsv: (service, path, query) => open(service, path, query, 'text/csv'),
    openFile: (service, path, query) => open(service, path, query, '*/*'),
    change: async ({ service, key, ifMatch, answer: expected, ...call }) => {
      // Both are form fields that become headers, so reject values with line breaks.
      if (!KEY.test(key) || (ifMatch !== undefined && !ENTITY_TAG.test(ifMatch))) throw errors.valuesInvalid()
      const headers = {
        ...headersFor(service),
        accept: 'application/json',
        'idempotency-key': key,
        ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      }
      const answer = await answerOf(send({ service, ...call, headers }))
      if (answer !== undefined && isDone(service, answer, expected)) return { kind: 'done', body: answer.body }
      // A response of a proxy or an incomplete response does not confirm the change.
      if (answer === undefined || answer.status < 400) {
        return { kind: 'unknown', message: `${errors.answerLost().message}.` }
      }
      if ([401, 404, 429].includes(answer.status)) refuse(service, answer)
      const { code, message, field } = readRefusal(answer.body)
      return { kind: 'refused', message: KEY_SPENT.test(code) ? `${errors.formSpent().message}.` : message, field }
    },
  }
}

/** The default answers of services to changes. */
const RECORDS: Readonly<Record<ServiceName, z.ZodType>> = {
  auth: z.looseObject({}).refine((body) => Object.keys(body).length > 0),
  payments: z.looseObject({}).refine((body) => Object.keys(body).length > 0),
  inventory: answerWith('data'),
}

/** Whether an answer comes from the route and confirms the change. */
function isDone(service: ServiceName, { status, body }: ServiceAnswer, expected: z.ZodType | undefined): boolean {
  if (status >= 300) return false
  if (status === 204 && expected === undefined) return true
  return (expected ?? RECORDS[service]).safeParse(body).success
}

/** Returns `undefined` if the answer is lost. */
async function answerOf(sent: Promise<ServiceAnswer>): Promise<ServiceAnswer | undefined> {
  try {
    return await sent
  } catch (error) {
    if (error instanceof HttpError && ['service_away', 'answer_unreadable'].includes(error.code)) return undefined
    throw error
  }
}

/** @throws notSignedIn if there is no session. The browser is then redirected to the sign-in */
export function requireSession<T>(found: T | undefined): T {
  return found ?? refuseSignedOut()
}

/** @throws operatorForbidden if there is no role or no key for it */
export function requireRole<T>(found: T | undefined): T {
  return found ?? refuseRole()
}

function refuseSignedOut(): never {
  throw errors.notSignedIn()
}

function refuseRole(): never {
  throw errors.operatorForbidden()
}

/**
 * Throws the console's error for a rejection by a service. Only auth can end a session: other services do not know the session.
 * @throws notSignedIn, consoleRefused, operatorForbidden, objectNotFound, tooManyRequests, answerUnreadable, serviceRefused
 */
export function refuse(service: ServiceName, { status, body }: Pick<ServiceAnswer, 'status' | 'body'>): never {
  if (status === 401 && service === 'auth') refuseSignedOut()
  if (status === 401) throw errors.consoleRefused({ service })
  if (status < 400) refuseUnreadable(service)
  if (status === 403) refuseRole()
  if (status === 404) refuseMissing()
  if (status === 429) throw errors.tooManyRequests()
  throw errors.serviceRefused(readRefusal(body))
}

export const INVENTORY = { products: '/products', stock: '/stock', locations: '/locations' } as const

/** Reads the content of an inventory envelope (inventory reference: Envelopes). */
export function enveloped<T>(schema: z.ZodType<T>): z.ZodType<T> {
  return z.object({ data: schema }).transform(({ data }) => data)
}

export const RecordId: z.ZodType<number, unknown> = z.coerce.number().pipe(z.int().min(1))

/** An id, or `undefined` for an empty text. */
export const OptionalId: z.ZodType<number | undefined, unknown> = z.preprocess(
  (value) => (value === '' ? undefined : value),
  RecordId.optional(),
)

/** Returns the `If-Match` of a product at a version (inventory reference: Entity tags). */
export function productTag(id: number, version: number | string | undefined): string {
  return `"p${id}-${version}"`
}
