import { describe, expect, it } from 'vitest'
import { loadPaymentsConfig } from './config.ts'

const KEY = Buffer.alloc(32, 1).toString('base64')
const complete = {
  PAYMENTS_BASE_URL: 'http://localhost:8082',
  PAYMENTS_DATABASE_URL: 'postgres://localhost/payments',
  PAYMENTS_PEPPER: KEY,
  PAYMENTS_VAULT_KEYS: `1:${KEY}`,
}
const problems = (env: NodeJS.ProcessEnv) => {
  try {
    loadPaymentsConfig(env)
    return []
  } catch (error) {
    return error instanceof Error ? error.message.split('\n') : []
  }
}

describe('loadPaymentsConfig', () => {
  it('needs only the required settings', () => {
    expect(loadPaymentsConfig(complete)).toEqual({
      server: {
        port: 8082,
        host: '127.0.0.1',
        baseUrl: 'http://localhost:8082',
        shutdownDelayMs: 0,
        logLevel: 'info',
        logFile: undefined,
        metrics: { enabled: true, exporter: 'prometheus', host: '127.0.0.1', port: 9101 },
        otlpProtocol: 'http/protobuf',
        tracingEnabled: false,
        trustedProxies: 0,
        docsEnabled: true,
      },
      database: {
        url: 'postgres://localhost/payments',
        migrationUrl: 'postgres://localhost/payments',
        isProduction: false,
        standby: { url: undefined, lagMsMax: 10_000 },
        role: undefined,
        namespace: '',
        poolSize: 16,
        prepared: true,
        connectTimeoutMs: 30_000,
      },
      pepper: Buffer.alloc(32, 1),
      vaultKeys: [{ id: 1, key: Buffer.alloc(32, 1) }],
      throwAwayKeys: [],
      warnings: [],
      pricing: { rate: 135, flat: { currency: 'EUR', amount: 25 }, dispute: { currency: 'EUR', amount: 2_500 } },
      acquirers: [],
      refundLimits: { once: new Map(), daily: new Map() },
      registration: 'open',
      unusedAppDays: 0,
      dayLimits: { authorizationExpiryDays: 0, confirmationDays: 3, rateAgeDaysMax: 7 },
      payouts: {
        schedule: 'off',
        minimumMajorUnits: 1,
        delayDays: { live: 2, test: 0 },
        version: 'pain.001.001.09',
        timeZone: 'UTC',
      },
      batchScope: undefined,
      rateTerms: { marginBasisPoints: 0, ageDaysMax: 7 },
      seedAllowed: false,
      rateLimitStore: 'memory',
      redisUrl: undefined,
      signIn: undefined,
      smtp: undefined,
      webhooks: { allowHttp: false, allowedHosts: [] },
      checkout: { posUrl: 'http://localhost:8082/pos', posHost: undefined, vaultHost: undefined, requireTls: false },
      rateLimits: {
        requestsPerSecond: 500,
        appsPerMinute: 600,
        failuresPerMinute: 300,
        checkoutsPerSecond: 100,
        refusalsPerTenMinutes: 30,
        mailsPerHour: 10,
        invitationsPerHour: 60,
      },
    })
  })

  it('warns of unknown settings, except those of other services', () => {
    const env = { ...complete, PAYMENTS_TRUST_PROXY: '1', AUTH_SITE_ULR: 'x', PAYMENTS_PORT: 'tcp://10.0.0.1:80' }
    const { server, warnings } = loadPaymentsConfig(env)
    expect(server.port).toBe(8082)
    expect(warnings).toEqual(['unknown setting PAYMENTS_TRUST_PROXY, did you mean PAYMENTS_TRUSTED_PROXIES?'])
  })

  it('removes a slash at the end of the base URL', () => {
    const { server, checkout } = loadPaymentsConfig({ ...complete, PAYMENTS_BASE_URL: 'https://pay.example/' })
    expect([server.baseUrl, checkout.posUrl]).toEqual(['https://pay.example', 'https://pay.example/pos'])
  })

  it.each([
    ['http://:s3cret@bridge.example', false],
    ['http://:s3cret@10.0.0.5:9000', false],
    ['http://:s3cret@127.0.0.1.evil.example', false],
    ['http://:s3cret@localhost:9000', true],
    ['http://:s3cret@[::1]:9000', true],
    ['http://:s3cret@127.8.8.8', true],
    ['https://:s3cret@bridge.example', true],
  ])('card numbers travel to %s: %s', (address, isAllowed) => {
    expect(problems({ ...complete, PAYMENTS_ACQUIRERS: `bridge=${address}` })).toEqual(
      isAllowed
        ? []
        : [
            'config: PAYMENTS_ACQUIRERS must be https, except for this machine (127.0.0.1, ::1, localhost): card numbers travel there',
          ],
    )
  })

  it('separates the secrets of acquirers from their URLs, and applies a delay to test merchants too', () => {
    const read = loadPaymentsConfig({
      ...complete,
      PAYMENTS_ACQUIRERS: 'north=https://:s%2Fcret@north.example/cards, south=http://:x@127.0.0.1:9000',
      PAYMENTS_PAYOUT_DELAY_DAYS: '7',
    })
    expect(read.acquirers).toEqual([
      { name: 'north', url: 'https://north.example/cards', secret: 's/cret' },
      { name: 'south', url: 'http://127.0.0.1:9000/', secret: 'x' },
    ])
    expect(read.payouts.delayDays).toEqual({ live: 7, test: 7 })
  })

  it('reads the time zone of the operator, and the version of its files', () => {
    const load = (changes: object) => loadPaymentsConfig({ ...complete, ...changes })
    const read = load({ PAYMENTS_TIME_ZONE: 'Europe/Copenhagen', PAYMENTS_PAYOUT_FILE: 'pain.001.001.03' })
    expect([read.payouts.timeZone, read.payouts.version]).toEqual(['Europe/Copenhagen', 'pain.001.001.03'])
    expect(() => load({ PAYMENTS_TIME_ZONE: 'Copenhagen' })).toThrow('must be a time zone such as Europe/Copenhagen')
  })

  it('reads the town and the country of the payer, as a bank file can have them', () => {
    const load = (value: string) => loadPaymentsConfig({ ...complete, PAYMENTS_PAYOUT_ADDRESS: value })
    expect(load(' København , DK').payouts.address).toEqual({ town: 'København', country: 'DK' })
    expect(loadPaymentsConfig(complete).payouts.address).toBeUndefined()
    for (const value of ['København', 'DK', ', DK', 'København, dk', 'København, XX', '北京, CN']) {
      expect(() => load(value)).toThrow('PAYMENTS_PAYOUT_ADDRESS must be a town')
    }
  })

  it.each([
    'north',
    'north=',
    'north=ftp://:x@host',
    'north=https://host/path',
    'North=https://:x@host',
    'simulator=https://:x@host',
    'none=https://:x@host',
    'north=https://:x@host,north=https://:x@other',
    'north=https://:x@host,',
  ])('refuses the acquirers %j without showing them', (value) => {
    expect(problems({ ...complete, PAYMENTS_ACQUIRERS: value })).toEqual([
      'config: PAYMENTS_ACQUIRERS must be name=https://:secret@host/path,… with each name once',
    ])
  })

  it('prefers names with the prefix', () => {
    const { PAYMENTS_DATABASE_URL: _, ...rest } = complete
    const env = { ...rest, DATABASE_URL: 'postgres://localhost/shared', PORT: '1', PAYMENTS_PORT: '2' }
    const { database, server } = loadPaymentsConfig(env)
    expect([database.url, server.port]).toEqual(['postgres://localhost/shared', 2])
  })

  it('lists all problems at once, without secrets', () => {
    const env = {
      PAYMENTS_PORT: '65536',
      PAYMENTS_PEPPER: Buffer.alloc(31).toString('base64'),
      PAYMENTS_VAULT_KEYS: `1:${Buffer.alloc(16).toString('base64')}`,
      PAYMENTS_FEE_FLAT: 'EUR 25',
      PAYMENTS_RATE_LIMIT_STORE: 'disk',
      PAYMENTS_DB_ROLE: 'a b',
    }
    expect(problems(env)).toEqual([
      'config: PAYMENTS_PORT must be a port between 0 and 65535 (got "65536")',
      'config: PAYMENTS_BASE_URL is required',
      'config: PAYMENTS_DATABASE_URL is required',
      'config: PAYMENTS_DB_ROLE must be a role name of lower-case letters, digits and _ (got "a b")',
      'config: PAYMENTS_PEPPER must be base64 of at least 32 bytes',
      'config: PAYMENTS_VAULT_KEYS must be id:base64,… with ids 0 to 255 and keys of 32 bytes',
      'config: PAYMENTS_FEE_FLAT must be a currency and minor units, such as EUR:25 (got "EUR 25")',
      'config: PAYMENTS_RATE_LIMIT_STORE must be one of memory, postgres, redis (got "disk")',
    ])
  })

  it('requires the address of Redis when counters are stored there', () => {
    expect(problems({ ...complete, PAYMENTS_DATABASE_URL: 'postgres://u@a:1,b:2/db' })).toEqual([
      'config: PAYMENTS_COORDINATOR_URL is required when PAYMENTS_DATABASE_URL has several hosts',
    ])
    expect(problems({ ...complete, PAYMENTS_RATE_LIMIT_STORE: 'redis' })).toEqual([
      'config: PAYMENTS_REDIS_URL is required when PAYMENTS_RATE_LIMIT_STORE is redis',
    ])
  })

  it('requires a sender when there is a mail server, and does not print its password', () => {
    const smtp = { ...complete, PAYMENTS_SMTP_URL: 'smtp://user:secret@mail.example:587' }
    expect(problems(smtp)).toEqual(['config: PAYMENTS_MAIL_FROM is required when PAYMENTS_SMTP_URL is set'])
    expect(loadPaymentsConfig({ ...smtp, PAYMENTS_MAIL_FROM: 'a@example.com' }).smtp).toEqual({
      url: 'smtp://user:secret@mail.example:587',
      greetingName: 'localhost',
      requireTls: false,
      from: 'a@example.com',
    })
    expect(problems({ ...complete, PAYMENTS_SMTP_URL: 'mail:secret' })).toEqual([
      'config: PAYMENTS_SMTP_URL must be an absolute URL (smtp:// or smtps://)',
    ])
  })

  it('requires a trusted proxy when TLS is required, because only a proxy knows what came by TLS', () => {
    const demanded = { ...complete, PAYMENTS_REQUIRE_TLS: 'yes' }
    expect(problems(demanded)).toEqual([
      'config: PAYMENTS_REQUIRE_TLS needs PAYMENTS_TRUSTED_PROXIES: a proxy says by X-Forwarded-Proto what came by TLS',
    ])
    expect(problems({ ...demanded, PAYMENTS_TRUSTED_PROXIES: '10.0.0.0/8' })).toEqual([])
  })

  it('requires keys and issuer of users together', () => {
    const jwks = { ...complete, PAYMENTS_USER_JWKS_URL: 'http://localhost:8081/.well-known/jwks.json' }
    const problem = ['config: PAYMENTS_USER_JWKS_URL and PAYMENTS_USER_ISSUER are set together']
    expect(problems(jwks)).toEqual(problem)
    expect(problems({ ...complete, PAYMENTS_USER_ISSUER: 'x' })).toEqual(problem)
    expect(loadPaymentsConfig({ ...jwks, PAYMENTS_USER_ISSUER: 'x' }).signIn).toEqual({
      jwksUrl: jwks.PAYMENTS_USER_JWKS_URL,
      issuer: 'x',
      audience: undefined,
    })
  })

  it('refuses an audience of users without keys', () => {
    const env = { ...complete, PAYMENTS_USER_AUDIENCE: 'payments' }
    expect(problems(env)).toEqual(['config: PAYMENTS_USER_JWKS_URL is required when PAYMENTS_USER_AUDIENCE is set'])
    const jwksUrl = 'https://auth.example/.well-known/jwks.json'
    const { signIn } = loadPaymentsConfig({ ...env, PAYMENTS_USER_JWKS_URL: jwksUrl, PAYMENTS_USER_ISSUER: 'x' })
    expect(signIn).toEqual({ jwksUrl, issuer: 'x', audience: 'payments' })
  })

  // ASVS 12.3.3
  it('warns when keys of users travel without TLS', () => {
    const warningsFor = (jwksUrl: string) =>
      loadPaymentsConfig({ ...complete, PAYMENTS_USER_JWKS_URL: jwksUrl, PAYMENTS_USER_ISSUER: 'x' }).warnings
    expect(warningsFor('http://auth:8081/.well-known/jwks.json')).toEqual([
      'PAYMENTS_USER_JWKS_URL is http:// and not on this machine: anyone on the network path can replace the keys, and sign tokens for anybody',
    ])
    expect(warningsFor('https://auth.example/.well-known/jwks.json')).toEqual([])
  })

  it('warns of a pool of more than 32 connections', () => {
    const warningsFor = (size: string) => loadPaymentsConfig({ ...complete, PAYMENTS_DB_POOL_SIZE: size }).warnings
    expect(warningsFor('32')).toEqual([])
    expect(warningsFor('33')).toEqual(['PAYMENTS_DB_POOL_SIZE above 32 makes the database slower, not faster'])
  })

  // ASVS 13.4.2
  it('makes keys for the process in development only, and names them', () => {
    const { PAYMENTS_PEPPER: _, PAYMENTS_VAULT_KEYS: __, ...rest } = complete
    expect(problems(rest)).toEqual(['config: PAYMENTS_PEPPER is required', 'config: PAYMENTS_VAULT_KEYS is required'])
    const config = loadPaymentsConfig({ ...rest, PAYMENTS_DEV: 'yes' })
    expect(config.throwAwayKeys).toEqual(['PAYMENTS_PEPPER', 'PAYMENTS_VAULT_KEYS'])
    expect([config.pepper.length, config.vaultKeys[0].key.length]).toEqual([32, 32])
    expect(loadPaymentsConfig({ ...complete, PAYMENTS_DEV: 'yes' }).throwAwayKeys).toEqual([])
    expect(problems({ ...complete, PAYMENTS_DEV: 'yes', PAYMENTS_PEPPER: 'AAAA' })).toEqual([
      'config: PAYMENTS_PEPPER must be base64 of at least 32 bytes',
    ])
  })
})
