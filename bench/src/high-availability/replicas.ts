import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { services } from '@trestle/stack/settings/services.ts'
import type { Deployment } from '../deployment.ts'
import { freePort } from '../processes/free-port.ts'
import type { Server } from '../processes/server.ts'

/** Two processes of a service, each with an address that it keeps when it is started anew. */
export interface Replicas extends AsyncDisposable {
  readonly ports: readonly number[]
  readonly urls: readonly string[]
  /** Ends one by SIGTERM and starts it anew; resolves when a balancer has noticed that it is back. */
  restart(index: number): Promise<void>
}

const COUNT = 2
/** More than the balancer needs to notice. */
const SHUTDOWN_DELAY = '2s'
const NOTICE_MS = 600

/** Starts them with settings of their own. */
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
    return deployment.start({ cores: undefined, coreCount: availableParallelism(), env: { ...own, ...env } })
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
