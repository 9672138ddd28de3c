import type { Meter } from '@opentelemetry/api'
import { addressKey } from '@trestle/common/server/address-key.ts'
import type { PaymentOutcome } from '../checkout/checkout-repository.ts'
import { createRefusal, type RateLimits, type TakenEvent, takeEvent } from './rate-limits.ts'

/**
 * Decides a live payment from an address, and counts it if it is refused. After many refusals the address must wait, which slows
 * down an attacker who tries stolen cards (reference: Rate limits).
 * @throws rateLimited if too many cards from the address were refused
 */
export type LimitRefusals = (ip: string, decide: () => Promise<PaymentOutcome>) => Promise<PaymentOutcome>

/** Creates the limit on refused cards (reference: Rate limits). A payment that succeeds gives its event back. */
export function createRefusalLimit({ refusals }: Pick<RateLimits, 'refusals'>, meter: Meter): LimitRefusals {
  const refuse = createRefusal(meter, 'refusals')
  const withSlots = createKeyedLimit(1)
  const underWay = new Map<string, Set<Promise<void>>>()
  /**
   * Counts a payment as refused before it is decided. If no refusal is left, it waits for a payment of the same address that is
   * under way, because that payment may give its event back.
   */
  const countRefusal = async (client: string): Promise<TakenEvent> => {
    for (;;) {
      const others = [...(underWay.get(client) ?? [])]
      const taken = await takeEvent(refusals, client)
      if (typeof taken !== 'number') return taken
      if (others.length === 0) refuse(taken)
      await Promise.race(others)
    }
  }
  return async (ip, decide) => {
    const client = addressKey(ip)
    const { taken, finish } = await withSlots(client, async () => {
      return { taken: await countRefusal(client), finish: rememberPayment(underWay, client) }
    })
    let isRefused = false
    try {
      const outcome = await decide()
      isRefused = outcome.verdict === 'refused'
      return outcome
    } finally {
      try {
        if (!isRefused) await taken.giveBack()
      } finally {
        finish()
      }
    }
  }
}

/** Records that a payment is under way. @returns a function to call when it ends */
function rememberPayment(underWay: Map<string, Set<Promise<void>>>, client: string): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  const payments = underWay.get(client) ?? new Set()
  underWay.set(client, payments.add(promise))
  return () => {
    payments.delete(promise)
    if (payments.size === 0) underWay.delete(client)
    resolve()
  }
}

/** Runs work when a slot of its key is free. */
type RunWithinLimit = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>

/** Creates a limit: at most `atOnce` pieces of work of one key run at the same time. Further work waits in order of arrival. */
export function createKeyedLimit(atOnce: number): RunWithinLimit {
  const lines = new Map<string, { running: number; readonly waiting: (() => void)[] }>()
  return async (key, work) => {
    const line = lines.get(key) ?? { running: 0, waiting: [] }
    lines.set(key, line)
    if (line.running < atOnce) line.running++
    else await new Promise<void>((resolve) => line.waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = line.waiting.shift()
      if (next) next()
      else if (--line.running === 0) lines.delete(key)
    }
  }
}
