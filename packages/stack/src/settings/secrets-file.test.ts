import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { describe, expect, it } from 'vitest'
import { loadSecrets } from './secrets-file.ts'

removeFoldersAtEnd()

const bytes = (fill: number) => () => Buffer.alloc(32, fill)
const newFile = () => join(createFolder(), 'secrets.env')

describe('loadSecrets', () => {
  it('makes every secret, in a file that only its owner may read', () => {
    const file = newFile()
    const secrets = loadSecrets(file, bytes(1))
    expect(secrets).toEqual({
      AUTH_JWT_SECRET: 'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE',
      AUTH_JWT_KEYS: expect.any(String),
      AUTH_SECURITY_DATABASE_ENCRYPTION_KEY: 'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE',
      PAYMENTS_PEPPER: 'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=',
      PAYMENTS_VAULT_KEYS: '1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=',
      CONSOLE_SECRET: 'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=',
      TRESTLE_OPERATOR_KEY: 'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE',
      TRESTLE_OPERATOR_PASSWORD: 'AQEBAQEBAQEBAQEBAQEBAQ',
      TRESTLE_DATABASE_PASSWORD: 'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE',
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('returns the same secrets at every later start', () => {
    const file = newFile()
    const first = loadSecrets(file)
    const text = readFileSync(file, 'utf8')
    expect(loadSecrets(file)).toEqual(first)
    expect(readFileSync(file, 'utf8')).toBe(text)
    expect(new Set(Object.values(first)).size).toBe(9)
  })

  it('makes a signing key that others can verify, and reads it back', () => {
    const file = newFile()
    const { AUTH_JWT_KEYS: text } = loadSecrets(file)
    expect(loadSecrets(file).AUTH_JWT_KEYS).toBe(text)
    const [key] = JSON.parse(text)
    expect(key).toEqual({
      kty: 'EC',
      crv: 'P-256',
      alg: 'ES256',
      key_ops: ['sign'],
      use: 'sig',
      kid: expect.any(String),
      x: expect.any(String),
      y: expect.any(String),
      d: expect.any(String),
    })
    const { d: _, ...open } = key
    const signature = sign('sha256', Buffer.from('a token'), createPrivateKey({ key, format: 'jwk' }))
    expect(verify('sha256', Buffer.from('a token'), createPublicKey({ key: open, format: 'jwk' }), signature)).toBe(
      true,
    )
  })

  it('adds missing secrets to an older file, and removes the rights of others', () => {
    const file = newFile()
    writeFileSync(file, 'AUTH_JWT_SECRET=kept\nOTHER=also kept\n', { mode: 0o644 })
    expect(loadSecrets(file, bytes(2)).AUTH_JWT_SECRET).toBe('kept')
    expect(readFileSync(file, 'utf8')).toMatch(/^AUTH_JWT_SECRET=kept\nOTHER=also kept\nAUTH_JWT_KEYS=/)
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })
})
