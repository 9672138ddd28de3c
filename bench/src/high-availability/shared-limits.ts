import { type ClientRequest, send } from './send.ts'
import type { Writer } from './writers.ts'

/** A limit of a service that its replicas have in common. */
interface SharedLimit {
  readonly env: Readonly<Record<string, string>>
  /** How many requests the settings above let through. */
  readonly allowed: number
  readonly request: ClientRequest
}

const CLIENT_HEADER = 'x-real-ip'
const TOO_MANY = 429

/** A limit of each service, counted in its database. */
export const sharedLimits: Readonly<Record<Writer['service'], SharedLimit>> = {
  auth: {
    env: { AUTH_RATE_LIMIT_STORE: 'postgres', AUTH_RATE_LIMIT_HEADER: CLIENT_HEADER, AUTH_RATE_LIMIT_VERIFY: '30' },
    allowed: 30,
    request: {
      ...{ method: 'POST', path: '/verify', headers: { [CLIENT_HEADER]: '192.0.2.1' } },
      body: { type: 'magiclink', token_hash: 'of-nobody' },
    },
  },
  payments: {
    env: { PAYMENTS_RATE_LIMIT_STORE: 'postgres', PAYMENTS_RATE_APPS: '30' },
    allowed: 30,
    request: { method: 'POST', path: '/apps', body: {} },
  },
  inventory: {
    env: { INVENTORY_RATE_LIMIT_STORE: 'postgres', INVENTORY_RATE_LIMIT: '30' },
    allowed: 30,
    request: { method: 'GET', path: '/products' },
  },
}

/** Asks the replicas in turn, twice as often as the limit allows. @returns how many requests were let through */
export async function countAllowed(urls: readonly string[], { allowed, request }: SharedLimit): Promise<number> {
  const all = Array.from({ length: 2 * allowed }, (_, index) => send(urls[index % urls.length] ?? '', request))
  const outcomes = await Promise.all(all)
  return outcomes.filter((outcome) => typeof outcome !== 'string' && outcome.status !== TOO_MANY).length
}
