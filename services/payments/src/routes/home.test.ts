import { serviceNotFound } from '@trestle/common/documents/front-page.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorBodies } from '../../test/bodies.ts'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from '../../test/payments-app.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({ vaultHost: 'vault.example', posHost: 'pay.example' })
})
afterAll(() => payments.close())

describe('POST /', () => {
  const tokenizeAt = (host: string) => {
    const payload = { type: 'pcsc', value: '123' }
    return payments.app.inject({ method: 'POST', url: '/', headers: { 'accept-version': '1', host }, payload })
  }

  it.each(['vault.example', 'VAULT.example:8082'])('201: is the vault on its host, written %s', async (host) => {
    const response = await tokenizeAt(host)
    const token = expect.stringMatching(/^[A-Za-z0-9+/]+=*$/)
    expect([response.statusCode, response.json()]).toEqual([201, { token }])
  })

  it.each(['vaultxexample', 'payments.example'])('404: is no vault on the host %s', async (host) => {
    const response = await tokenizeAt(host)
    expect([response.statusCode, response.json()]).toEqual([404, errorBodies.endpointNotFound])
  })
})

describe('GET /', () => {
  const open = async (path: string, host: string) => {
    const shop = await createTestMerchant(payments, await createTestApp(payments), { currency: 'EUR', test: true })
    return payments.app.inject({ url: `${path}?key=${shop.key}&test=1&currency=JPY`, headers: { host } })
  }

  it('200: is the payment page on its host, with any port', async () => {
    const response = await open('/', 'pay.example:8443')
    expect(response.statusCode).toBe(200)
    expect(response.body).toContain('Amount in JPY')
  })

  it.each(['pay.example', 'payments.example'])('200: shows a browser on %s a page with links', async (host) => {
    const response = await payments.app.inject({ url: '/', headers: { host, accept: 'text/html' } })
    const { 'content-type': type, vary } = response.headers
    expect([response.statusCode, type, vary]).toEqual([200, 'text/html; charset=utf-8', 'accept, accept-encoding'])
    expect(response.body).toContain('<h1>Trestle payments</h1>')
  })

  it('400: shows a client that asks for no page that the link names no merchant', async () => {
    const { statusCode, body } = await payments.app.inject({ url: '/', headers: { host: 'pay.example' } })
    expect([statusCode, body]).toEqual([400, expect.stringContaining('The link does not say whom to pay.')])
  })

  it('404: shows a browser a page at an unknown path', async () => {
    const { statusCode, body } = await payments.app.inject({ url: '/nothing', headers: { accept: 'text/html' } })
    expect([statusCode, body]).toEqual([404, serviceNotFound.html])
  })

  it('404: is no payment page on another host', async () => {
    const response = await open('/', 'payments.example')
    expect([response.statusCode, response.headers.vary, response.json()]).toEqual([
      404,
      'accept',
      errorBodies.endpointNotFound,
    ])
  })
})
