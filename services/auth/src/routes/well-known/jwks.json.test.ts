import { afterAll, expect, it } from 'vitest'
import { openTestApp } from '../../../test/auth-app.ts'

const { app, close } = await openTestApp()
afterAll(close)

it('200: GET /.well-known/jwks.json publishes no shared secret', async () => {
  const answer = await app.inject('/.well-known/jwks.json')
  expect([answer.statusCode, answer.json()]).toEqual([200, { keys: [] }])
  expect(answer.headers['cache-control']).toBe('public, max-age=600')
})

it('200: GET /.well-known/jwks.json publishes the public half of a signing key', async () => {
  const { publicKey, privateKey } = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
    'sign',
    'verify',
  ])
  const [{ kty, crv, x, y }, secret] = await Promise.all([
    crypto.subtle.exportKey('jwk', publicKey),
    crypto.subtle.exportKey('jwk', privateKey),
  ])
  const key = { kty, crv, x, y, d: secret.d, kid: 'first', alg: 'ES256', use: 'sig', key_ops: ['sign', 'verify'] }
  const signing = await openTestApp({ settings: { AUTH_JWT_KEYS: JSON.stringify([key]) } })
  const answer = await signing.app.inject('/.well-known/jwks.json')
  await signing.close()
  const shown = { kty, crv, x, y, kid: 'first', alg: 'ES256', use: 'sig', key_ops: ['verify'] }
  expect([answer.statusCode, answer.json()]).toEqual([200, { keys: [shown] }])
})
