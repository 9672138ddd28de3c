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

/**
 * The credentials of a caller: the role, whose key is sent, the operator's own access token, and the address of the browser.
 */
interface Credentials {
  readonly role: OperatorRole
  readonly accessToken: string
  readonly address: string
}

/** One operator key of each service for each role. */
export type OperatorKeys = Readonly<Partial<Record<ServiceName, ReadonlyMap<OperatorRole, string>>>>

export interface Change {
  readonly service: ServiceName
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Query
  readonly body?: Readonly<Record<string, unknown>> | undefined
  /** Sent in place of the body. */
  readonly file?: SentFile
  /** The answer of the route. Undefined: any record, or none with the status 204. */
  readonly answer?: z.ZodType | undefined
  /** The Idempotency-Key of the form. */
  readonly key: string
  /** The version that the form was opened for: another version is refused (inventory reference: If-Match). */
  readonly ifMatch?: string | undefined
}

/**
 * The outcome of a change: done, or refused by the rules of the service, which changed nothing. If the service's answer is
 * lost, it is `unknown` whether the change was made: only a retry with the same key is sure to make it once.
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
  /** Opens the rows of a list as CSV, which arrive in pieces. @throws the errors of `refuse`, serviceUnavailable and serviceBusy */
  openCsv(service: ServiceName, path: string, query: Query): Promise<Extract<OpenedFile, { kind: 'file' }>>
  /** Opens a file. @throws the errors of `refuse`, serviceUnavailable and serviceBusy */
  openFile(service: ServiceName, path: string, query: Query): Promise<Extract<OpenedFile, { kind: 'file' }>>
  /**
   * @throws valuesInvalid for a malformed key or version, operatorForbidden if the console has no key of the role;
   * notSignedIn, consoleRefused, objectNotFound or tooManyRequests from the service
   */
  change(change: Change): Promise<Outcome>
}

/** An Idempotency-Key (console reference: Changes). */
const KEY = /^[\x21-\x7e]{1,255}$/
/** An entity tag of RFC 9110. `*` is none: it would overwrite any version. */
const ENTITY_TAG = /^(?:W\/)?"[\x21\x23-\x7e]*"$/

/** The codes with which the services report that a key was used for another request. */
const KEY_SPENT = /^(?:IDEMPOTENCY_KEY_REUSED|idempotency_key_reused|VERIFICATION_ERROR)$/

/** Creates the calls of an operator: each carries the key of the role and the operator's access token. */
export function createOperatorCalls(
  { send, openFile }: ServiceClient,
  keys: OperatorKeys,
  { role, accessToken, address }: Credentials,
): OperatorCalls {
  const keyOf = (service: ServiceName): string => {
    // A service that is not set up has no pages.
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
      // Both come from fields of a form and become headers, so a value with a line break must not pass.
      if (!KEY.test(key) || (ifMatch !== undefined && !ENTITY_TAG.test(ifMatch))) throw errors.valuesInvalid()
      const headers = {
        ...headersFor(service),
        accept: 'application/json',
        'idempotency-key': key,
        ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      }
      const answer = await answerOf(send({ service, ...call, headers }))
      if (answer !== undefined && isDone(service, answer, expected)) return { kind: 'done', body: answer.body }
      // The page of a proxy, or half an answer, does not prove the change.
      if (answer === undefined || answer.status < 400) {
        return { kind: 'unknown', message: `${errors.answerLost().message}.` }
      }
      if ([401, 404, 429].includes(answer.status)) refuse(service, answer)
      const { code, message, field } = readRefusal(answer.body)
      return { kind: 'refused', message: KEY_SPENT.test(code) ? `${errors.formSpent().message}.` : message, field }
    },
  }
}

/** The answers of services to changes without an answer of their own. */
const RECORDS: Readonly<Record<ServiceName, z.ZodType>> = {
  auth: z.looseObject({}).refine((body) => Object.keys(body).length > 0),
  payments: z.looseObject({}).refine((body) => Object.keys(body).length > 0),
  inventory: answerWith('data'),
}

/** Whether an answer comes from the route, and confirms the change. */
function isDone(service: ServiceName, { status, body }: ServiceAnswer, expected: z.ZodType | undefined): boolean {
  if (status >= 300) return false
  if (status === 204 && expected === undefined) return true
  return (expected ?? RECORDS[service]).safeParse(body).success
}

/** Undefined if the answer is lost. */
async function answerOf(sent: Promise<ServiceAnswer>): Promise<ServiceAnswer | undefined> {
  try {
    return await sent
  } catch (error) {
    if (error instanceof HttpError && ['service_away', 'answer_unreadable'].includes(error.code)) return undefined
    throw error
  }
}

/** @throws notSignedIn without a session: the page leads to the sign-in */
export function requireSession<T>(found: T | undefined): T {
  return found ?? refuseSignedOut()
}

/** @throws operatorForbidden without a role or its key */
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
 * Throws the error of the console for a refusal of a service. Only auth ends sessions: the others do not know whether one is
 * open.
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

/** Reads the content of the envelope of inventory (inventory reference: Envelopes). */
export function enveloped<T>(schema: z.ZodType<T>): z.ZodType<T> {
  return z.object({ data: schema }).transform(({ data }) => data)
}

export const RecordId: z.ZodType<number, unknown> = z.coerce.number().pipe(z.int().min(1))

/** Empty: none. */
export const OptionalId: z.ZodType<number | undefined, unknown> = z.preprocess(
  (value) => (value === '' ? undefined : value),
  RecordId.optional(),
)

/** The `If-Match` of a product at a version (inventory reference: Entity tags). */
export function productTag(id: number, version: number | string | undefined): string {
  return `"p${id}-${version}"`
}
