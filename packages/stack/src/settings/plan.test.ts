import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { StackFailure } from '../stack-failure.ts'
import { type PlanRequest, planStack } from './plan.ts'
import { environmentOf } from './service-environment.ts'

const request: PlanRequest = { root: '/repo', program: 'main.ts', env: {}, names: [], isWatched: false }
const shared = {
  databaseUrl: 'postgres://embedded',
  secrets: {
    AUTH_JWT_SECRET: 'jwt',
    AUTH_JWT_KEYS: '[]',
    AUTH_SECURITY_DATABASE_ENCRYPTION_KEY: 'key',
    PAYMENTS_PEPPER: 'pepper',
    PAYMENTS_VAULT_KEYS: '1:vault',
    CONSOLE_SECRET: 'seal',
    TRESTLE_OPERATOR_KEY: 'operator key',
    TRESTLE_OPERATOR_PASSWORD: 'operator password',
    TRESTLE_DATABASE_PASSWORD: 'password',
  },
  smtpPort: 1025,
  homeUrl: 'http://localhost:8083',
  movedLogDirectory: undefined,
  compileCache: '/repo/.data/cache/node',
}

function environmentFor(name: string, env: Record<string, string> = {}) {
  const service = planStack({ ...request, env, names: [name] }).services[0]
  if (!service) throw new Error('not planned')
  return environmentOf(service.definition, env, shared)
}

describe('planStack', () => {
  it('plans all services on their ports', () => {
    const plan = planStack(request)
    expect(plan.services.map(({ definition, address }) => [definition.name, address.port])).toEqual([
      ['inventory', 8080],
      ['auth', 8081],
      ['payments', 8082],
      ['console', 8084],
    ])
    expect(plan.ports.map(({ port }) => port)).toEqual([
      8080, 9102, 8081, 9100, 8082, 9101, 8084, 9103, 8083, 1025, 8025, 15_432,
    ])
    expect(plan.dataDirectory).toBe('/repo/.data')
  })

  it('claims no port for metrics that are off or pushed', () => {
    const env = { AUTH_METRICS_ENABLED: 'no', PAYMENTS_METRICS_EXPORTER: 'opentelemetry' }
    expect(planStack({ ...request, env }).ports.map(({ port }) => port)).toEqual([
      8080, 9102, 8081, 8082, 8084, 9103, 8083, 1025, 8025, 15_432,
    ])
  })

  it('counts all ports from one base, each its own', () => {
    const ports = planStack({ ...request, env: { TRESTLE_PORT_BASE: '20000' } }).ports.map(({ port }) => port)
    expect(ports.sort()).toEqual(Array.from({ length: 12 }, (_, distance) => 20_000 + distance))
  })

  it('knows which ports are counted from the base', () => {
    const env = { TRESTLE_PORT_BASE: '20000', AUTH_PORT: '9000', TRESTLE_HOME_PORT: '9001' }
    const { ports } = planStack({ ...request, env, names: ['auth'] })
    expect(ports.flatMap(({ isCounted, setting }) => (isCounted ? [setting] : []))).toEqual([
      'AUTH_OTEL_EXPORTER_PROMETHEUS_PORT',
      'MAIL_SMTP_PORT',
      'MAIL_WEB_PORT',
      'TRESTLE_DATABASE_PORT',
    ])
    expect(planStack(request).ports.filter(({ isCounted }) => isCounted)).toEqual([])
  })

  it('plans a service that sends no mail without the mail catcher', () => {
    const plan = planStack({ ...request, names: ['inventory'] })
    expect(plan.ports.map(({ setting }) => setting)).toEqual([
      'INVENTORY_PORT',
      'INVENTORY_OTEL_EXPORTER_PROMETHEUS_PORT',
      'TRESTLE_HOME_PORT',
      'TRESTLE_DATABASE_PORT',
    ])
    expect(plan.hasMail).toBe(false)
  })

  it('plans no embedded server when the user has a database', () => {
    expect(planStack({ ...request, env: { DATABASE_URL: 'postgres://own' } }).databasePort).toBeUndefined()
    const own = { AUTH_DB_DATABASE_URL: 'postgres://own' }
    expect(planStack({ ...request, env: own, names: ['auth'] }).databasePort).toBeUndefined()
    expect(planStack({ ...request, env: own }).databasePort).toBe(15_432)
  })

  it('refuses an unknown service, names the known ones, and says where commands are listed', () => {
    const lists = 'npm start -- --help lists the commands, and npm -s run inventory -- --help those of a service.'
    expect(() => planStack({ ...request, names: ['products'] })).toThrow(
      new StackFailure([
        `There is no service "products". The services are inventory, auth, payments, console. ${lists}`,
      ]),
    )
  })

  it('suggests the service or the command that a misspelt word may mean', () => {
    const commands = ['start', 'status', 'stop', 'logs']
    expect(() => planStack({ ...request, names: ['statu', 'paymnts'], commands })).toThrow(
      new StackFailure([
        'There is no service "statu". The services are inventory, auth, payments, console. Did you mean status?',
        'There is no service "paymnts". The services are inventory, auth, payments, console. Did you mean payments?',
      ]),
    )
  })
})

describe('environmentOf', () => {
  it('starts auth on the embedded database with the ports, secrets and mail catcher of the stack', () => {
    expect(environmentFor('auth')).toEqual({
      DATABASE_URL: 'postgres://embedded',
      UV_THREADPOOL_SIZE: expect.stringMatching(/^\d+$/),
      NODE_OPTIONS: '--max-semi-space-size=8',
      MALLOC_MMAP_THRESHOLD_: '65536',
      MALLOC_TRIM_THRESHOLD_: '131072',
      MALLOC_ARENA_MAX: '2',
      NODE_COMPILE_CACHE: '/repo/.data/cache/node',
      AUTH_API_HOST: '127.0.0.1',
      AUTH_API_PORT: '8081',
      AUTH_API_EXTERNAL_URL: 'http://localhost:8081',
      AUTH_SITE_URL: 'http://localhost:8083',
      AUTH_OPERATOR_KEYS: expect.stringMatching(
        /^console-viewer:viewer:[0-9a-f]{64},console-support:support:[0-9a-f]{64},console-admin:admin:[0-9a-f]{64}$/,
      ),
      AUTH_OPERATOR_REQUIRE_MFA: 'no',
      AUTH_DB_DRIVER: 'postgres',
      AUTH_DB_ROLE: 'auth_service',
      AUTH_JWT_SECRET: 'jwt',
      AUTH_JWT_KEYS: '[]',
      AUTH_SECURITY_DATABASE_ENCRYPTION_KEY: 'key',
      AUTH_SMTP_HOST: '127.0.0.1',
      AUTH_SMTP_PORT: '1025',
      AUTH_SMTP_ADMIN_EMAIL: 'auth@trestle.localhost',
      AUTH_SMTP_SENDER_NAME: 'Trestle',
      AUTH_SMTP_MAX_FREQUENCY: '1s',
      AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
      AUTH_METRICS_ENABLED: 'true',
      AUTH_METRICS_EXPORTER: 'prometheus',
      OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1',
      AUTH_OTEL_EXPORTER_PROMETHEUS_PORT: '9100',
    })
  })

  it('lets payments send webhooks to programs of this machine, unless the user says otherwise', () => {
    const webhooksOf = ({
      PAYMENTS_WEBHOOK_ALLOW_HTTP,
      PAYMENTS_WEBHOOK_ALLOWED_HOSTS,
    }: Partial<NodeJS.ProcessEnv>) => [PAYMENTS_WEBHOOK_ALLOW_HTTP, PAYMENTS_WEBHOOK_ALLOWED_HOSTS]
    expect(webhooksOf(environmentFor('payments'))).toEqual(['true', 'localhost,127.0.0.1,::1'])
    const env = { PAYMENTS_WEBHOOK_ALLOW_HTTP: 'false' }
    expect(webhooksOf(environmentFor('payments', env))).toEqual(['false', 'localhost,127.0.0.1,::1'])
  })

  it('gives the console keys of each service whose digests the services know', () => {
    const console = environmentFor('console')
    const keys = (console.CONSOLE_AUTH_KEYS ?? '').split(',').map((entry) => entry.split(':'))
    const known = ['auth', 'payments', 'inventory'].map(
      (name) => environmentFor(name)[`${name.toUpperCase()}_OPERATOR_KEYS`],
    )
    const digests = keys.map(
      ([role, key = '']) => `console-${role}:${role}:${createHash('sha256').update(key).digest('hex')}`,
    )
    expect(known).toEqual([digests.join(','), digests.join(','), digests.join(',')])
    expect(new Set(keys.map(([, key]) => key)).size).toBe(3)
    expect([console.CONSOLE_PAYMENTS_KEYS, console.CONSOLE_INVENTORY_KEYS]).toEqual([
      console.CONSOLE_AUTH_KEYS,
      console.CONSOLE_AUTH_KEYS,
    ])
  })

  it('starts the console without a database, over the services of the stack', () => {
    const env = environmentFor('console', { TRESTLE_PORT_BASE: '20000' })
    expect(Object.keys(env).filter((name) => /DATABASE|DB_ROLE/.test(name))).toEqual([])
    expect([env.CONSOLE_BASE_URL, env.CONSOLE_AUTH_URL, env.CONSOLE_PAYMENTS_URL, env.CONSOLE_INVENTORY_URL]).toEqual([
      'http://localhost:20010',
      'http://localhost:20001',
      'http://localhost:20002',
      'http://localhost:20000',
    ])
  })

  it('has services verify operators by the issuer and the keys of auth', () => {
    const operatorsOf = (env: Record<string, string>) => {
      const { INVENTORY_OPERATOR_ISSUER, INVENTORY_OPERATOR_JWKS_URL } = environmentFor('inventory', env)
      return [INVENTORY_OPERATOR_ISSUER, INVENTORY_OPERATOR_JWKS_URL]
    }
    const keysUrl = 'http://localhost:8081/.well-known/jwks.json'
    expect(operatorsOf({})).toEqual(['http://localhost:8081', keysUrl])
    expect(operatorsOf({ AUTH_API_EXTERNAL_URL: 'https://auth.example' })).toEqual(['https://auth.example', keysUrl])
    expect(operatorsOf({ INVENTORY_OPERATOR_JWT_SECRET: 'secret' })).toEqual(['http://localhost:8081', undefined])
  })

  it('tells auth the proxies that the strict profile has to know, unless the user does', () => {
    const proxiesOf = (env: Record<string, string>) => environmentFor('auth', env).AUTH_TRUSTED_PROXIES
    expect(proxiesOf({ AUTH_PROFILE: 'strict' })).toBe('127.0.0.0/8,::1')
    expect(proxiesOf({ AUTH_PROFILE: 'strict', AUTH_TRUSTED_PROXIES: '1' })).toBe('1')
    expect(proxiesOf({ AUTH_PROFILE: 'compatible' })).toBeUndefined()
  })

  it('moves the log file of inventory with the data', () => {
    const [inventory] = planStack({ ...request, names: ['inventory'] }).services
    if (!inventory) throw new Error('not planned')
    const env = environmentOf(inventory.definition, {}, { ...shared, movedLogDirectory: '/moved/logs' })
    expect(env.INVENTORY_LOG_FILE).toBe('/moved/logs/app.log')
    expect(environmentFor('inventory').INVENTORY_LOG_FILE).toBeUndefined()
  })

  it('prefers the settings of the user, and follows a changed port', () => {
    const env = environmentFor('auth', {
      AUTH_API_PORT: '9000',
      AUTH_SITE_URL: 'https://app.example',
      LOG_LEVEL: 'debug',
    })
    expect(env).toEqual({
      ...environmentFor('auth'),
      AUTH_API_PORT: '9000',
      AUTH_API_EXTERNAL_URL: 'http://localhost:9000',
      AUTH_SITE_URL: 'https://app.example',
      LOG_LEVEL: 'debug',
    })
  })

  it('follows a port by its other name, unless the first name is set', () => {
    const portsOf = ({ AUTH_API_PORT, AUTH_API_EXTERNAL_URL }: Partial<NodeJS.ProcessEnv>) => [
      AUTH_API_PORT,
      AUTH_API_EXTERNAL_URL,
    ]
    const at9000 = ['9000', 'http://localhost:9000']
    expect(portsOf(environmentFor('auth', { AUTH_PORT: '9000' }))).toEqual(at9000)
    expect(portsOf(environmentFor('auth', { AUTH_API_PORT: '9000', AUTH_PORT: 'nine' }))).toEqual(at9000)
  })

  it('prefers a name without prefix to the default', () => {
    const env = environmentFor('auth', { API_EXTERNAL_URL: 'https://auth.example' })
    expect(env.API_EXTERNAL_URL).toBe('https://auth.example')
    expect(env.AUTH_API_EXTERNAL_URL).toBeUndefined()
  })

  it('leaves out the settings of other services', () => {
    expect(environmentFor('inventory', { AUTH_JWT_SECRET: 'x', PAYMENTS_PEPPER: 'y', HOME: '/home' })).toEqual({
      ...environmentFor('inventory'),
      HOME: '/home',
    })
  })
})
