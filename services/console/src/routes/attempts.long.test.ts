import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { createMerchant } from '../../test/merchants.ts'
import { type RunningService, startService } from '../../test/services.ts'

let services: readonly [RunningService, RunningService]
let test: TestConsole
let attemptId: string
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments')])
  test = await openTestConsole(services)
  const { merchantId } = await createMerchant(services[1], 'Nordhavn Coffee')
  const request = JSON.stringify({ acquirer: 'north', currency: 'EUR', amount: 500 })
  const [row] = await services[1].query(
    `INSERT INTO payments.attempts (merchant_id, id, created, kind, state, request)
    SELECT m.id, n.id, n.created, 'charge', 'unknown', $2::jsonb
    FROM payments.merchants m, payments.new_id(m.tag) n WHERE m.id = $1 RETURNING id`,
    [merchantId, request],
  )
  attemptId = String(row?.id)
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const plain = (text: string) =>
  text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME').replaceAll(/\b[0-9a-f]{24}\b/g, 'ID')
const toastOf = (html: string) => /<div class="toast">.*?<span>([^<]*)<\/span>/.exec(html)?.[1]

describe('POST /attempts/:attemptId/:change', () => {
  it('303: records the outcome of an authorization, and takes the authorization off the list', async () => {
    const browser = await test.signedIn('admin')
    const path = `/attempts/${attemptId}/outcome`
    const list = await browser.open('/attempts')
    expect([plain(list.text), list.html.includes(`href="${path}" data-ask`)]).toEqual([
      'Exceptions Exceptions Unknown outcomes Amount Acquirer Merchant Id Created ↓ Actions EUR 5.00 north ID ID TIME Outcome…',
      true,
    ])
    expect((await browser.open(path)).text).toBe(
      'Outcome of the authorization of EUR 5.00 Ask north first: only they know the outcome of the authorization. If they have approved it, the authorization is given back, because the payment has ended. This cannot be undone. Outcome Choose… approved: the acquirer has authorized it declined: the acquirer has refused it Record the outcome Cancel',
    )
    const page = await browser.submit(path, { outcome: 'declined' })
    expect([page.firstStatus, page.path, toastOf(page.html), page.text]).toEqual([
      303,
      '/attempts',
      'The authorization was declined',
      'Exceptions Exceptions Unknown outcomes The outcome of every authorization is known.',
    ])
    const gone = await browser.open(path)
    expect([gone.status, gone.text]).toEqual([
      404,
      '404 Not found There is no such object, or it is gone. Go to the overview',
    ])
  })
})
