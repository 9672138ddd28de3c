import { setTimeout as delay } from 'node:timers/promises'
import { services } from '@trestle/stack/settings/services.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import type { Deployment } from '../../servers/deployment.ts'
import type { Server } from '../../servers/server.ts'
import { type ClientRequest, send } from './send.ts'
import type { Writer } from './writers.ts'

/** Two processes of a service. Each keeps its address when it is restarted. */
export interface Replicas extends AsyncDisposable {
  readonly ports: readonly number[]
  readonly urls: readonly string[]
  /** Ends a process by SIGTERM and starts it again. Resolves when a balancer has noticed that it is back. */
  restart(index: number): Promise<void>
}

const COUNT = 2
/** Longer than the balancer needs to notice. */
const SHUTDOWN_DELAY = '2s'
const NOTICE_MS = 600

/** Starts both processes with settings of their own. @throws Error for an unknown service */
export async function startReplicas(
  deployment: Deployment,
  service: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Replicas> {
  const definition = services.find(({ name }) => name === service)
  if (definition === undefined) throw new Error(`there is no service "${service}"`)
  const ports = await Promise.all(Array.from({ length: COUNT }, freePort))
  const start = (port: number) => {
    const own = { [definition.portSetting]: String(port), [`${definition.prefix}SHUTDOWN_DELAY`]: SHUTDOWN_DELAY }
    return deployment.start({ env: { ...own, ...env } })
  }
  const running: Server[] = []
  for (const port of ports) running.push(await start(port))
  return {
    ports,
    urls: running.map(({ url }) => url),
    restart: async (index) => {
      await running[index]?.stop()
      running[index] = await start(ports[index] ?? 0)
      await delay(NOTICE_MS)
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(running.map(({ stop }) => stop()))
    },
  }
}

/** A rate limit that the replicas of a service share. */
interface SharedLimit {
  readonly env: Readonly<Record<string, string>>
  /** How many requests the settings above allow. */
  readonly allowed: number
  readonly request: ClientRequest
}

const CLIENT_HEADER = 'x-real-ip'
const TOO_MANY = 429

export const sharedLimits: Readonly<Record<Writer['service'], SharedLimit>> = {
  auth: {
    env: { AUTH_RATE_LIMIT_STORE: 'postgres', AUTH_RATE_LIMIT_HEADER: CLIENT_HEADER, AUTH_RATE_LIMIT_VERIFY: '30' },
    allowed: 30,
    request: {
      method: 'POST',
      path: '/verify',
      headers: { [CLIENT_HEADER]: '192.0.2.1' },
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

/** Sends the replicas twice as many requests as the limit allows, in turn. @returns how many requests were accepted */
export async function countAllowed(urls: readonly string[], { allowed, request }: SharedLimit): Promise<number> {
  const all = Array.from({ length: 2 * allowed }, (_, index) => send(urls[index % urls.length] ?? '', request))
  const outcomes = await Promise.all(all)
  return outcomes.filter((outcome) => typeof outcome !== 'string' && outcome.status !== TOO_MANY).length
}
