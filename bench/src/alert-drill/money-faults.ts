import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { execute, type Fault, repeat } from './fault.ts'
import { invite, openShop } from './payments-load.ts'
import type { Stage } from './stage.ts'

/** As a superuser can, who passes by triggers and foreign keys. */
const DISARMED = 'SET session_replication_role = replica'
const ENTRY =
  '(merchant_id, journal_id, seq) = (SELECT merchant_id, journal_id, seq FROM payments.entries ORDER BY 1, 2, 3 LIMIT 1)'
const INVITATION_TASK = 'invitation_mail'

/** It fails when it finds something, which is what is wanted. */
async function verifyLedger({ payments }: Stage): Promise<void> {
  await payments.command('ledger', 'verify').catch(() => {})
}

/** Faults of payments that an operator has to deal with. */
export const moneyFaults: readonly Fault[] = [
  {
    alert: 'DeadJobs',
    job: 'payments',
    what: 'no mail server listens, and an invitation has had its last attempt',
    plant: async (stage) => {
      await stage.mails.close()
      await invite(await openShop(stage.payments.url))
      const hurry = repeat(async () => {
        await delay(500)
        await execute(
          stage,
          `UPDATE payments_jobs.job SET start_after = now(), retry_limit = retry_count + 1
           WHERE name = '${INVITATION_TASK}' AND state = 'retry'`,
        )
      })
      return async () => {
        await hurry()
        await stage.mails.open()
        await stage.payments.command('tasks', 'retry', INVITATION_TASK)
      }
    },
  },
  {
    alert: 'LedgerImbalance',
    job: 'payments',
    what: 'somebody alters an entry of the ledger by hand, and the ledger is verified',
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
    what: 'no verification is written down',
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
      const { id } = await insertRow(stage, 'attempts (kind, request, status', `'charge', '{}', 'unknown'`)
      return () => stage.payments.command('attempts', 'resolve', id, 'declined')
    },
  },
  {
    alert: 'AcquirerExceptions',
    job: 'payments',
    what: 'an acquirer has refused something',
    plant: async (stage) => {
      const { merchant, id } = await insertRow(stage, 'acquirer_exceptions (payload', `'{"refused":"capture"}'`)
      return () => stage.payments.command('exceptions', 'resolve', merchant, id)
    },
  },
]

/** Adds a row below some merchant, whose last digits end the row's id. */
async function insertRow(stage: Stage, columns: string, values: string): Promise<{ merchant: string; id: string }> {
  const result = await execute(
    stage,
    `INSERT INTO payments.${columns}, merchant_id, id, created)
     SELECT ${values}, id, substr(md5(id), 1, 16) || substr(id, 17), now() FROM payments.merchants LIMIT 1
     RETURNING merchant_id AS merchant, id`,
  )
  return z.object({ merchant: z.string(), id: z.string() }).parse(result?.rows[0])
}
