import { setTimeout as delay } from 'node:timers/promises'
import { prepareAuthLoad } from './auth-load.ts'
import type { Action } from './client.ts'
import { prepareInventoryLoad } from './inventory-load.ts'
import { preparePaymentsLoad } from './payments-load.ts'
import { SERVICES, type ServiceName, type Stage } from './stage.ts'

/** A load on all services until it is stopped. */
export interface Load {
  /** Answers of each service by status since the last call. */
  take(): Readonly<Record<ServiceName, ReadonlyMap<number, number>>>
  stop(): Promise<void>
}

const PREPARE: Readonly<
  Record<ServiceName, (stage: Stage, started: AsyncDisposableStack) => Promise<readonly Action[]>>
> = { auth: prepareAuthLoad, payments: preparePaymentsLoad, inventory: prepareInventoryLoad }
/** The most open actions of each service. More would only wait for each other while a fault lasts. */
const UNDER_WAY_MAX = 40

/** Begins actions of each service at a fixed rate, without waiting for the last ones. */
export async function startLoad(stage: Stage, started: AsyncDisposableStack, perSecond: number): Promise<Load> {
  const counts = new Map(SERVICES.map((name) => [name, new Map<number, number>()]))
  const loads = await Promise.all(
    SERVICES.map(async (name) => ({
      name,
      actions: await PREPARE[name](stage, started),
      underWay: new Set<Promise<void>>(),
    })),
  )
  let isStopped = false
  const begin = ({ name, actions, underWay }: (typeof loads)[number], turn: number) => {
    const action = actions[turn % actions.length]
    if (!action || underWay.size >= UNDER_WAY_MAX) return
    const count = counts.get(name)
    const run = action().then((statuses) => {
      for (const status of statuses) count?.set(status, (count.get(status) ?? 0) + 1)
      underWay.delete(run)
    })
    underWay.add(run)
  }
  const run = async () => {
    for (let turn = 0; !isStopped; turn += 1) {
      for (const load of loads) begin(load, turn)
      await delay(1_000 / perSecond)
    }
  }
  const running = run()
  const take = (name: ServiceName) => {
    const taken = new Map(counts.get(name))
    counts.get(name)?.clear()
    return taken
  }
  return {
    take: () => ({ auth: take('auth'), payments: take('payments'), inventory: take('inventory') }),
    stop: async () => {
      isStopped = true
      await running
      await Promise.all(loads.flatMap(({ underWay }) => [...underWay]))
    },
  }
}
