import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { describe, expect, it } from 'vitest'
import { dataDirectoryOf, readUserEnvironment } from './environment.ts'
import { isReadBy, writeEnvFile } from './service-environment.ts'

removeFoldersAtEnd()

const folder = createFolder()

describe('readUserEnvironment', () => {
  it('prefers the environment to the file', () => {
    const file = join(folder, 'both.env')
    writeFileSync(file, "# settings\nexport AUTH_SITE_URL='http://file.example'\nAUTH_JWT_EXP=60\n")
    expect(readUserEnvironment(file, { AUTH_SITE_URL: 'http://environment.example' })).toEqual({
      AUTH_SITE_URL: 'http://environment.example',
      AUTH_JWT_EXP: '60',
    })
  })

  it('ignores empty values of a copied example, but keeps empty values of the environment', () => {
    const file = join(folder, 'empty.env')
    writeFileSync(file, 'AUTH_JWT_SECRET=\nAUTH_SITE_URL=http://localhost\n')
    expect(readUserEnvironment(file, { AUTH_SITE_URL: '' })).toEqual({ AUTH_SITE_URL: '' })
  })

  it('leaves out PORT, which could be any of three services, and the variables of npm', () => {
    const env = { PORT: '3000', npm_lifecycle_event: 'start', INIT_CWD: '/', HOME: '/home', AUTH_API_PORT: '1' }
    expect(readUserEnvironment(join(folder, 'none.env'), env)).toEqual({ HOME: '/home', AUTH_API_PORT: '1' })
  })

  it('leaves out what the command status prints, which no service reads', () => {
    const env = { AUTH_URL: 'http://localhost:8081', ANON_KEY: 'a.b.c', DB_URL: 'postgres://x', AUTH_JWT_EXP: '60' }
    expect(readUserEnvironment(join(folder, 'none.env'), env)).toEqual({ AUTH_JWT_EXP: '60' })
  })
})

describe('dataDirectoryOf', () => {
  it.each([
    ['TRESTLE_DATA_DIRECTORY=/elsewhere\n', '/elsewhere'],
    ['TRESTLE_DATA_DIRECTORY=data\n', '/repo/data'],
    ['TRESTLE_DATA_DIRECTORY=\n', '/repo/.data'],
  ])('follows the .env %j to %s', (text, directory) => {
    const file = join(folder, 'data.env')
    writeFileSync(file, text)
    expect(dataDirectoryOf('/repo', readUserEnvironment(file, {}))).toBe(directory)
  })
})

describe('isReadBy', () => {
  it.each([
    ['AUTH_SITE_URL', true],
    ['OTEL_EXPORTER_PROMETHEUS_HOST', true],
    ['PGCONNECT_TIMEOUT', true],
    ['PAYMENTS_SITE_URL', false],
    ['HOME', false],
  ])('decides whether %s belongs into the env file of auth', (name, isWanted) => {
    expect(isReadBy(name, 'AUTH_')).toBe(isWanted)
  })
})

describe('writeEnvFile', () => {
  it('writes values that are read back unchanged', () => {
    const file = join(folder, 'auth.env')
    const env = { AUTH_JWT_KEYS: '[{"kid":"a"}]', AUTH_SENDER: "O'Hara", AUTH_TEXT: 'a\nb # c', OTHER: 'x' }
    writeEnvFile(file, env, (name) => name.startsWith('AUTH_'))
    expect(parseEnv(readFileSync(file, 'utf8'))).toEqual({
      AUTH_JWT_KEYS: '[{"kid":"a"}]',
      AUTH_SENDER: "O'Hara",
      AUTH_TEXT: 'a\nb # c',
    })
  })
})
