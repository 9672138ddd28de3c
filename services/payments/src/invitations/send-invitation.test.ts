import { type MailSink, startMailSink } from '@trestle/testing/mail-sink.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from '../../test/payments-app.ts'

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

/** A stranger who invites from a merchant that was made for it. */
async function invite(email: string): Promise<number> {
  const stranger = await createTestApp(payments)
  const { id } = await createTestMerchant(payments, stranger)
  const request = { method: 'POST', url: `/merchants/${id}/users`, headers: stranger.headers } as const
  return (await payments.app.inject({ ...request, payload: { email } })).statusCode
}

it('sends an address no more than so many invitations in an hour, whoever invites; the answers tell nothing', async () => {
  const spellings = ['eve@example.com', 'Eve@EXAMPLE.com', 'eve@\uff45xample.com']
  for (const email of spellings) expect(await invite(email)).toBe(201)
  await refused.promise
  const ofEve = ({ to }: MailSink['mails'][number]) => to?.[0]?.address?.toLowerCase() === 'eve@example.com'
  for (const _ of [1, 2]) await sink.take(ofEve)
  expect(await invite('adam@example.com')).toBe(201)
  await sink.take(({ to }) => to?.[0]?.address === 'adam@example.com')
  expect(sink.mails.filter(ofEve)).toHaveLength(2)
})
