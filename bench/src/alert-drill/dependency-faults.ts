import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { refresh, signIn } from './auth-load.ts'
import { execute, type Fault, type Repair, repeat } from './fault.ts'
import { addProduct, reserve, ship } from './inventory-load.ts'
import type { Stage } from './stage.ts'

/** Below what makes a statement give up its wait for a lock, so that requests are slow and do not fail. */
const LOCK_MS = 1_500
const SHIPPERS = 12
const THEFTS = 8

/** A table that nobody can use, but for a moment every now and then. */
async function lockAgainAndAgain(stage: Stage, table: string): Promise<Repair> {
  const client = await stage.connect()
  const unlock = repeat(async () => {
    await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
    await delay(LOCK_MS)
    await client.query('COMMIT')
  })
  return async () => {
    await unlock()
    await client.end()
  }
}

/** Faults of processes, of the database and of the mail server. */
export const dependencyFaults: readonly Fault[] = [
  {
    alert: 'RefreshTokenReuse',
    job: 'auth',
    what: 'eight refresh tokens of two rotations ago are used again',
    plant: async (stage) => {
      const { url } = stage.auth
      const users = await execute(stage, 'SELECT email FROM auth.users ORDER BY created_at LIMIT 1')
      const { email } = z.object({ email: z.string() }).parse(users?.rows[0])
      for (let theft = 0; theft < THEFTS; theft += 1) {
        const session = await signIn(url, email)
        const child = await refresh(url, session.refresh_token)
        await refresh(url, child?.refresh_token ?? '')
        await refresh(url, session.refresh_token)
      }
      return async () => {}
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
      const client = await connect('postgres')
      await client.query(`ALTER DATABASE ${databaseName} ALLOW_CONNECTIONS false`)
      await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [databaseName])
      return async () => {
        await client.query(`ALTER DATABASE ${databaseName} ALLOW_CONNECTIONS true`)
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
    what: 'somebody locks a table of inventory for a second and a half, again and again',
    plant: (stage) => lockAgainAndAgain(stage, 'inventory.locations'),
  },
  {
    alert: 'PoolExhausted',
    job: 'inventory',
    what: 'twelve clients move stock that somebody has locked, over a pool of four',
    plant: async (stage) => {
      const { url } = stage.inventory
      const productId = await addProduct(url)
      const unlock = await lockAgainAndAgain(stage, 'inventory.stock_levels')
      const shippers = Array.from({ length: SHIPPERS }, () => repeat(() => ship(url, productId)))
      return async () => {
        await unlock()
        await Promise.all(shippers.map((stop) => stop()))
      }
    },
  },
  {
    alert: 'JobBacklog',
    job: 'auth',
    what: 'the mail server says nothing, and mails have waited for six minutes',
    plant: async (stage) => {
      await stage.mails.silence()
      const age = repeat(async () => {
        await delay(500)
        await execute(
          stage,
          `UPDATE auth_jobs.job SET start_after = now() - interval '6 min' WHERE name = 'mail' AND state < 'active'`,
        )
      })
      return async () => {
        await age()
        await stage.mails.open()
      }
    },
  },
  {
    alert: 'MailRefused',
    job: 'auth',
    what: 'no mail server listens',
    plant: async ({ mails }) => {
      await mails.close()
      return mails.open
    },
  },
  {
    alert: 'ReservationsOverdue',
    job: 'inventory',
    what: 'a transaction holds a reservation that is over',
    plant: async (stage) => {
      const { url } = stage.inventory
      const id = await reserve(url, await addProduct(url), 2)
      const client = await stage.connect()
      await client.query('BEGIN')
      await client.query('SELECT FROM inventory.reservations WHERE id = $1 FOR UPDATE', [id])
      return async () => {
        await client.query('ROLLBACK')
        await client.end()
      }
    },
  },
]
