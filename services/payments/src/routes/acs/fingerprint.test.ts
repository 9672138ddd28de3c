import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hintsOf } from '../../../test/customer.ts'
import { startPayments, type TestPayments } from '../../../test/payments-app.ts'
import { encryptFingerprintState } from '../../checkout/challenge.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

const post = (fields: Record<string, string>) =>
  payments.app.inject({
    method: 'POST',
    url: '/acs/fingerprint',
    payload: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
const encrypted = (hint: string | null) =>
  encryptFingerprintState(payments.deps.ciphers.frames, { hint, origin: 'https://shop.example' })

describe('POST /acs/fingerprint', () => {
  it('200: sends its hint at once to the page that asked, and lets any page frame it', async () => {
    const { statusCode, headers, body } = await post({ state: encrypted('hint-1') })
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(headers['content-security-policy']).toContain('frame-ancestors *')
    expect(hintsOf(body)).toEqual(['hint-1'])
    expect(body).toContain('data-origin="https://shop.example"')
    expect(body).toContain('<script type="module" src="/assets/conclude.js"></script>')
  })

  it('200: sends nothing for a bank that does not answer', async () => {
    const { statusCode, body } = await post({ state: encrypted(null) })
    expect([statusCode, hintsOf(body)]).toEqual([200, []])
    expect(body).toContain('<p>This bank does not answer.</p>')
    expect(body).not.toContain('<script')
  })

  it.each([[{}], [{ state: '' }], [{ state: 'Zm9v' }]])(
    '400: refuses %j with a page without a hint',
    async (fields) => {
      const { statusCode, headers, body } = await post(fields)
      expect([statusCode, headers['content-type']]).toEqual([400, 'text/html; charset=utf-8'])
      expect(hintsOf(body)).toEqual([])
      expect(body).toContain('<h1>This payment is not known here</h1>')
    },
  )

  it('400: refuses a state that was encrypted for another page', async () => {
    const state = payments.deps.ciphers.frames.encrypt({ hint: 'hint-1', origin: 'https://shop.example' }, 'challenge')
    const { statusCode, body } = await post({ state })
    expect([statusCode, hintsOf(body)]).toEqual([400, []])
    expect(body).toContain('<h1>This payment is not known here</h1>')
  })
})
