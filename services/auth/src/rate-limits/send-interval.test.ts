import { afterAll, describe, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/auth-database.ts'
import { requireInterval, reserveInterval, restoreIntervals, touchInterval } from './send-interval.ts'

const database = await openTestDatabase()
afterAll(() => database.drop())

const config = {
  jwt: { audience: 'authenticated' },
  mail: { intervalMs: { confirmation: 60_000, other: 60_000 } },
  mfa: { phone: { intervalMs: 60_000 } },
  sms: { intervalMs: 60_000 },
}
const serverKeys = { hmac: Buffer.alloc(32, 1) }
const start = new Date('2026-01-02T03:04:05.678Z')
const depsAt = (afterMs: number) => ({ config, serverKeys, now: () => new Date(start.getTime() + afterMs) })
const touch = (
  identifier: string,
  afterMs: number,
  kind: 'confirmation' | 'recovery' = 'confirmation',
  audience?: string,
) => touchInterval(database.db, depsAt(afterMs), { kind, identifier, audience })

describe('touchInterval', () => {
  it('permits one message per interval and names the time to wait', async () => {
    expect(await touch('a@b.c', 0)).toBeUndefined()
    expect(await touch('a@b.c', 1_000)).toBe(59_000)
    expect(await touch('a@b.c', 59_999)).toBe(1)
    expect(await touch('a@b.c', 60_000)).toBeUndefined()
    expect(await touch('a@b.c', 60_001)).toBe(59_999)
  })

  it('keeps addresses, kinds and audiences apart', async () => {
    expect(await touch('d@b.c', 0)).toBeUndefined()
    expect(await touch('d@b.c', 0, 'recovery')).toBeUndefined()
    expect(await touch('e@b.c', 0)).toBeUndefined()
    expect(await touch('d@b.c', 0, 'recovery', 'mobile')).toBeUndefined()
    expect(await touch('d@b.c', 1, 'recovery', 'mobile')).toBe(59_999)
    expect(await touch('d@b.c', 1, 'recovery', 'authenticated')).toBe(59_999)
  })

  it('permits a message whose interval ends while it is asked for', async () => {
    await touch('passing@b.c', 0)
    const moments = [59_999, 60_000]
    const passing = { ...depsAt(0), now: () => new Date(start.getTime() + (moments.shift() ?? 60_001)) }
    const key = { kind: 'confirmation', identifier: 'passing@b.c', audience: undefined } as const
    const used = await database.db.transaction().execute((trx) => requireInterval(trx, passing, key))
    expect(used.before).toBe('2026-01-02T03:04:05.678000+00:00')
    expect(await touch('passing@b.c', 60_002)).toBe(59_999)
  })

  it('permits one of many parallel messages', async () => {
    const waits = await Promise.all(Array.from({ length: 10 }, () => touch('f@b.c', 0)))
    expect(waits.filter((wait) => wait === undefined)).toHaveLength(1)
  })

  it('stores no address in the clear', async () => {
    await touch('secret@b.c', 0)
    const rows = await database.db.selectFrom('send_throttle').selectAll().execute()
    expect(rows.map(({ key_hash }) => key_hash.length)).toEqual(rows.map(() => 32))
    expect(rows.map(({ key_hash }) => key_hash.toString('latin1')).join()).not.toContain('secret')
  })
})

describe('restoreIntervals', () => {
  const reserve = (identifier: string, afterMs: number) =>
    reserveInterval(database.db, depsAt(afterMs), { kind: 'confirmation', identifier, audience: undefined })

  it('makes an interval what it was before it was reserved', async () => {
    const first = await reserve('g@b.c', 0)
    expect(await touch('g@b.c', 1)).toBe(59_999)
    await restoreIntervals(database.db, [first])
    expect(await touch('g@b.c', 1)).toBeUndefined()
    const later = await reserve('g@b.c', 60_001)
    await restoreIntervals(database.db, [later])
    expect(await touch('g@b.c', 60_000)).toBe(1)
  })

  it('leaves an interval that a later message has used up', async () => {
    const reserved = await reserve('h@b.c', 0)
    expect(await touch('h@b.c', 60_000)).toBeUndefined()
    await restoreIntervals(database.db, [reserved])
    expect(await touch('h@b.c', 60_001)).toBe(59_999)
  })

  it('429: reserves an interval once', async () => {
    const answers = await Promise.allSettled(Array.from({ length: 10 }, () => reserve('i@b.c', 0)))
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })
})
