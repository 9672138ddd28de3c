import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '@trestle/common/config/environment.ts'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { SELF_HOSTING } from '../../test/self-hosting.ts'
import { judgeInstallation, readInstallation } from './judge-installation.ts'

removeFoldersAtEnd()

/** Creates a folder with these files. */
function write(files: Readonly<Record<string, string>>): string {
  const folder = createFolder()
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

function judge(path: string) {
  const lines: string[] = []
  const isGood = judgeInstallation(path, (line) => lines.push(line))
  return { isGood, lines }
}

/** Returns a Compose file with `%` for `$`, because an editor warns about text with `${`. */
const compose = (environment: unknown, rest: object = {}) =>
  stringify({
    services: { studio: { environment: { AUTH_JWT_SECRET: 'x' } }, auth: { environment, ...rest } },
  }).replaceAll('%', '$')
const judgeAll = (environment: Readonly<Record<string, string>>) =>
  judge(join(write({ 'docker-compose.yml': compose({ ...SELF_HOSTING, ...environment }) }), 'docker-compose.yml'))

describe('auth doctor --env', () => {
  it('takes a value with a # whole where Compose reads the file, and refuses it in a file that the service reads', () => {
    const text = 'GOTRUE_JWT_SECRET=hidden#secret\n'
    const folder = write({
      'compose.yml': compose({}, { env_file: 'auth.env' }),
      'auth.env': text,
      '.env': 'JWT=hidden#x\n',
    })
    const expanded = write({ 'compose.yml': compose({ GOTRUE_JWT_SECRET: '%{JWT}' }), '.env': 'JWT=hidden#secret\n' })
    for (const place of [folder, expanded])
      expect(readInstallation(join(place, 'compose.yml')).variables).toEqual(
        new Map([['GOTRUE_JWT_SECRET', 'hidden#secret']]),
      )
    const file = join(folder, 'auth.env')
    expect(() => readInstallation(file)).toThrow(
      new ConfigError([
        `${file}: GOTRUE_JWT_SECRET has a # with no blank before it, which would cut its value: put the value in single quotes, or a blank before a comment`,
      ]),
    )
  })

  it('says of each setting of the self-hosting files that it is taken, and that the service starts', () => {
    const { isGood, lines } = judgeAll({})
    expect(isGood).toBe(true)
    expect(lines).toEqual([
      'settings of service auth of docker-compose.yml:',
      'taken   API_EXTERNAL_URL as AUTH_API_EXTERNAL_URL',
      ...Object.entries(SELF_HOSTING)
        .slice(1)
        .map(([name, value]) => (value === '' ? `unset   ${name} is empty` : `taken   ${name}`)),
      'note    AUTH_PROFILE is unset and GOTRUE_API_HOST is set: the profile is supabase',
      'note    AUTH_TRUSTED_PROXIES is unset: the last address in X-Forwarded-For is that of the client, if the connection comes from a private network',
      'note    GOTRUE_JWT_DEFAULT_GROUP_NAME is a deprecated name: it sets the role of new users, tokens have no groups',
      'note    GOTRUE_SMS_AUTOCONFIRM is true: anyone who signs up with the phone of another person gets it',
      'ok      the service starts with these settings',
    ])
  })

  it.each([
    [
      'GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED',
      'false',
      'taken   GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED as AUTH_MFA_WEBAUTHN_VERIFY_ENABLED',
    ],
    ['DB_NAMESPACE', 'auth', 'taken   DB_NAMESPACE as AUTH_DB_SCHEMA'],
    ['PORT', '80', 'unset   PORT: GOTRUE_API_PORT counts'],
    [
      'GOTRUE_DB_CLEANUP_ENABLED',
      'true',
      'differs GOTRUE_DB_CLEANUP_ENABLED as AUTH_DB_CLEANUP_ENABLED: anonymous users stay, unless AUTH_ANONYMOUS_USER_RETENTION is set',
    ],
    [
      'GOTRUE_DB_MAX_POOL_SIZE',
      '0',
      'differs GOTRUE_DB_MAX_POOL_SIZE as AUTH_DB_MAX_POOL_SIZE: 0 is 16 connections, not any number of them',
    ],
    [
      'GOTRUE_DB_DATABASE_URL',
      'postgres://a:b@db/postgres?sslmode=require',
      'differs GOTRUE_DB_DATABASE_URL as AUTH_DB_DATABASE_URL: this sslmode verifies the certificate, and no-verify encrypts without',
    ],
    ['GOTRUE_RATE_LIMIT_OTP', '0', 'differs GOTRUE_RATE_LIMIT_OTP as AUTH_RATE_LIMIT_OTP: 0 lifts the limit'],
    [
      'GOTRUE_DB_CONN_PERCENTAGE',
      '20',
      'ignored GOTRUE_DB_CONN_PERCENTAGE: safe, AUTH_DB_MAX_POOL_SIZE alone is the size of the pool',
    ],
    [
      'GOTRUE_MFA_ENABLED',
      'true',
      'ignored GOTRUE_MFA_ENABLED: safe, supabase/auth reads it in 2.158.0 alone; AUTH_MFA_TOTP_ENROLL_ENABLED and AUTH_MFA_TOTP_VERIFY_ENABLED switch authenticator apps',
    ],
    ['GOTRUE_OPERATOR_TOKEN', 'hidden', 'ignored GOTRUE_OPERATOR_TOKEN: safe, nothing reads it'],
    ['GOTRUE_SAML_ENABLED', 'false', 'ignored GOTRUE_SAML_ENABLED: safe, nobody can sign in by SAML'],
  ])('accepts %s=%s, and prints what it does with the setting', (name, value, line) => {
    const { isGood, lines } = judgeAll({ [name]: value })
    expect(isGood).toBe(true)
    expect(lines).toContain(line)
  })

  it.each([
    ['GOTRUE_SAML_ENABLED', 'true', 'unsafe  GOTRUE_SAML_ENABLED: nobody can sign in by SAML'],
    [
      'GOTRUE_SECURITY_REFRESH_TOKEN_ALLOW_REUSE',
      'true',
      'unsafe  GOTRUE_SECURITY_REFRESH_TOKEN_ALLOW_REUSE: a used token is only taken again as the profile says',
    ],
    [
      'GOTRUE_EXTERNAL_APPLE_URL',
      'https://apple.example.com',
      'unsafe  GOTRUE_EXTERNAL_APPLE_URL: the provider has one address',
    ],
    ['GOTRUE_JWT_EXPP', 'hidden', 'unknown GOTRUE_JWT_EXPP, did you mean GOTRUE_JWT_EXP?'],
  ])('fails for %s=%s, which matters and has no effect, and shows no value', (name, value, line) => {
    const { isGood, lines } = judgeAll({ [name]: value })
    expect(isGood).toBe(false)
    expect(lines).toContain(line)
    expect(lines.slice(-2)).toEqual([
      'ok      the service starts with these settings',
      'wrong   1 of them matters and has no effect',
    ])
    expect(lines.join()).not.toContain('hidden')
  })

  it('fails for settings with which the service would not start', () => {
    const { isGood, lines } = judgeAll({ GOTRUE_JWT_EXP: 'x', GOTRUE_SITE_URL: '' })
    expect(isGood).toBe(false)
    expect(lines).toContain('wrong   GOTRUE_JWT_EXP must be a positive integer (got "x")')
    expect(lines.slice(-2)).toEqual([
      'wrong   AUTH_SITE_URL is required',
      'wrong   the service does not start with these settings',
    ])
  })
})

describe('readInstallation', () => {
  const read = (files: Readonly<Record<string, string>>, name: string) => readInstallation(join(write(files), name))

  it.each([
    ['%{SET}', 'a b'],
    ['%SET!', 'a b!'],
    ['%{SET:-no}', 'a b'],
    ['%{EMPTY}', ''],
    ['%{EMPTY-no}', ''],
    ['%{EMPTY:-yes}', 'yes'],
    ['%{NONE-yes}', 'yes'],
    ['%{NONE:-%{SET} and %{NONE:-%%}}', 'a b and %'],
    ['%{SET:+yes}', 'yes'],
    ['%{EMPTY:+no}', ''],
    ['%{EMPTY+yes}', 'yes'],
    ['postgres://u:%{SET}@%{HOST:-db}:5432', 'postgres://u:a b@db:5432'],
    ['%%SET and %', '%SET and %'],
  ])('expands %j to %j, as Compose does', (written, value) => {
    const files = { 'compose.yaml': compose({ GOTRUE_X: written }), '.env': 'SET="a b"\nEMPTY=\n' }
    expect(read(files, 'compose.yaml')).toEqual({
      variables: new Map([['GOTRUE_X', value.replaceAll('%', '$')]]),
      origin: 'service auth of compose.yaml',
      unset: [],
    })
  })

  it('names variables that nothing sets', () => {
    const files = { 'compose.yaml': compose(['GOTRUE_X=%{NONE}', 'GOTRUE_Y=%{OTHER:?is needed}', 'GOTRUE_Z']) }
    expect(read(files, 'compose.yaml')).toEqual({
      variables: new Map([
        ['GOTRUE_X', ''],
        ['GOTRUE_Y', ''],
      ]),
      origin: 'service auth of compose.yaml',
      unset: ['NONE', 'OTHER'],
    })
  })

  it('reads the env files of a service below its environment, but one that is absent and need not be there', () => {
    const more = [{ path: 'more/auth.env' }, { path: 'none.env', required: false }]
    const files = {
      'compose.yaml': compose({ GOTRUE_A: 'own' }, { env_file: ['auth.env', ...more] }),
      'auth.env': 'GOTRUE_A=file\nGOTRUE_B=file\n',
      'more/auth.env': 'GOTRUE_B=second\n',
    }
    expect([...read(files, 'compose.yaml').variables]).toEqual([
      ['GOTRUE_A', 'own'],
      ['GOTRUE_B', 'second'],
    ])
  })

  it('reads an env file by its absolute path', () => {
    const other = join(write({ 'auth.env': 'GOTRUE_A=elsewhere\n' }), 'auth.env')
    const files = { 'compose.yaml': compose({ GOTRUE_B: 'own' }, { env_file: other }) }
    expect([...read(files, 'compose.yaml').variables]).toEqual([
      ['GOTRUE_A', 'elsewhere'],
      ['GOTRUE_B', 'own'],
    ])
  })

  it('reads an env file that has settings, and the Compose file beside an env file that has none', () => {
    const files = { '.env': 'SITE=x\n', 'docker-compose.yml': compose({ GOTRUE_SITE_URL: '%{SITE}' }) }
    expect(read(files, '.env').variables).toEqual(new Map([['GOTRUE_SITE_URL', 'x']]))
    expect(read({ 'auth.env': 'GOTRUE_A=1\nPORT=2\n' }, 'auth.env')).toEqual({
      variables: new Map([
        ['GOTRUE_A', '1'],
        ['PORT', '2'],
      ]),
      origin: 'auth.env',
      unset: [],
    })
  })

  it.each([
    [{ 'a.env': 'SITE=x\n' }, 'a.env', 'has no name that begins with GOTRUE_, and no Compose file is beside it'],
    [{ 'a.yml': 'services: {}\n' }, 'a.yml', 'has no service with settings of supabase/auth'],
    [{ 'a.yml': 'version: 3\n' }, 'a.yml', 'is no Compose file: it has no services'],
    [{ 'a.yml': 'a: [\n' }, 'a.yml', 'is no Compose file: '],
  ])('refuses %j', (files, name, problem) => {
    expect(() => read(files, name)).toThrow(problem)
  })
})
