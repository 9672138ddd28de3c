import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { signIn } from '../../fixtures.ts'
import { execute, type Fault, type Repair, repeat } from './fault.ts'
import type { Fixture } from './fixture.ts'
import { addProduct, createProduct, invite, openShop, refresh, reserve, ship } from './load.ts'

const INVITATION_TASK = 'invitation_mail'
/** More jobs than a process runs concurrently. */
const INVITATIONS = 20
/** Long enough to lock a reservation before it expires. */
const RESERVED_SECONDS = 2
const AGAIN_MS = 500
const STRANGE_TASK = 'of_another_version'

/** Invites people by mail while the mail server fails. */
async function inviteSome({ payments, mails }: Fixture, count: number): Promise<void> {
  try {
    const shop = await openShop(payments.url)
    for (let invited = 0; invited < count; invited += 1) {
      const status = await invite(shop)
      if (status !== 201) throw new Error(`an invitation is answered ${status}`)
    }
  } catch (error) {
    // If planting fails, there is no repair, and alerts about mail would not end.
    await mails.open()
    throw error
  }
}

/** Changes waiting invitations in the queue repeatedly, because a retried job is stored without the change. */
function changeWaitingJobs(fixture: Fixture, changes: string): Repair {
  return repeat(async () => {
    await delay(AGAIN_MS)
    await execute(
      fixture,
      `UPDATE payments_jobs.job SET ${changes} WHERE name = '${INVITATION_TASK}' AND state IN ('created', 'retry')`,
    )
  })
}

export const workFaults: readonly Fault[] = [
  {
    alert: 'ReservationsOverdue',
    job: 'inventory',
    what: 'a transaction locks an expired reservation',
    plant: async (fixture) => {
      const { url } = fixture.inventory
      const id = await reserve(url, await addProduct(url), RESERVED_SECONDS)
      if (id === undefined) throw new Error('nothing was reserved')
      const client = await fixture.connect()
      await client.query('BEGIN')
      await client.query('SELECT FROM inventory.reservations WHERE id = $1 FOR UPDATE', [id])
      return async () => {
        await client.query('ROLLBACK')
        await client.end()
      }
    },
  },
  {
    alert: 'OutboxStuck',
    job: 'auth',
    what: 'a job of an earlier release is of a task that the queue does not know',
    plant: async (fixture) => {
      await execute(
        fixture,
        `INSERT INTO auth.outbox (task, data, created_at) VALUES ('${STRANGE_TASK}', '{}', now() - interval '2 min')`,
      )
      return async () => void (await execute(fixture, `DELETE FROM auth.outbox WHERE task = '${STRANGE_TASK}'`))
    },
  },
  {
    alert: 'DeadJobs',
    job: 'payments',
    what: 'no mail server listens, and the last attempt of an invitation has failed',
    plant: async (fixture) => {
      await fixture.mails.close()
      await inviteSome(fixture, 1)
      const hurry = changeWaitingJobs(fixture, 'start_after = now(), retry_limit = retry_count + 1')
      return async () => {
        await hurry()
        await fixture.mails.open()
        await fixture.payments.command('tasks', 'retry', INVITATION_TASK)
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
    alert: 'JobBacklog',
    job: 'payments',
    what: 'the mail server does not answer, and invitations have waited for six minutes',
    plant: async (fixture) => {
      await fixture.mails.silence()
      await inviteSome(fixture, INVITATIONS)
      const age = changeWaitingJobs(fixture, `start_after = now() - interval '6 min'`)
      return async () => {
        await age().finally(fixture.mails.open)
      }
    },
  },
]

/** Shorter than the lock timeout of statements, so that requests are slow but do not fail. */
const LOCK_MS = 1_500
const SHIPPERS = 12

async function lockAgainAndAgain(fixture: Fixture, table: string): Promise<Repair> {
  const client = await fixture.connect()
  const unlock = repeat(async () => {
    await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
    await delay(LOCK_MS)
    await client.query('COMMIT')
  })
  return async () => {
    await unlock().finally(() => client.end())
  }
}

/** Faults of processes and of the database. Faults with several effects come last. */
export const serviceFaults: readonly Fault[] = [
  {
    alert: 'StandbyBehind',
    job: 'payments',
    what: 'the standby receives the log of the primary, and does not replay it',
    plant: async ({ connect }) => {
      const client = await connect('standby')
      await client.query('SELECT pg_wal_replay_pause()')
      return async () => {
        // The end of the replay may end this statement too. The alert shows whether the fault remains.
        await client.query('SELECT pg_wal_replay_resume()').catch(() => {})
        await client.end()
      }
    },
  },
  {
    alert: 'ServerErrors',
    job: 'inventory',
    what: 'inventory loses a right on a table',
    plant: async (fixture) => {
      await execute(fixture, 'REVOKE SELECT ON inventory.users FROM inventory_service')
      return async () => void (await execute(fixture, 'GRANT SELECT ON inventory.users TO inventory_service'))
    },
  },
  {
    alert: 'SlowAnswers',
    job: 'inventory',
    what: 'a table of inventory is locked for a second and a half, again and again',
    plant: (fixture) => lockAgainAndAgain(fixture, 'inventory.locations'),
  },
  {
    alert: 'PoolExhausted',
    job: 'inventory',
    what: 'movements of locked stock hold the pool of four, and new products wait',
    plant: async (fixture) => {
      const { url } = fixture.inventory
      const productId = await addProduct(url)
      const unlock = await lockAgainAndAgain(fixture, 'inventory.stock_levels')
      const shippers = Array.from({ length: SHIPPERS }, (_, i) => repeat(() => ship(url, productId, `192.0.2.${i}`)))
      // Stock operations use at most all connections of the pool, so only other writes wait for a connection.
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

/** Disables triggers and foreign keys, as a superuser can. */
const DISARMED = 'SET session_replication_role = replica'
const ENTRY =
  '(merchant_id, journal_id, seq) = (SELECT merchant_id, journal_id, seq FROM payments.entries ORDER BY 1, 2, 3 LIMIT 1)'
const THEFTS = 8

/** The command fails if it finds a problem, which is expected here. */
async function verifyLedger({ payments }: Fixture): Promise<void> {
  await payments.command('ledger', 'verify').catch(() => {})
}

/** Faults of the ledger, of acquirers and of sessions. */
export const moneyAndSessionFaults: readonly Fault[] = [
  {
    alert: 'RefreshTokenReuse',
    job: 'auth',
    what: 'eight refresh tokens of two rotations ago are used again',
    plant: async (fixture) => {
      const { url } = fixture.auth
      const users = await execute(fixture, 'SELECT email FROM auth.users ORDER BY created_at LIMIT 1')
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
    alert: 'LedgerImbalance',
    job: 'payments',
    what: 'an entry of the ledger is changed by hand, and the ledger is verified',
    plant: async (fixture) => {
      await execute(fixture, DISARMED, `UPDATE payments.entries SET amount = amount + 1 WHERE ${ENTRY}`)
      await verifyLedger(fixture)
      return async () => {
        await execute(fixture, DISARMED, `UPDATE payments.entries SET amount = amount - 1 WHERE ${ENTRY}`)
        await fixture.payments.command('ledger', 'verify')
      }
    },
  },
  {
    alert: 'LedgerUnverified',
    job: 'payments',
    what: 'the last verification of the ledger is deleted',
    plant: async (fixture) => {
      await execute(fixture, DISARMED, `DELETE FROM payments.audit WHERE action = 'ledger.verified'`)
      return () => fixture.payments.command('ledger', 'verify')
    },
  },
  {
    alert: 'OutcomeUnknown',
    job: 'payments',
    what: 'an attempt has no outcome',
    plant: async (fixture) => {
      const { id } = await insertRow(fixture, 'attempts (kind, request, state', `'charge', '{}', 'unknown'`)
      return () => fixture.payments.command('attempts', 'resolve', id, 'declined')
    },
  },
  {
    alert: 'AcquirerExceptions',
    job: 'payments',
    what: 'an acquirer refuses an operation',
    plant: async (fixture) => {
      const { merchant, id } = await insertRow(fixture, 'acquirer_exceptions (payload', `'{"refused":"capture"}'`)
      return () => fixture.payments.command('exceptions', 'resolve', merchant, id)
    },
  },
]

/** Adds a row of any merchant. The row's id ends with the last digits of the merchant's id. */
async function insertRow(fixture: Fixture, columns: string, values: string): Promise<{ merchant: string; id: string }> {
  const result = await execute(
    fixture,
    `INSERT INTO payments.${columns}, merchant_id, id, created)
     SELECT ${values}, id, substr(md5(id), 1, 16) || substr(id, 17), now() FROM payments.merchants LIMIT 1
     RETURNING merchant_id AS merchant, id`,
  )
  return z.object({ merchant: z.string(), id: z.string() }).parse(result?.rows[0])
}
