import type { Outbound, OutboundAnswer, OutboundRequest } from '@trestle/common/outbound/outbound.ts'
import { z } from 'zod'
import { scrubStart } from '../cards/scrub.ts'
import { instant, isStorable, toStorable } from '../requests/fields.ts'
import { isRefusal } from '../transactions/processing-error.ts'
import {
  type Acquirer,
  type AcquirerNews,
  type AuthorizationOutcome,
  type AuthorizationRequest,
  NO_MERCHANT,
  type TaskOutcome,
} from './acquirer.ts'

export interface HttpAcquirerOptions {
  /** The base URL of the bridge, such as `https://bridge.example/acquirer`. */
  readonly url: string
  /** The token sent as `Authorization: Bearer`. */
  readonly secret: string
  readonly outbound: Pick<Outbound, 'send'>
}

const TIMEOUT_MS = 10_000
/** The status code for a decline whose code the reference does not list: the issuer gave no known reason. */
const UNNAMED_REFUSAL = 'PAYMENT_REJECTED_BY_ISSUER'

/** The maximum bytes of an answer to `GET /events`. A bridge that ignores the limit may send more than a page. */
const EVENTS_BYTES_MAX = 16 * 1_048_576
/** The maximum depth of a shown event. `JSON.parse` reads thousands of levels, but `JSON.stringify` throws. */
const SHOWN_LEVELS_MAX = 32
const REASON_LENGTH_MAX = 1_000
const REFERENCE_LENGTH_MAX = 255

const reference = z.string().min(1).max(REFERENCE_LENGTH_MAX).refine(isStorable)
/** A text whose exact value does not matter. Characters that PostgreSQL cannot store are replaced. */
const storableText = (length: number) => z.string().transform((text) => toStorable(text.slice(0, length)))
/** A text for humans. It is scrubbed, because an acquirer may include the card number. */
const shownText = (length: number) => z.string().transform((text) => toStorable(scrubStart(text, length)))
const otherOutcomes = [
  z.object({ verdict: z.literal('declined'), statusCode: z.string() }),
  z.object({ verdict: z.literal('unknown') }),
] as const
/** Captures need the exact reference later. If the reference cannot be stored exactly, the outcome is `unknown`. */
const Authorization = z.union([
  z.object({
    verdict: z.literal('approved'),
    ref: reference,
    networkRef: z.string().max(REFERENCE_LENGTH_MAX).refine(isStorable).nullish(),
  }),
  ...otherOutcomes,
])
/** An approval that an inquiry finds is given back by its attempt id, so its reference may be changed. */
const Inquiry = z.union([
  z.object({
    verdict: z.literal('approved'),
    ref: z.string().min(1).pipe(storableText(REFERENCE_LENGTH_MAX)),
    networkRef: storableText(REFERENCE_LENGTH_MAX).nullish(),
  }),
  ...otherOutcomes,
])
const Task = z.union([
  z.object({ verdict: z.enum(['accepted', 'retry']) }),
  z.object({ verdict: z.literal('rejected'), reason: shownText(REASON_LENGTH_MAX) }),
])
const id = z.string().regex(/^[0-9a-f]{24}$/)
/** An optional field. Bridges may also write `null` for an absent field. */
const optional = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().transform((value) => value ?? undefined)
const DisputedMoney = z.object({ amount: z.int().min(1), currency: optional(z.string().regex(/^[A-Z]{3}$/)) })
const KnownEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('dispute.opened'),
    reference,
    merchantId: id,
    acquirerRef: reference,
    ...DisputedMoney.shape,
    // If the code is not a number, the reason is unknown and gets the default code.
    reasonCode: optional(z.int()).catch(undefined),
  }),
  z.object({ type: z.enum(['dispute.won', 'dispute.lost']), reference, merchantId: id, disputeReference: reference }),
  z.object({
    type: z.literal('fraud'),
    reference,
    merchantId: id,
    acquirerRef: reference,
    reason: optional(z.int().min(0).max(8)),
    reported: optional(instant()),
  }),
  z.object({
    type: z.literal('settlement'),
    reference,
    merchantId: id,
    money: z.object({ currency: z.string().regex(/^[A-Z]{3}$/), amount: z.int() }),
  }),
])
/**
 * A dispute of a merchant in a form that cannot be booked. Payouts hold back its amount. `disputed` is `null` if the amount
 * cannot be read. The operator sees the event as it was received, up to a maximum depth and length.
 */
const MalformedDispute = z
  .looseObject({ type: z.literal('dispute.opened'), reference: z.string().min(1), merchantId: id })
  .transform((event) => {
    const received = toStorable(scrubStart(JSON.stringify(cutBelow(event, SHOWN_LEVELS_MAX)), REASON_LENGTH_MAX))
    return {
      type: 'unknown',
      kind: event.type,
      reference: event.reference,
      merchantId: event.merchantId,
      disputed: DisputedMoney.safeParse(event).data ?? null,
      received,
    } as const
  })
/**
 * An event that the service can only acknowledge. Without acknowledgement it would stay in the list forever. Only its reference
 * is stored exactly. Its other fields may have any value.
 */
const UnknownEvent = z
  .object({ type: z.string().catch(''), reference: z.string().min(1), merchantId: id.catch(NO_MERCHANT) })
  .transform(
    ({ type: kind, ...event }) =>
      ({ ...event, type: 'unknown', kind: toStorable(scrubStart(kind, REFERENCE_LENGTH_MAX)) }) as const,
  )
/** An element without a reference becomes `null`, because it cannot be acknowledged. */
const Events = z.array(z.union([KnownEvent, MalformedDispute, UnknownEvent, z.unknown().transform(() => null)]))

/**
 * Creates an acquirer that is called with JSON over HTTP. Without a complete answer, the outcome of an authorization is
 * `unknown`, and a task is sent again (reference: Bridge protocol).
 */
export function createHttpAcquirer({ url, secret, outbound }: HttpAcquirerOptions): Acquirer {
  const send = (method: 'GET' | 'POST', path: string, more: Partial<OutboundRequest>): Promise<OutboundAnswer> =>
    outbound.send({
      ...more,
      method,
      url: `${url.replace(/\/$/, '')}${path}`,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      timeoutMs: TIMEOUT_MS,
      origin: 'operator',
    })
  const post = (path: string, body: object) => send('POST', path, { body: JSON.stringify(body) })
  return {
    authorize: async (request) =>
      toAuthorization(Authorization.parse(readJson(await post('/authorizations', toBody(request))))),
    inquire: async (ref) => toInquiry(await send('GET', `/authorizations/${ref}`, {})),
    reverse: async (ref) => toTaskOutcome(await post(`/authorizations/${ref}/reversals`, {})),
    submit: async (task) => toTaskOutcome(await post('/operations', task)),
    events: async (limit) =>
      toNews(readJson(await send('GET', `/events?limit=${limit}`, { bytesMax: EVENTS_BYTES_MAX }))),
    acknowledge: async (references) => {
      readJson(await post('/events/acknowledgements', { references }))
    },
  }
}

function toBody({ card, ...request }: AuthorizationRequest): object {
  const { idempotencyRef, merchantId, money, descriptor, initiator, planned, networkRef } = request
  return {
    idempotencyRef,
    merchantId,
    money,
    descriptor,
    initiator,
    planned,
    networkRef,
    card: { number: card.number(), code: card.code?.(), expiry: card.expiry, scheme: card.scheme },
  }
}

/** 404 for an inquiry: the acquirer never got the request, so nothing is authorized. Otherwise 404 is a failure. */
function toInquiry(answer: OutboundAnswer): AuthorizationOutcome {
  if (answer.status === 404) return { verdict: 'declined', statusCode: 'PAYMENT_METHOD_ERROR' }
  return toAuthorization(Inquiry.parse(readJson(answer)))
}

function toAuthorization(outcome: z.output<typeof Authorization>): AuthorizationOutcome {
  if (outcome.verdict === 'approved') return { ...outcome, networkRef: outcome.networkRef ?? null }
  if (outcome.verdict === 'unknown' || isRefusal(outcome.statusCode)) return outcome
  return { verdict: 'declined', statusCode: UNNAMED_REFUSAL }
}

/** Reads events separately, so that a malformed one blocks no others. @throws Error unless the answer is a list */
function toNews(list: unknown): AcquirerNews {
  const read = Events.parse(list)
  const events = read
    .filter((event) => event !== null)
    .map((event) => ({ reasonCode: undefined, reason: undefined, reported: undefined, ...event }))
  return { events, unnamed: read.length - events.length }
}

function toTaskOutcome(answer: OutboundAnswer): TaskOutcome {
  const outcome = Task.parse(readJson(answer))
  return outcome.verdict === 'rejected' ? outcome : { verdict: outcome.verdict }
}

/** Returns a copy of a JSON value in which `…` replaces each array and object that is nested deeper than `levels`. */
function cutBelow(value: unknown, levels: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) return '…'
  if (Array.isArray(value)) return value.map((element) => cutBelow(element, levels - 1))
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, cutBelow(member, levels - 1)]))
}

/** @throws Error unless the status is 2xx and the body is JSON. Jobs store the message, so it quotes no answer */
function readJson({ status, body }: OutboundAnswer): unknown {
  if (status < 200 || status > 299) throw new Error(`the acquirer answered ${status}`)
  try {
    return body === '' ? null : JSON.parse(body)
  } catch {
    throw new Error('the answer of the acquirer is no JSON')
  }
}
