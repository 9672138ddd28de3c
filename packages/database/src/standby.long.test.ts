import { createEmptyDatabase, prepared, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase } from './connect.ts'
import type { Rows } from './driver/statement-query.ts'
import { createNames } from './names.ts'
import type { DatabaseConfig } from './open-server.ts'
import { prepare } from './prepare.ts'
import { type StandbyConfig, trackReplicationLag, watchStandby } from './standby.ts'

interface Tables {
  owner: { name: string }
}

const NAMES = createNames('public')
const readOwner = prepare('read_owner', () => sql<{ name: string }>`SELECT name FROM ${sql.table('public.owner')}`)
const PRIMARY = { name: 'primary' }
const STANDBY = { name: 'standby' }

/** Two databases that each contain one row with the name of the server. So an answer shows which server gave it. */
let primary: TemporaryDatabase
let standby: TemporaryDatabase

async function withOwner(name: string): Promise<TemporaryDatabase> {
  const temporary = await createEmptyDatabase()
  const database = openDatabase<Tables>(configOf(temporary.url))
  await sql`CREATE TABLE public.owner AS SELECT ${sql.lit(name)} AS name`.execute(database.db)
  await database.close()
  return temporary
}

beforeAll(async () => {
  primary = await withOwner('primary')
  standby = await withOwner('standby')
})
afterAll(async () => {
  await primary.drop()
  await standby.drop()
})

function configOf(url: string, standbyConfig?: Partial<StandbyConfig>): DatabaseConfig {
  return {
    url,
    names: NAMES,
    applicationName: 'test',
    poolSize: 2,
    statementTimeoutMs: 5_000,
    lockTimeoutMs: 1_000,
    prepared,
    onConnectionError: () => {},
    ...(standbyConfig && { standby: { url: '', lagMsMax: 5_000, onChange: () => {}, ...standbyConfig } }),
  }
}

function open(config: DatabaseConfig) {
  const database = openDatabase<Tables>(config)
  onTestFinished(() => database.close())
  return {
    ...database,
    byPool: () => database.pools.lagging.one(readOwner, {}),
    byQuery: () => database.readLagging((db) => db.selectFrom('owner').selectAll().executeTakeFirstOrThrow()),
  }
}

describe('reads that may lag behind', () => {
  it('run on the primary without a standby', async () => {
    const { pools, byQuery, standby: state } = open(configOf(primary.url))
    expect(pools.lagging).toBe(pools.read)
    expect(await byQuery()).toEqual(PRIMARY)
    expect(state()).toBeUndefined()
  })

  it('run on the standby as soon as it keeps up, and no other reads do', async () => {
    const changes: boolean[] = []
    const onChange = (isAsked: boolean) => changes.push(isAsked)
    const { pools, byPool, byQuery, standby: state } = open(configOf(primary.url, { url: standby.url, onChange }))
    await expect.poll(byPool).toEqual(STANDBY)
    expect(await byQuery()).toEqual(STANDBY)
    expect(await pools.read.one(readOwner, {})).toEqual(PRIMARY)
    expect(await pools.write.one(readOwner, {})).toEqual(PRIMARY)
    expect(changes).toEqual([true])
    expect(state()?.lagMs).toBeLessThan(5_000)
    expect(state()?.connections).toEqual({ idle: 1, used: 0, waiting: 0 })
  })

  it('run on the primary at once while the standby is away', async () => {
    const changes: boolean[] = []
    const url = 'postgres://nobody@127.0.0.1:1/none'
    const onChange = (isAsked: boolean) => changes.push(isAsked)
    const { byPool, byQuery, standby: state } = open(configOf(primary.url, { url, onChange }))
    await expect.poll(() => changes).toEqual([false])
    expect(await byPool()).toEqual(PRIMARY)
    expect(await byQuery()).toEqual(PRIMARY)
    expect(state()).toEqual({
      lagMs: undefined,
      reads: { standby: 0, primary: 2 },
      connections: { idle: 0, used: 0, waiting: 0 },
    })
  })

  it('move to the primary within a request when the standby is lost', async () => {
    const lost = await withOwner('standby')
    const { byPool, byQuery } = open(configOf(primary.url, { url: lost.url }))
    await expect.poll(byPool).toEqual(STANDBY)
    await expect.poll(byQuery).toEqual(STANDBY)
    await lost.drop()
    expect(await byPool()).toEqual(PRIMARY)
    expect(await byQuery()).toEqual(PRIMARY)
  })

  it('run again on the primary when the standby lacks a new column', async () => {
    const { byPool, readLagging } = open(configOf(primary.url, { url: standby.url }))
    await expect.poll(byPool).toEqual(STANDBY)
    const admin = openDatabase<Tables>(configOf(primary.url))
    await sql`CREATE TABLE public.added AS SELECT 1 AS one`.execute(admin.db)
    await admin.close()
    expect((await readLagging((db) => sql`SELECT one FROM public.added`.execute(db))).rows).toEqual([{ one: 1 }])
  })
})

describe('watchStandby', () => {
  it('does not use a server of another cluster, whatever its position', async () => {
    const { promise: first, resolve: onChange } = Promise.withResolvers<boolean>()
    const place = (system: bigint) => async (): Promise<Rows> => [{ position: 100n, system }]
    const choice = watchStandby({ url: '', lagMsMax: 2_000, onChange }, place(1n), place(2n))
    onTestFinished(choice.close)
    expect(await first).toBe(false)
    expect(choice.state().lagMs).toBeUndefined()
  })

  it('does not use a standby that is too far behind', async () => {
    const changes: boolean[] = []
    const config = { url: '', lagMsMax: 2_000, onChange: (isAsked: boolean) => changes.push(isAsked) }
    let position = 0n
    const ahead = async (): Promise<Rows> => {
      position += 100n
      return [{ position, system: 1n }]
    }
    const choice = watchStandby(config, ahead, async () => [{ position: 100n, system: 1n }])
    onTestFinished(choice.close)
    const ask = () =>
      choice.choose(
        async () => 'standby',
        async () => 'primary',
      )
    await expect.poll(() => changes).toEqual([true])
    expect(await ask()).toBe('standby')
    await expect.poll(() => changes).toEqual([true, false])
    expect(await ask()).toBe('primary')
    expect(choice.state().reads).toEqual({ standby: 1, primary: 1 })
  })
})

describe('trackReplicationLag', () => {
  it('is unknown until the standby has replayed a known position of the primary', () => {
    const lag = trackReplicationLag()
    expect(lag.lagMs(1_000)).toBeUndefined()
    lag.rememberStandby(50n)
    expect(lag.lagMs(1_000)).toBeUndefined()
    lag.rememberPrimary(100n, 1_000)
    lag.rememberStandby(99n)
    expect(lag.lagMs(1_100)).toBeUndefined()
  })

  it('counts from the latest known position that is replayed', () => {
    const lag = trackReplicationLag()
    lag.rememberPrimary(100n, 1_000)
    lag.rememberPrimary(200n, 2_000)
    lag.rememberPrimary(300n, 3_000)
    lag.rememberStandby(299n)
    expect(lag.lagMs(3_010)).toBe(1_010)
    lag.rememberStandby(300n)
    expect(lag.lagMs(3_010)).toBe(10)
  })

  it('is 0 while the primary writes nothing', () => {
    const lag = trackReplicationLag()
    for (let second = 1; second <= 1_000; second += 1) lag.rememberPrimary(100n, second * 1_000)
    lag.rememberStandby(100n)
    expect(lag.lagMs(1_000_000)).toBe(0)
  })

  it('grows while no new position is known, and while the standby replays nothing', () => {
    const lag = trackReplicationLag()
    lag.rememberPrimary(100n, 1_000)
    lag.rememberStandby(100n)
    expect(lag.lagMs(60_000)).toBe(59_000)
    for (let second = 2; second <= 2_000; second += 1) lag.rememberPrimary(BigInt(100 * second), second * 1_000)
    lag.rememberStandby(100n)
    expect(lag.lagMs(2_000_000)).toBe(1_999_000)
  })
})
