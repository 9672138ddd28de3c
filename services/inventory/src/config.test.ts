import { ConfigError } from '@trestle/common/config/environment.ts'
import { describe, expect, it } from 'vitest'
import { loadInventoryConfig } from './config.ts'

const DATABASE = { INVENTORY_DATABASE_URL: 'postgres://user:hidden-password@localhost/inventory' }

const openDoor = (reasons: string) =>
  `INVENTORY_AUTH_ENABLED is false, so anyone who reaches the service may read and change everything: ${reasons}`

describe('loadInventoryConfig', () => {
  it('has the documented defaults', () => {
    expect(loadInventoryConfig(DATABASE)).toEqual({
      server: {
        port: 8080,
        host: '127.0.0.1',
        shutdownDelayMs: 0,
        logFile: 'logs/app.log',
        logLevel: 'info',
        logStdout: true,
        corsOrigins: [],
        trustedProxies: 0,
        metrics: { enabled: true, exporter: 'prometheus', host: '0.0.0.0', port: 9102 },
        otlpProtocol: 'http/protobuf',
        tracingEnabled: false,
        docsEnabled: true,
      },
      database: {
        url: DATABASE.INVENTORY_DATABASE_URL,
        migrationUrl: DATABASE.INVENTORY_DATABASE_URL,
        isProduction: false,
        standby: { url: undefined, lagMsMax: 10_000 },
        role: undefined,
        namespace: '',
        poolSize: 16,
        statementTimeoutMs: 5_000,
        connectTimeoutMs: 30_000,
        prepared: true,
        migrate: true,
      },
      defaultLimit: 50,
      limitMax: 500,
      bodyBytesMax: 1_048_576,
      attributesBytesMax: 65_536,
      access: undefined,
      importBytesMax: 268_435_456,
      exportSpoolBytesMax: 268_435_456,
      requireIfMatch: false,
      rateLimits: { requestsPerMinute: 0, store: 'memory', redisUrl: undefined },
      cleanUpEveryMs: 5_000,
      warnings: [],
    })
  })

  it('reads names without a prefix, unless the prefixed name is set', () => {
    const unprefixed = { DATABASE_URL: 'postgres://a/b', PORT: '1', LOG_LEVEL: 'warn' }
    const { database, server } = loadInventoryConfig(unprefixed)
    expect([database.url, server.port, server.logLevel]).toEqual(['postgres://a/b', 1, 'warn'])
    const prefixed = loadInventoryConfig({ ...unprefixed, ...DATABASE, INVENTORY_PORT: '2' })
    expect([prefixed.database.url, prefixed.server.port]).toEqual([DATABASE.INVENTORY_DATABASE_URL, 2])
  })

  it('warns of unknown settings, but not of those of other services', () => {
    const env = { ...DATABASE, INVENTORY_MAX_LIMITS: '9', AUTH_SITE_ULR: 'x', INVENTORY_PORT: 'tcp://10.0.0.1:80' }
    const { server, warnings } = loadInventoryConfig(env)
    expect(server.port).toBe(8080)
    expect(warnings).toEqual(['unknown setting INVENTORY_MAX_LIMITS, did you mean INVENTORY_MAX_LIMIT?'])
  })

  // ASVS 12.3.3
  it('warns of a key URL without TLS when authentication is on', () => {
    const access = { INVENTORY_AUTH_ISSUER: 'a', INVENTORY_AUTH_AUDIENCE: 'b' }
    const warningsFor = (jwksUrl: string, enabled: string) =>
      loadInventoryConfig({
        ...{ ...DATABASE, ...access },
        ...{ INVENTORY_AUTH_ENABLED: enabled, INVENTORY_AUTH_JWKS_URL: jwksUrl },
      }).warnings
    expect(warningsFor('http://auth:8081/.well-known/jwks.json', 'true')).toEqual([
      'INVENTORY_AUTH_JWKS_URL is http:// and not on this machine: anyone on the network path can replace the keys, and sign tokens for anybody',
    ])
    expect(warningsFor('http://auth:8081/.well-known/jwks.json', 'false')).toEqual([
      openDoor(
        'INVENTORY_AUTH_JWKS_URL has no effect, INVENTORY_AUTH_ISSUER has no effect, INVENTORY_AUTH_AUDIENCE has no effect',
      ),
    ])
    expect(warningsFor('https://auth.example/.well-known/jwks.json', 'true')).toEqual([])
  })

  it('warns of rules for tokens when authentication is off', () => {
    const rules = {
      INVENTORY_AUTH_JWKS_URL: 'https://auth.example/.well-known/jwks.json',
      ...{ INVENTORY_AUTH_ISSUER: 'a', INVENTORY_AUTH_AUDIENCE: 'b', INVENTORY_AUTH_ADMIN_ROLES: 'c' },
      INVENTORY_AUTH_ROLE_SCOPES: 'd=inventory:read',
    }
    const withoutEffect = (name: string) => `${name} has no effect`
    expect(loadInventoryConfig({ ...DATABASE, ...rules }).warnings).toEqual([
      openDoor(Object.keys(rules).map(withoutEffect).join(', ')),
    ])
    for (const [name, value] of Object.entries(rules)) {
      expect(loadInventoryConfig({ ...DATABASE, [name]: value }).warnings).toEqual([openDoor(withoutEffect(name))])
    }
    expect(loadInventoryConfig({ ...DATABASE, ...rules, INVENTORY_AUTH_ENABLED: 'true' }).warnings).toEqual([])
  })

  it.each([
    [{ INVENTORY_HOST: '0.0.0.0' }, 'INVENTORY_HOST lets other machines in'],
    [{ INVENTORY_HOST: '::' }, 'INVENTORY_HOST lets other machines in'],
    [{ INVENTORY_HOST: 'stock.example' }, 'INVENTORY_HOST lets other machines in'],
    [{ INVENTORY_TRUSTED_PROXIES: '1' }, 'INVENTORY_TRUSTED_PROXIES says that clients come through proxies'],
    [{ INVENTORY_TRUSTED_PROXIES: '10.0.0.0/8' }, 'INVENTORY_TRUSTED_PROXIES says that clients come through proxies'],
    [
      { INVENTORY_HOST: '10.0.0.7', INVENTORY_TRUSTED_PROXIES: '1', INVENTORY_AUTH_ISSUER: 'a' },
      'INVENTORY_HOST lets other machines in, INVENTORY_TRUSTED_PROXIES says that clients come through proxies, INVENTORY_AUTH_ISSUER has no effect',
    ],
  ])('warns of authentication that is off where others reach the service: %j', (reach, reasons) => {
    const tokens = { INVENTORY_AUTH_JWKS_URL: 'https://auth.example/jwks', INVENTORY_AUTH_AUDIENCE: 'b' }
    const on = { INVENTORY_AUTH_ISSUER: 'a', INVENTORY_AUTH_ENABLED: 'true', ...tokens }
    expect(loadInventoryConfig({ ...DATABASE, ...reach }).warnings).toEqual([openDoor(reasons)])
    expect(loadInventoryConfig({ ...DATABASE, ...reach, ...on }).warnings).toEqual([])
  })

  it.each([{}, { INVENTORY_HOST: 'localhost' }, { INVENTORY_HOST: '::1' }, { INVENTORY_TRUSTED_PROXIES: '0' }])(
    'warns of no authentication that is off where this machine alone reaches the service: %j',
    (reach) => {
      const config = loadInventoryConfig({ ...DATABASE, ...reach, INVENTORY_AUTH_ENABLED: 'false' })
      expect(config.warnings).toEqual([])
    },
  )

  it('reads 0 connections as the default, and accepts any other number', () => {
    expect(loadInventoryConfig({ ...DATABASE, INVENTORY_DB_POOL_SIZE: '0' }).database.poolSize).toBe(16)
    expect(loadInventoryConfig({ ...DATABASE, INVENTORY_DB_POOL_SIZE: '64' }).database.poolSize).toBe(64)
  })

  it('warns of a pool of more than 32 connections', () => {
    const warningsFor = (size: string) => loadInventoryConfig({ ...DATABASE, INVENTORY_DB_POOL_SIZE: size }).warnings
    expect(warningsFor('32')).toEqual([])
    expect(warningsFor('33')).toEqual(['INVENTORY_DB_POOL_SIZE above 32 makes the database slower, not faster'])
  })

  it.each([
    [{}, 'INVENTORY_DATABASE_URL'],
    [{ INVENTORY_DATABASE_URL: 'mysql://user:hidden-password@localhost' }, 'INVENTORY_DATABASE_URL'],
    [{ ...DATABASE, INVENTORY_PORT: '99999' }, 'INVENTORY_PORT'],
    [{ ...DATABASE, INVENTORY_DB_ROLE: 'Robert"; DROP' }, 'INVENTORY_DB_ROLE'],
    [{ ...DATABASE, INVENTORY_DB_READ_LAG_MAX: '1s' }, 'INVENTORY_DB_READ_LAG_MAX'],
    [{ ...DATABASE, INVENTORY_DB_POOL_SIZE: 'many' }, 'INVENTORY_DB_POOL_SIZE'],
    [{ ...DATABASE, INVENTORY_MIGRATE: 'maybe' }, 'INVENTORY_MIGRATE'],
    [{ ...DATABASE, INVENTORY_LOG_LEVEL: 'loud' }, 'INVENTORY_LOG_LEVEL'],
    [{ ...DATABASE, INVENTORY_MAX_ATTRIBUTES_BYTES: '1' }, 'INVENTORY_MAX_ATTRIBUTES_BYTES no longer exists'],
    [{ ...DATABASE, INVENTORY_NODE_ENV: 'production' }, 'INVENTORY_NODE_ENV no longer exists: set NODE_ENV'],
    [{ ...DATABASE, INVENTORY_AUTH_ENABLED: 'true', INVENTORY_AUTH_ISSUER: 'a' }, 'INVENTORY_AUTH_JWKS_URL'],
    [{ ...DATABASE, INVENTORY_AUTH_ROLE_SCOPES: 'clerk' }, 'INVENTORY_AUTH_ROLE_SCOPES'],
    [{ ...DATABASE, INVENTORY_CORS_ORIGINS: 'https://shop.example, shop.example' }, 'INVENTORY_CORS_ORIGINS'],
    [{ ...DATABASE, INVENTORY_CORS_ORIGINS: 'https://shop.example/' }, 'INVENTORY_CORS_ORIGINS'],
    [{ ...DATABASE, INVENTORY_RATE_LIMIT: 'off' }, 'INVENTORY_RATE_LIMIT'],
    [{ ...DATABASE, INVENTORY_RATE_LIMIT_STORE: 'redis' }, 'INVENTORY_REDIS_URL'],
    [{ ...DATABASE, INVENTORY_REDIS_URL: 'http://:hidden-password@localhost' }, 'INVENTORY_REDIS_URL'],
  ])('refuses %j, and names the setting without its value', (env, name) => {
    const load = () => loadInventoryConfig(env)
    expect(load).toThrow(ConfigError)
    expect(load).toThrow(name)
    expect(load).not.toThrow('hidden-password')
    expect(load).not.toThrow('(got ')
  })
})
