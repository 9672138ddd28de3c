import { setTimeout as delay } from 'node:timers/promises'
import { execute, type Fault, type Repair, repeat } from './fault.ts'
import { addProduct, reserve } from './inventory-load.ts'
import { invite, openShop } from './payments-load.ts'
import type { Stage } from './stage.ts'

const INVITATION_TASK = 'invitation_mail'
/** More jobs than a process works on at once. */
const INVITATIONS = 20
/** Long enough to lock a reservation before it expires. */
const RESERVED_SECONDS = 2
const AGAIN_MS = 500
const STRANGE_TASK = 'of_another_version'

/** Invites people by mail while the mail server fails. */
async function inviteSome({ payments, mails }: Stage, count: number): Promise<void> {
  try {
    const shop = await openShop(payments.url)
    for (let invited = 0; invited < count; invited += 1) {
      const status = await invite(shop)
      if (status !== 201) throw new Error(`an invitation is answered ${status}`)
    }
  } catch (error) {
    // A fault that was not planted has no repair, and alerts of mail would not end.
    await mails.open()
    throw error
  }
}

/** Changes the waiting invitations in the queue again and again, because a retried job is stored as it was. */
function changeWaitingJobs(stage: Stage, changes: string): Repair {
  return repeat(async () => {
    await delay(AGAIN_MS)
    await execute(
      stage,
      `UPDATE payments_jobs.job SET ${changes} WHERE name = '${INVITATION_TASK}' AND state IN ('created', 'retry')`,
    )
  })
}

/** Faults of background work, and of the servers that it needs. */
export const workFaults: readonly Fault[] = [
  {
    alert: 'ReservationsOverdue',
    job: 'inventory',
    what: 'a transaction locks an expired reservation',
    plant: async (stage) => {
      const { url } = stage.inventory
      const id = await reserve(url, await addProduct(url), RESERVED_SECONDS)
      if (id === undefined) throw new Error('nothing was reserved')
      const client = await stage.connect()
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
    plant: async (stage) => {
      await execute(
        stage,
        `INSERT INTO auth.outbox (task, data, created_at) VALUES ('${STRANGE_TASK}', '{}', now() - interval '2 min')`,
      )
      return async () => void (await execute(stage, `DELETE FROM auth.outbox WHERE task = '${STRANGE_TASK}'`))
    },
  },
  {
    alert: 'DeadJobs',
    job: 'payments',
    what: 'no mail server listens, and the last attempt of an invitation has failed',
    plant: async (stage) => {
      await stage.mails.close()
      await inviteSome(stage, 1)
      const hurry = changeWaitingJobs(stage, 'start_after = now(), retry_limit = retry_count + 1')
      return async () => {
        await hurry()
        await stage.mails.open()
        await stage.payments.command('tasks', 'retry', INVITATION_TASK)
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
    plant: async (stage) => {
      await stage.mails.silence()
      await inviteSome(stage, INVITATIONS)
      const age = changeWaitingJobs(stage, `start_after = now() - interval '6 min'`)
      return async () => {
        await age().finally(stage.mails.open)
      }
    },
  },
]
