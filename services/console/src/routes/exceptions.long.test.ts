import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { createMerchant } from '../../test/merchants.ts'
import { type RunningService, startService } from '../../test/services.ts'

const ID = '6901f3a0000000000000000e'
let services: readonly [RunningService, RunningService]
let test: TestConsole
let merchantId: string
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments')])
  test = await openTestConsole(services)
  merchantId = (await createMerchant(services[1], 'Nordhavn Coffee')).merchantId
  await services[1].query(
    'INSERT INTO payments.acquirer_exceptions (merchant_id, id, payload, created) VALUES ($1, $2, $3, now())',
    [merchantId, ID, JSON.stringify({ type: 'operation', acquirer: 'north', reason: '<b>late</b>' })],
  )
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const plain = (text: string) =>
  text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME').replaceAll(/\b[0-9a-f]{24}\b/g, 'ID')
const toastOf = (html: string) => /<div class="toast">.*?<span>([^<]*)<\/span>/.exec(html)?.[1]

const FILTERS = 'Id of a merchant State Waiting Resolved Filter'

describe('GET /exceptions', () => {
  it('200: lists what waits, with what the acquirer has said as text', async () => {
    const page = await (await test.signedIn('viewer')).open('/exceptions')
    expect(page.status).toBe(200)
    expect(plain(page.text)).toBe(
      `Exceptions Exceptions Unknown outcomes ${FILTERS} About State Merchant Held back Answer of the acquirer Created ↓ operation north Waits ID Answer { "acquirer": "north", "type": "operation", "reason": "<b>late</b>" } TIME`,
    )
    expect(page.html).toContain('&lt;b&gt;late&lt;/b&gt;')
    const resolved = await (await test.signedIn('viewer')).open('/exceptions?open=false')
    expect([resolved.status, resolved.text]).toEqual([200, expect.stringContaining('No exception matches.')])
  })
})

describe('GET /exceptions/:merchantId/:exceptionId/:change', () => {
  it.each([
    [400_000, 'EUR 4,000.00'],
    [null, 'the whole balance'],
  ])(
    '200: lists an exception that holds back %s minor units, and says that resolving it frees %s',
    async (reserved, text) => {
      const setReserved = (value: number | null) =>
        services[1].query('UPDATE payments.acquirer_exceptions SET reserved = $1 WHERE id = $2', [value, ID])
      await setReserved(reserved)
      const browser = await test.signedIn('admin')
      const list = await browser.open('/exceptions')
      const asked = await browser.open(`/exceptions/${merchantId}/${ID}/resolution`)
      await setReserved(0)
      expect([list.status, plain(list.text)]).toEqual([200, expect.stringContaining(`Waits ID ${text} Answer`)])
      expect([asked.status, asked.text]).toEqual([
        200,
        expect.stringContaining(
          `Payouts no longer hold back ${text}. If the acquirer takes money, book it instead: payments adjust --exception also resolves the exception.`,
        ),
      ])
    },
  )

  it('200: asks about an exception that has waited longer than a hundred others', async () => {
    const browser = await test.signedIn('admin')
    const path = `/exceptions/${merchantId}/${ID}/resolution`
    const asked = await browser.open(path)
    await services[1].query(
      "INSERT INTO payments.acquirer_exceptions (merchant_id, id, payload, created) SELECT $1, lpad(to_hex(n), 24, '0'), '{}', now() FROM generate_series(1, 101) n",
      [merchantId],
    )
    const page = await browser.open(path)
    await services[1].query('DELETE FROM payments.acquirer_exceptions WHERE id <> $1', [ID])
    expect([page.status, page.text]).toEqual([200, asked.text])
  })
})

describe('POST /exceptions/:merchantId/:exceptionId/:change', () => {
  it('303: marks an exception as resolved after a question', async () => {
    const browser = await test.signedIn('admin')
    const path = `/exceptions/${merchantId}/${ID}/resolution`
    expect((await browser.open('/exceptions')).html).toContain(`href="${path}" data-ask`)
    expect((await browser.open(path)).text).toBe(
      'Mark as resolved The books stay as they are: you say that what north answered about the operation needs nothing more. The exception leaves the list of those that wait. Note (optional) For the audit log: what you have found out and done. Mark as resolved Cancel',
    )
    const page = await browser.submit(path, { note: 'Refunded by hand' })
    expect([page.firstStatus, page.path, toastOf(page.html), page.text]).toEqual([
      303,
      '/exceptions',
      'The exception is resolved',
      `Exceptions Exceptions Unknown outcomes ${FILTERS} Acquirers and books agree.`,
    ])
  })

  it('403: shows no form to the role support', async () => {
    const path = `/exceptions/${merchantId}/${ID}/resolution`
    await services[1].query('UPDATE payments.acquirer_exceptions SET resolved = NULL')
    const page = await (await test.signedIn('support')).open(path)
    expect([page.status, page.text]).toEqual([
      403,
      '403 Not allowed Your role support may not do this; admin may. Go to the overview',
    ])
  })

  it.each(['/exceptions/x/y/resolution', `/exceptions/${'0'.repeat(23)}/y/resolution`])(
    '404: shows an error page for %s, whose id is malformed',
    async (path) => {
      const page = await (await test.signedIn('admin')).open(path)
      expect([page.status, page.text]).toEqual([
        404,
        '404 Not found There is no such object, or it is gone. Go to the overview',
      ])
    },
  )
})
