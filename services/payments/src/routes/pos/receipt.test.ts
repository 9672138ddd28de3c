import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPayments, type TestPayments } from '../../../test/payments-app.ts'
import { encryptReceipt } from '../../payment-links/receipt.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

const open = async (receipt: string, headers: object = {}) =>
  payments.app.inject({ url: '/pos/receipt', query: { receipt }, headers: { ...headers } })
/** Returns the texts of a page, in order. */
const textsOf = (page: string): readonly string[] =>
  (/<main>([\s\S]*)<\/main>/.exec(page)?.[1] ?? '')
    .split(/<[^>]*>/)
    .map((text) => text.trim())
    .filter((text) => text !== '')
const TRANSACTION_ID = '65920080000000000000abcd'
const encrypted = (changes: object = {}) =>
  encryptReceipt(payments.deps.ciphers.frames, {
    merchant: 'Coffee & <John>',
    test: true,
    money: { currency: 'EUR', amount: 1_099 },
    reference: 'R-1',
    text: 'Two <bags>',
    last4: '1234',
    transactionId: TRANSACTION_ID,
    ...changes,
  })

describe('GET /pos/receipt', () => {
  it('200: shows what was paid, any number of times', async () => {
    const receipt = encrypted()
    for (const { statusCode, headers, body } of [await open(receipt), await open(receipt)]) {
      expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
      expect(textsOf(body)).toEqual([
        'Test mode: no money moves.',
        'Your payment was received',
        '€10.99',
        'Two &lt;bags&gt;',
        'Shop',
        'Coffee &amp; &lt;John&gt;',
        'Date',
        'Jan 1, 2024, 12:00:00 AM UTC',
        'Reference',
        'R-1',
        'Card',
        '•••• 1234',
        'Transaction',
        TRANSACTION_ID,
        'Coffee &amp; &lt;John&gt; can see the payment. Print or save this page as your receipt.',
        'Print',
      ])
    }
  })

  it.each([null, undefined])(
    '200: calls a live payment no test, and leaves out a reference or text that was not given, such as %j',
    async (text) => {
      const { statusCode, body } = await open(encrypted({ test: false, reference: null, text }))
      expect(statusCode).toBe(200)
      expect(textsOf(body).slice(0, 5)).toEqual([
        'Your payment was received',
        '€10.99',
        'Shop',
        'Coffee &amp; &lt;John&gt;',
        'Date',
      ])
      expect(textsOf(body)).not.toContain('Reference')
    },
  )

  it('200: has a button that prints, shown by a script of this origin', async () => {
    const { statusCode, headers, body } = await open(encrypted())
    expect(statusCode).toBe(200)
    expect(body).toContain('<button type="button" class="quiet" id="print" hidden>Print</button>')
    expect(body.match(/<script.*?<\/script>/g)).toEqual(['<script type="module" src="/assets/print.js"></script>'])
    expect(headers['content-security-policy']).toContain("; script-src 'self';")
  })

  it('200: is in the language of the browser', async () => {
    const { statusCode, body } = await open(encrypted(), { 'accept-language': 'da' })
    expect(statusCode).toBe(200)
    expect(body).toContain('<html lang="da">')
    expect(textsOf(body)).toContain('10,99\u00a0€')
  })

  it.each(['', 'Zm9v', '\0'])(
    '404: refuses the forged receipt %j, and does not say that nothing was paid',
    async (text) => {
      const { statusCode, headers, body } = await open(text)
      expect([statusCode, headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
      expect(textsOf(body).join(' ')).toContain('If you have paid, your payment stands')
      expect(textsOf(body).join(' ')).not.toContain('Nothing was charged')
    },
  )
})
