import type { Handler } from '@trestle/jobs/attempt.ts'
import { DeadLetterJob } from '@trestle/jobs/task.ts'
import { type MailSink, startMailSink } from '@trestle/testing/mail-sink.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from '../../test/payments-app.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { RateLimit } from '../rate-limits/rate-limits.ts'
import { startInvitationMails } from './send-invitation.ts'

const refused = Promise.withResolvers<void>()
let sink: MailSink
let payments: TestPayments
beforeAll(async () => {
  sink = await startMailSink()
  payments = await startPayments({
    smtp: sink,
    rateLimits: { mailsPerHour: 2 },
    onLog: ({ msg }) => {
      if (msg === 'an address has had too many invitations: a mail was not sent') refused.resolve()
    },
  })
})
afterAll(async () => {
  await payments.close()
  await sink.close()
})

/** Invites the address from a new merchant of a new app. */
async function invite(email: string): Promise<number> {
  const stranger = await createTestApp(payments)
  const { id } = await createTestMerchant(payments, stranger)
  const request = { method: 'POST', url: `/merchants/${id}/users`, headers: stranger.headers } as const
  return (await payments.app.inject({ ...request, payload: { email } })).statusCode
}

it('limits the invitations to an address in an hour, whoever invites, and the answers do not reveal it', async () => {
  const spellings = ['eve@example.com', 'Eve@EXAMPLE.com', 'eve@\uff45xample.com']
  for (const email of spellings) expect(await invite(email)).toBe(201)
  await refused.promise
  const ofEve = ({ to }: MailSink['mails'][number]) => to?.[0]?.address?.toLowerCase() === 'eve@example.com'
  for (const _ of [1, 2]) await sink.take(ofEve)
  expect(await invite('adam@example.com')).toBe(201)
  await sink.take(({ to }) => to?.[0]?.address === 'adam@example.com')
  expect(sink.mails.filter(ofEve)).toHaveLength(2)
})

it('sends an invitation to an address that differs from another by a letter beyond A to Z', async () => {
  for (const email of ['\u212aim@example.com', '\u212aim@Example.com']) expect(await invite(email)).toBe(201)
  const ofKelvin = ({ to }: MailSink['mails'][number]) => to?.[0]?.address?.startsWith('\u212aim@') === true
  for (const _ of [1, 2]) await sink.take(ofKelvin)
  expect(await invite('kim@example.com')).toBe(201)
  expect((await sink.take(({ to }) => to?.[0]?.address === 'kim@example.com')).subject).toContain('merchant')
})

describe('a mail beyond the limit of its address', () => {
  /** Prepares the job of a sent invitation, with a rate limit and a mail server of this test. */
  async function prepareJob(email = 'grace@example.com') {
    expect(await invite(email)).toBe(201)
    const { text = '' } = await sink.take(({ to }) => to?.[0]?.address === email)
    const token = /invitations\/([\w-]+)/.exec(text)?.[1] ?? ''
    const counted: string[] = []
    const state = { isLimited: true, isDown: false, isUnknown: false }
    const mails: RateLimit = {
      wait: async () => (state.isLimited ? 60 : undefined),
      consume: async () => void counted.push('taken'),
      giveBack: async () => void counted.push('given back'),
    }
    const mailer: Mailer = {
      send: async ({ to }) => {
        if (state.isDown) throw new Error('down')
        if (state.isUnknown) throw Object.assign(new Error('no such user'), { command: 'RCPT TO', responseCode: 550 })
        counted.push(`sent to ${to}`)
      },
      check: async () => {},
      close: () => {},
    }
    const payload = JSON.stringify({ token })
    const runs: ((attempt: number) => ReturnType<Handler<object>>)[] = []
    const work = async <Payload extends object>(_task: object, handler: Handler<Payload>) =>
      void runs.push((attempt) => handler(JSON.parse(payload), { id: 'x', attempt, addNote: () => {} }))
    await startInvitationMails(
      { ...payments.deps, rateLimits: { ...payments.deps.rateLimits, mails }, jobs: { work } },
      mailer,
    )
    const run = (attempt: number) => runs[0]?.(attempt)
    return { counted, state, run }
  }

  it('waits for its turn while its job is retried', async () => {
    const { counted, state, run } = await prepareJob()
    await expect(run(1)).rejects.toThrow('the address has had too many invitations')
    await expect(run(60)).rejects.toThrow('the address has had too many invitations')
    expect(await run(61)).toBe('dropped')
    expect(counted).toEqual([])
    state.isLimited = false
    expect(await run(2)).toBe('done')
    expect(counted).toEqual(['taken', 'sent to grace@example.com'])
  })

  it('is given up at once when the mail server refuses its recipient for good', async () => {
    const { counted, state, run } = await prepareJob('gina@example.com')
    Object.assign(state, { isLimited: false, isUnknown: true })
    await expect(run(1)).rejects.toThrow(new DeadLetterJob('the mail server refuses the recipient'))
    expect(counted).toEqual(['taken', 'given back'])
  })

  it('counts only mails that the mail server has accepted', async () => {
    const { counted, state, run } = await prepareJob()
    Object.assign(state, { isLimited: false, isDown: true })
    await expect(run(1)).rejects.toThrow('the mail server did not take the mail')
    state.isDown = false
    expect(await run(2)).toBe('done')
    expect(counted).toEqual(['taken', 'given back', 'taken', 'sent to grace@example.com'])
  })
})
