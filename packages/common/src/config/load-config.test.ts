import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ConfigError } from './environment.ts'
import { loadConfig, type Rule, type SettingValues } from './load-config.ts'
import { commaList, duration, flag, integer, oneOf, port, secret, secretBytes, text, url } from './setting.ts'

const settings = {
  SITE_URL: url(),
  PORT: port()
    .prefault('8081')
    .meta({ aliases: ['X_API_PORT', 'PORT'] }),
  EXP: integer(1).prefault('3600'),
  ON: flag().prefault('false'),
  LIST: commaList().default([]),
  AGE: duration().optional(),
  GATEWAY: oneOf('twilio', 'vonage').optional(),
  PASSWORD: secret(text()).optional(),
  KEY: secretBytes(4).optional(),
}
const load = (env: NodeJS.ProcessEnv, path?: string) =>
  loadConfig(settings, { prefix: 'X_', env, file: path === undefined ? path : { path, isRequired: true } })

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'trestle-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

function problemsOf(env: NodeJS.ProcessEnv, rules: readonly Rule<SettingValues<typeof settings>>[] = []) {
  try {
    loadConfig(settings, { prefix: 'X_', env, rules })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

describe('loadConfig', () => {
  it('reads settings by prefix, then aliases, then defaults, and takes an empty string as unset', () => {
    expect(load({ X_SITE_URL: 'https://a.example', PORT: '1', X_EXP: '', X_LIST: ' a, ,b ' })).toEqual({
      SITE_URL: 'https://a.example',
      PORT: 1,
      EXP: 3600,
      ON: false,
      LIST: ['a', 'b'],
    })
    expect(load({ X_SITE_URL: 'https://a', X_PORT: '3', X_API_PORT: '2', PORT: '1' }).PORT).toBe(3)
    expect(load({ X_SITE_URL: 'https://a', X_API_PORT: '2', PORT: '1' }).PORT).toBe(2)
  })

  it('refuses a file that cannot be read, and accepts the absence of an optional file', () => {
    const path = join(createFolder(), '.env')
    const run = () => loadConfig({}, { prefix: 'X_', env: {}, file: { path, isRequired: false } })
    expect(run()).toEqual({})
    mkdirSync(path)
    expect(run).toThrow(`config: ${path} cannot be read (a folder, not a file)`)
  })

  it('refuses a file that is not UTF-8, because a password would become another one', () => {
    const path = join(createFolder(), 'settings.env')
    writeFileSync(path, Buffer.from('X_PASSWORD=caf\xe9\n', 'latin1'))
    expect(() => load({}, path)).toThrow(new ConfigError([`${path} cannot be read (${path} is not UTF-8)`]))
  })

  it('prefers the environment to the file', () => {
    const file = join(createFolder(), 'settings.env')
    writeFileSync(file, `# comment\nexport X_SITE_URL='https://file'\nX_EXP=60\nX_PASSWORD="a\\nb"\n`)
    expect(load({ X_EXP: '61', X_SITE_URL: '' }, file)).toEqual({
      SITE_URL: 'https://file',
      EXP: 61,
      PASSWORD: 'a\nb',
      PORT: 8_081,
      ON: false,
      LIST: [],
    })
    expect(() => load({}, '/nowhere/settings.env')).toThrow(/^config: \/nowhere\/settings.env cannot be read/)
  })

  it('refuses a file whose values would be cut at a #, and names each setting without its value', () => {
    const file = join(createFolder(), 'settings.env')
    writeFileSync(file, `X_SITE_URL='https://file/#a'\nX_PASSWORD=hidden#secret\nOTHER=hidden#too\n`)
    const advice =
      'has a # with no blank before it, which would cut its value: put the value in single quotes, or a blank before a comment'
    expect(() => load({}, file)).toThrow(new ConfigError([`${file}: OTHER ${advice}`, `${file}: X_PASSWORD ${advice}`]))
  })

  it('lists every problem at once and never a secret', () => {
    expect(
      problemsOf({
        X_PORT: '70000',
        X_EXP: 'x',
        X_ON: 'perhaps',
        X_AGE: '1d',
        X_GATEWAY: 'pigeon',
        X_KEY: 'c2VjcmV0!',
      }),
    ).toEqual([
      'X_SITE_URL is required',
      'X_PORT must be a port between 0 and 65535 (got "70000")',
      'X_EXP must be a positive integer (got "x")',
      'X_ON must be true or false (got "perhaps")',
      'X_AGE must be a duration such as 300ms, 1.5h, 2h45m, or a number of seconds (got "1d")',
      'X_GATEWAY must be one of twilio, vonage (got "pigeon")',
      'X_KEY must be base64 of at least 4 bytes',
    ])
  })

  it('runs every rule over several settings, except rules that read an invalid setting', () => {
    const rules: Rule<SettingValues<typeof settings>>[] = [
      ({ PASSWORD, KEY }) =>
        PASSWORD === undefined && KEY === undefined ? 'X_PASSWORD or X_KEY is required' : undefined,
      ({ ON, GATEWAY }) => (ON && GATEWAY === undefined ? 'X_GATEWAY is required when X_ON is true' : undefined),
      ({ PORT, EXP }) => (PORT === EXP ? 'X_PORT must not be X_EXP' : undefined),
    ]
    const problems = (env: NodeJS.ProcessEnv) => problemsOf(env, rules)
    expect(problems({ X_ON: 'true' })).toEqual([
      'X_SITE_URL is required',
      'X_PASSWORD or X_KEY is required',
      'X_GATEWAY is required when X_ON is true',
    ])
    expect(problems({ X_SITE_URL: 'http://a', X_ON: 'perhaps', X_KEY: 'c2VjcmV0', X_PORT: '1', X_EXP: '1' })).toEqual([
      'X_ON must be true or false (got "perhaps")',
      'X_PORT must not be X_EXP',
    ])
    expect(problems({ X_SITE_URL: 'http://a', X_KEY: 'c2VjcmV0' })).toEqual([])
  })

  it('ignores the port that Kubernetes sets for a Service of the same name', () => {
    const env = { X_SITE_URL: 'https://a', X_PORT: 'tcp://10.0.0.1:80' }
    expect([load(env).PORT, load({ ...env, PORT: '7' }).PORT]).toEqual([8081, 7])
  })

  it('reports names that no setting reads together with the other problems, if that is asked for', () => {
    const hint = 'hint: copy .env.example to .env'
    const options = { prefix: 'X_', env: { X_SITE_ULR: 'hidden' }, adviceForMissing: hint }
    const misspelt = 'unknown setting X_SITE_ULR, did you mean X_SITE_URL?'
    expect(() => loadConfig(settings, options)).toThrow(new ConfigError(['X_SITE_URL is required'], hint))
    expect(() => loadConfig(settings, { ...options, refusesUnknown: true })).toThrow(
      new ConfigError(['X_SITE_URL is required', misspelt], hint),
    )
  })

  it('refuses a setting that no longer exists, and does not report it as unknown too', () => {
    const env = { X_SITE_URL: 'https://a', X_COLOUR: 'hidden' }
    const load = () =>
      loadConfig(settings, { prefix: 'X_', env, removed: { COLOUR: 'use paint' }, refusesUnknown: true })
    expect(load).toThrow(new ConfigError(['X_COLOUR no longer exists: use paint']))
  })

  it('reads a setting of other programs without the prefix alone', () => {
    const shared = {
      NODE_ENV: text()
        .default('')
        .meta({ aliases: ['NODE_ENV'], unprefixed: true }),
    }
    const read = (env: NodeJS.ProcessEnv) => loadConfig(shared, { prefix: 'X_', otherPrefix: 'Y_', env }).NODE_ENV
    expect([read({ NODE_ENV: 'a' }), read({ X_NODE_ENV: 'a', Y_NODE_ENV: 'a' })]).toEqual(['a', ''])
  })

  it('reads each setting under a second prefix too, after the own names and before names without a prefix', () => {
    const renamed = {
      ...settings,
      LIST: commaList()
        .default([])
        .meta({ aliases: ['Y_EXP'] }),
    }
    const read = (env: NodeJS.ProcessEnv) => {
      const required = { Y_SITE_URL: 'https://a', ...env }
      return loadConfig(renamed, { prefix: 'X_', otherPrefix: 'Y_', env: required })
    }
    const { SITE_URL, PORT } = read({ Y_PORT: '2', PORT: '1' })
    expect([SITE_URL, PORT]).toEqual(['https://a', 2])
    expect(read({ X_API_PORT: '3', Y_PORT: '2' }).PORT).toBe(3)
    expect(read({ Y_API_PORT: '4' }).PORT).toBe(4)
    // `Y_EXP` is an alias of LIST, so it is not read as the setting EXP with the prefix `Y_`.
    const { LIST, EXP } = read({ Y_EXP: 'a,b' })
    expect([LIST, EXP]).toEqual([['a', 'b'], 3600])
    expect(() => read({ Y_PORT: 'x' })).toThrow('Y_PORT must be a port between 0 and 65535 (got "x")')
  })

  it('passes on what a rule throws', () => {
    const broken = () => {
      throw new Error('broken')
    }
    expect(() => problemsOf({}, [broken])).toThrow('broken')
  })
})
