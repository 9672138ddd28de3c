import { afterAll, expect, it } from 'vitest'
import { refusalsIn, statusAndBody } from './bodies.ts'
import { openMailApp } from './mail-app.ts'
import { createSignedUp } from './signed-up.ts'

const service = await openMailApp({ AUTH_TRUSTED_PROXIES: '1', AUTH_EXTERNAL_PHONE_ENABLED: 'true' })
afterAll(() => service.close())

const refused = (kind: 'email' | 'sms') => ({
  code: 429,
  error_code: `over_${kind}_send_rate_limit`,
  msg: expect.any(String),
})

it('mails for one client never use up the share of other clients', async () => {
  const ask = (url: string, payload: object, address: string) =>
    service.post(url, payload, { 'x-forwarded-for': address })
  const answers = []
  for (let i = 0; i < 15; i += 1) {
    const payload = { type: 'email_change', email: `nobody${i}@example.com` }
    answers.push(await ask('/resend', payload, '203.0.113.66'))
  }
  // Each request takes two of fifteen mails.
  expect(refusalsIn(answers.slice(0, 7))).toEqual([])
  expect(refusalsIn(answers)).toEqual(Array(8).fill([429, refused('email')]))
  expect(Number(answers.at(-1)?.headers['retry-after'])).toBeGreaterThan(3_500)
  const { email } = await createSignedUp(service.deps)
  for (const [url, payload] of [
    ['/signup', { email: 'ada@example.com', password: 'a password of her own' }],
    ['/recover', { email }],
    ['/otp', { email: 'eve@example.com' }],
  ] as const) {
    expect((await ask(url, payload, '198.51.100.7')).statusCode).toBe(200)
  }
})

it('SMS for one client never use up the share of other clients', async () => {
  const ask = (number: number, address: string) =>
    service.post('/otp', { phone: `1415555${1_000 + number}` }, { 'x-forwarded-for': address })
  for (let i = 0; i < 15; i += 1) expect(statusAndBody(await ask(i, '203.0.113.66'))).toEqual([200, {}])
  expect((await ask(15, '203.0.113.66')).json()).toEqual(refused('sms'))
  expect(statusAndBody(await ask(16, '198.51.100.7'))).toEqual([200, {}])
})
