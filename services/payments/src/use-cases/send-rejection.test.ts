import { type MailSink, startMailSink } from '@trestle/testing/mail-sink.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLiveMerchant } from '../../test/live-merchant.ts'
import { createTestApp, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { createStubAcquirer, type StubAcquirer } from '../../test/stub-acquirer.ts'

let north: StubAcquirer
let sink: MailSink
let payments: TestPayments
beforeAll(async () => {
  north = createStubAcquirer()
  sink = await startMailSink()
  payments = await startPayments({ acquirers: new Map([['north', north]]), smtp: sink })
})
afterAll(async () => {
  await payments.close()
  await sink.close()
})

it('a mail tells the merchant of a rejection, without words of the acquirer', async () => {
  const app = await createTestApp(payments)
  const merchant = await createLiveMerchant(payments, app, { north, email: 'owner@example.com', name: 'Evil\nLtd' })
  north.answers.submit = async () => ({ verdict: 'rejected', reason: 'click https://evil.example' })
  const id = await merchant.charge(1_000)
  await merchant.book('capture', id, 1_000)
  const mail = await sink.take(({ to }) => to?.[0]?.address === 'owner@example.com')
  expect([mail.subject, mail.text?.trim()]).toEqual([
    'The acquirer has rejected a capture',
    `Hello,

The acquirer has rejected a capture of EUR 10.00.

Transaction: ${id}
Merchant: ${merchant.id}
Change of your balance: EUR -9.61

The amount is pending again. You can capture it once more, or void it. The trail of the transaction shows the correction as a capture of a negative amount.`,
  ])
  expect(JSON.stringify(mail)).not.toContain('evil.example')
})
