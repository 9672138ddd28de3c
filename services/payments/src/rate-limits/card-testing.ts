import type { Meter } from '@opentelemetry/api'
import { addressKey } from '@trestle/common/server/address-key.ts'
import type { PaymentOutcome } from '../checkout/checkout-repository.ts'
import { createRefusal, type RateLimits, type TakenEvent, takeEvent } from './rate-limits.ts'

/**
 * Decides a live payment from an address, and counts a refusal. An attacker who tries stolen cards must wait after
 * many refusals (reference: Rate limits).
 * @throws rateLimited when too many cards from the address were refused
 */
export type LimitRefusals = (ip: string, decide: () => Promise<PaymentOutcome>) => Promise<PaymentOutcome>

/** Creates the limit of refused cards (reference: Rate limits). A payment that succeeds gives its event back. */
export function createRefusalLimit({ refusals }: Pick<RateLimits, 'refusals'>, meter: Meter): LimitRefusals {
  const refuse = createRefusal(meter, 'refusals')
  const withSlots = createKeyedLimit(1)
  const underWay = new Map<string, Set<Promise<void>>>()
  /**
   * Counts a payment as refused before it is decided. When no refusal is left, waits while payments of the address are
   * under way: they may give theirs back.
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

/** Remembers that a payment is under way. @returns a function that forgets it at its end */
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

/** Runs work when it is the turn of its key. */
type RunWithinLimit = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>

/** Creates a limit: at most `atOnce` pieces of work of one key run at a time, and further pieces wait in line. */
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
