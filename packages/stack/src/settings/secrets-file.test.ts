import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newFolder, removeFoldersAtEnd } from '../testing/temporary-folder.ts'
import { loadSecrets } from './secrets-file.ts'

removeFoldersAtEnd()

const bytes = (fill: number) => () => Buffer.alloc(32, fill)
const newFile = () => join(newFolder(), 'secrets.env')

describe('loadSecrets', () => {
  it('makes every secret, and a file that only its owner reads', () => {
    const file = newFile()
    expect(loadSecrets(file, bytes(1))).toEqual({
      AUTH_JWT_SECRET: 'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE',
      AUTH_SECURITY_DATABASE_ENCRYPTION_KEY: 'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE',
      PAYMENTS_PEPPER: 'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=',
      PAYMENTS_VAULT_KEYS: '1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=',
      TRESTLE_DATABASE_PASSWORD: 'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE',
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('gives the same secrets at every later start', () => {
    const file = newFile()
    const first = loadSecrets(file)
    const text = readFileSync(file, 'utf8')
    expect(loadSecrets(file)).toEqual(first)
    expect(readFileSync(file, 'utf8')).toBe(text)
    expect(new Set(Object.values(first)).size).toBe(5)
  })

  it('adds what an older file lacks, and takes away the rights of others', () => {
    const file = newFile()
    writeFileSync(file, 'AUTH_JWT_SECRET=kept\nOTHER=also kept\n', { mode: 0o644 })
    expect(loadSecrets(file, bytes(0)).AUTH_JWT_SECRET).toBe('kept')
    expect(readFileSync(file, 'utf8')).toMatch(/^AUTH_JWT_SECRET=kept\nOTHER=also kept\nAUTH_SECURITY_/)
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })
})
