import type { Db } from '../database.ts'
import type { MerchantEvent } from '../webhooks/event.ts'
import { listEventsAfter, listTestHeads, type MerchantHead } from '../webhooks/event-repository.ts'

type FollowDeps = { readonly db: Db; readonly wait: (ms: number, signal?: AbortSignal) => Promise<void> }

const POLL_MS = 500
const BATCH_EVENTS = 100
/** Each poll reads one row per merchant, so more merchants would overload the database. */
const MERCHANTS_MAX = 10_000

/**
 * Yields the new events of test merchants, in order for each merchant. The generator changes and queues nothing, so any number of
 * programs may follow at the same time. Each event gets its id under the lock of its merchant. So a reader that sees the newest
 * id of a merchant also sees all earlier events.
 * @throws Error if there are more than 10 000 test merchants
 */
export async function* followEvents(
  deps: FollowDeps,
  {
    merchantId,
    signal,
  }: {
    /** `undefined` stands for all test merchants, including new ones. */
    readonly merchantId: string | undefined
    readonly signal: AbortSignal
  },
): AsyncGenerator<MerchantEvent> {
  const seen = new Map((await readHeads(deps, merchantId)).map((head) => [head.merchantId, head.lastId]))
  while (!signal.aborted) {
    for (const { merchantId: id, lastId } of await readHeads(deps, merchantId)) {
      while ((seen.get(id) ?? '') < lastId) {
        const after = seen.get(id) ?? ''
        const events = await listEventsAfter(deps.db, { merchantId: id, after, limit: BATCH_EVENTS })
        yield* events
        const last = events.at(-1)?.id ?? ''
        seen.set(id, events.length === BATCH_EVENTS || last > lastId ? last : lastId)
      }
    }
    await deps.wait(POLL_MS, signal).catch(() => {})
  }
}

async function readHeads({ db }: FollowDeps, merchantId: string | undefined): Promise<readonly MerchantHead[]> {
  const heads = await listTestHeads(db, { merchantId, limit: MERCHANTS_MAX + 1 })
  if (heads.length <= MERCHANTS_MAX) return heads
  throw new Error(`there are more than ${MERCHANTS_MAX} test merchants: choose one with --merchant`)
}
