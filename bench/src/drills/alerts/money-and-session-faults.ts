import { z } from 'zod'
import { refresh, signIn } from './auth-load.ts'
import { execute, type Fault } from './fault.ts'
import type { Stage } from './stage.ts'

/** Switches triggers and foreign keys off, as a superuser can. */
const DISARMED = 'SET session_replication_role = replica'
const ENTRY =
  '(merchant_id, journal_id, seq) = (SELECT merchant_id, journal_id, seq FROM payments.entries ORDER BY 1, 2, 3 LIMIT 1)'
const THEFTS = 8

/** The command exits with an error when it finds something, as it must here. */
async function verifyLedger({ payments }: Stage): Promise<void> {
  await payments.command('ledger', 'verify').catch(() => {})
}

/** Faults of the ledger, of acquirers and of sessions. */
export const moneyAndSessionFaults: readonly Fault[] = [
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
    alert: 'LedgerImbalance',
    job: 'payments',
    what: 'an entry of the ledger is changed by hand, and the ledger is verified',
    plant: async (stage) => {
      await execute(stage, DISARMED, `UPDATE payments.entries SET amount = amount + 1 WHERE ${ENTRY}`)
      await verifyLedger(stage)
      return async () => {
        await execute(stage, DISARMED, `UPDATE payments.entries SET amount = amount - 1 WHERE ${ENTRY}`)
        await stage.payments.command('ledger', 'verify')
      }
    },
  },
  {
    alert: 'LedgerUnverified',
    job: 'payments',
    what: 'the last verification of the ledger is deleted',
    plant: async (stage) => {
      await execute(stage, DISARMED, `DELETE FROM payments.audit WHERE action = 'ledger.verified'`)
      return () => stage.payments.command('ledger', 'verify')
    },
  },
  {
    alert: 'OutcomeUnknown',
    job: 'payments',
    what: 'an attempt has no outcome',
    plant: async (stage) => {
      const { id } = await insertRow(stage, 'attempts (kind, request, state', `'charge', '{}', 'unknown'`)
      return () => stage.payments.command('attempts', 'resolve', id, 'declined')
    },
  },
  {
    alert: 'AcquirerExceptions',
    job: 'payments',
    what: 'an acquirer refuses an operation',
    plant: async (stage) => {
      const { merchant, id } = await insertRow(stage, 'acquirer_exceptions (payload', `'{"refused":"capture"}'`)
      return () => stage.payments.command('exceptions', 'resolve', merchant, id)
    },
  },
]

/** Adds a row below some merchant. The id of the row ends in the last digits of the merchant's id. */
async function insertRow(stage: Stage, columns: string, values: string): Promise<{ merchant: string; id: string }> {
  const result = await execute(
    stage,
    `INSERT INTO payments.${columns}, merchant_id, id, created)
     SELECT ${values}, id, substr(md5(id), 1, 16) || substr(id, 17), now() FROM payments.merchants LIMIT 1
     RETURNING merchant_id AS merchant, id`,
  )
  return z.object({ merchant: z.string(), id: z.string() }).parse(result?.rows[0])
}
