import { setTimeout as delay } from 'node:timers/promises'
import { execute, type Fault, type Repair, repeat } from './fault.ts'
import { addProduct, createProduct, ship } from './inventory-load.ts'
import type { Stage } from './stage.ts'

/** Shorter than the lock timeout of statements, so that requests are slow and do not fail. */
const LOCK_MS = 1_500
const SHIPPERS = 12

/** Locks a table again and again, with short breaks. */
async function lockAgainAndAgain(stage: Stage, table: string): Promise<Repair> {
  const client = await stage.connect()
  const unlock = repeat(async () => {
    await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
    await delay(LOCK_MS)
    await client.query('COMMIT')
  })
  return async () => {
    await unlock().finally(() => client.end())
  }
}

/** Faults of processes and of the database. Faults that harm several things come last. */
export const serviceFaults: readonly Fault[] = [
  {
    alert: 'StandbyBehind',
    job: 'payments',
    what: 'the standby receives the log of the primary, and does not replay it',
    plant: async ({ connect }) => {
      const client = await connect('standby')
      await client.query('SELECT pg_wal_replay_pause()')
      return async () => {
        // The replay may end this statement too. The alert shows whether the fault lasts.
        await client.query('SELECT pg_wal_replay_resume()').catch(() => {})
        await client.end()
      }
    },
  },
  {
    alert: 'ServerErrors',
    job: 'inventory',
    what: 'inventory loses a right on a table',
    plant: async (stage) => {
      await execute(stage, 'REVOKE SELECT ON inventory.users FROM inventory_service')
      return async () => void (await execute(stage, 'GRANT SELECT ON inventory.users TO inventory_service'))
    },
  },
  {
    alert: 'SlowAnswers',
    job: 'inventory',
    what: 'a table of inventory is locked for a second and a half, again and again',
    plant: (stage) => lockAgainAndAgain(stage, 'inventory.locations'),
  },
  {
    alert: 'PoolExhausted',
    job: 'inventory',
    what: 'movements of locked stock hold the pool of four, and new products wait',
    plant: async (stage) => {
      const { url } = stage.inventory
      const productId = await addProduct(url)
      const unlock = await lockAgainAndAgain(stage, 'inventory.stock_levels')
      const shippers = Array.from({ length: SHIPPERS }, (_, i) => repeat(() => ship(url, productId, `192.0.2.${i}`)))
      // Stock takes turns for as many connections as the pool has, so only other writes wait for the pool.
      const creator = repeat(() => createProduct(url))
      return async () => {
        await unlock()
        for (const stop of [...shippers, creator]) await stop()
      }
    },
  },
  {
    alert: 'ServiceDown',
    job: 'auth',
    what: 'auth is killed',
    plant: async ({ auth }) => {
      await auth.kill()
      return auth.start
    },
  },
  {
    alert: 'ServiceNotReady',
    job: 'payments',
    what: 'the database refuses connections',
    plant: async ({ connect, databaseName }) => {
      const client = await connect('server')
      await client.query(`ALTER DATABASE ${databaseName} ALLOW_CONNECTIONS false`)
      await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [databaseName])
      return async () => {
        await client.query(`ALTER DATABASE ${databaseName} ALLOW_CONNECTIONS true`)
        await client.end()
      }
    },
  },
]
