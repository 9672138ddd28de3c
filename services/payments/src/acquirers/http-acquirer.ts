import type { Outbound, OutboundAnswer } from '@trestle/common/outbound/outbound.ts'
import { z } from 'zod'
import { isRefusal } from '../processing/status-code.ts'
import type { Acquirer, AcquirerEvent, AuthorizationOutcome, AuthorizationRequest, TaskOutcome } from './acquirer.ts'

/** Where an acquirer, or the program that stands between us and it, is spoken to. */
export interface HttpAcquirerOptions {
  /** `https://bridge.example/acquirer`. */
  readonly url: string
  /** Sent as `Authorization: Bearer`. */
  readonly secret: string
  readonly outbound: Outbound
}

const TIMEOUT_MS = 10_000
/** A code of another vocabulary: the issuer gave no reason that we know. */
const UNNAMED_REFUSAL = 'PAYMENT_REJECTED_BY_ISSUER'

const Authorization = z.union([
  z.object({
    verdict: z.literal('approved'),
    ref: z.string().min(1).max(255),
    networkRef: z.string().max(255).nullish(),
  }),
  z.object({ verdict: z.literal('declined'), statusCode: z.string() }),
  z.object({ verdict: z.literal('unknown') }),
])
const Task = z.union([
  z.object({ verdict: z.enum(['accepted', 'retry']) }),
  z.object({ verdict: z.literal('rejected'), reason: z.string().max(1_000) }),
])
const id = z.string().regex(/^[0-9a-f]{24}$/)
const reference = z.string().min(1).max(255)
const KnownEvent = z.discriminatedUnion('type', [
  z.object({
    ...{ type: z.literal('dispute.opened'), reference, merchantId: id, acquirerRef: reference },
    ...{ amount: z.int().min(1), reasonCode: z.int().optional() },
  }),
  z.object({ type: z.enum(['dispute.won', 'dispute.lost']), reference, merchantId: id, disputeReference: reference }),
  z.object({
    ...{ type: z.literal('fraud'), reference, merchantId: id, acquirerRef: reference },
    ...{ reason: z.int().min(0).max(8).optional(), reported: z.iso.datetime({ offset: true }).optional() },
  }),
  z.object({
    ...{ type: z.literal('settlement'), reference, merchantId: id },
    money: z.object({ currency: z.string().regex(/^[A-Z]{3}$/), amount: z.int() }),
  }),
])
/** It must be acknowledged like any other, or all that comes after it would wait for ever. */
const UnknownEvent = z
  .object({ type: z.string().max(255).catch(''), reference, merchantId: id })
  .transform(({ type: kind, ...event }) => ({ ...event, type: 'unknown', kind }) as const)
const Events = z.array(z.union([KnownEvent, UnknownEvent]))

/**
 * An acquirer behind JSON over HTTP. A call that is not answered in full tells nothing: an authorization is then unknown, a
 * task is tried again. @see README.md of this folder
 */
export function createHttpAcquirer({ url, secret, outbound }: HttpAcquirerOptions): Acquirer {
  const call = (method: 'GET' | 'POST', path: string, body?: object): Promise<OutboundAnswer> =>
    outbound.send({
      method,
      url: `${url.replace(/\/$/, '')}${path}`,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      timeoutMs: TIMEOUT_MS,
      origin: 'operator',
    })
  return {
    authorize: async (request) => toAuthorization(await call('POST', '/authorizations', toBody(request))),
    inquire: async (ref) => toAuthorization(await call('GET', `/authorizations/${ref}`)),
    reverse: async (ref) => toTaskOutcome(await call('POST', `/authorizations/${ref}/reversals`, {})),
    submit: async (task) => toTaskOutcome(await call('POST', '/operations', task)),
    events: async (): Promise<readonly AcquirerEvent[]> => {
      const events = Events.parse(readJson(await call('GET', '/events')))
      return events.map((event) => ({ reasonCode: undefined, reason: undefined, reported: undefined, ...event }))
    },
    acknowledge: async (references) => {
      readJson(await call('POST', '/events/acknowledgements', { references }))
    },
  }
}

function toBody({ card, ...request }: AuthorizationRequest): object {
  const { idempotencyRef, merchantId, money, descriptor, initiator, planned, networkRef } = request
  return {
    ...{ idempotencyRef, merchantId, money, descriptor, initiator, planned, networkRef },
    card: { number: card.number(), code: card.code?.(), expiry: card.expiry, scheme: card.scheme },
  }
}

/** 404 to an inquiry: it was never asked, so nothing is reserved. */
function toAuthorization(answer: OutboundAnswer): AuthorizationOutcome {
  if (answer.status === 404) return { verdict: 'declined', statusCode: 'PAYMENT_METHOD_ERROR' }
  const outcome = Authorization.parse(readJson(answer))
  if (outcome.verdict === 'approved') return { ...outcome, networkRef: outcome.networkRef ?? null }
  if (outcome.verdict === 'unknown' || isRefusal(outcome.statusCode)) return outcome
  return { verdict: 'declined', statusCode: UNNAMED_REFUSAL }
}

function toTaskOutcome(answer: OutboundAnswer): TaskOutcome {
  const outcome = Task.parse(readJson(answer))
  return outcome.verdict === 'rejected' ? outcome : { verdict: outcome.verdict }
}

/** @throws Error unless the answer is JSON with a status of success */
function readJson({ status, body }: OutboundAnswer): unknown {
  if (status < 200 || status > 299) throw new Error(`the acquirer answered ${status}`)
  return body === '' ? null : JSON.parse(body)
}
