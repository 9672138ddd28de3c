import { join } from 'node:path'
import { startSmtpListener } from '@trestle/stack/mail/smtp-listener.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import pg from 'pg'
import { startSilence } from '../../fixtures.ts'
import { openDatabaseServer } from '../../servers/database.ts'
import { type Deployment, deploy } from '../../servers/deployment.ts'
import type { Server } from '../../servers/server.ts'

export const SERVICES = ['auth', 'payments', 'inventory'] as const
export type ServiceName = (typeof SERVICES)[number]

/** A service that can be killed and restarted at the same address. */
export interface FixtureService {
  readonly url: string
  readonly metricsPort: number
  /** Runs a command of the service. @throws Error if it fails */
  command(...args: readonly string[]): Promise<void>
  kill(): Promise<void>
  start(): Promise<void>
}

/** The services on one database with a standby, and the servers that they need. */
export interface Fixture extends Readonly<Record<ServiceName, FixtureService>> {
  readonly mails: MailServer
  /** Connects as superuser, by default to the services' database. The caller closes the connection. */
  connect(place?: 'standby' | 'server'): Promise<pg.Client>
  readonly databaseName: string
}

const DATABASE = 'trestle_bench_alerts'
/** Without these settings, limits would stop a load from one address. */
const SETTINGS: Readonly<Record<ServiceName, Readonly<Record<string, string>>>> = {
  auth: {
    AUTH_MAILER_AUTOCONFIRM: 'true',
    AUTH_RATE_LIMIT_TOKEN_REFRESH: 'off',
    AUTH_RATE_LIMIT_OTP: 'off',
    // 60 mails a minute, possibly all at the same moment. Some requests exceed the limit, for the dashboard.
    AUTH_RATE_LIMIT_EMAIL_SENT: '60/1s',
    AUTH_SECURITY_FAILED_ATTEMPTS: 'off',
    AUTH_SMTP_MAX_FREQUENCY: '0s',
  },
  payments: {
    PAYMENTS_RATE_KEY: '200',
    PAYMENTS_RATE_APPS: '0',
    PAYMENTS_RATE_FAILURES: '0',
    PAYMENTS_RATE_ADDRESS: '0',
    PAYMENTS_RATE_MAILS: '0',
    PAYMENTS_RATE_INVITATIONS: '0',
    PAYMENTS_WEBHOOK_ALLOW_HTTP: 'true',
    PAYMENTS_WEBHOOK_ALLOWED_HOSTS: '127.0.0.1',
  },
  inventory: {
    INVENTORY_DB_POOL_SIZE: '4',
    // One client may use three quarters of the pool. With a trusted proxy, requests can pretend to be other clients.
    INVENTORY_TRUSTED_PROXIES: '1',
  },
}
const PORTS: Readonly<Record<ServiceName, string>> = {
  auth: 'AUTH_API_PORT',
  payments: 'PAYMENTS_PORT',
  inventory: 'INVENTORY_PORT',
}

/** Creates the fixture. Disposing of `started` ends everything. */
export async function createFixture(folder: string, started: AsyncDisposableStack): Promise<Fixture> {
  // Always use a separate server, because the faults would damage any other database.
  const database = await openDatabaseServer({ url: undefined, folder: join(folder, 'postgres') })
  started.defer(database.close)
  const standby = new URL(await database.startStandby())
  const databaseUrl = await database.create(DATABASE)
  const readUrl = Object.assign(standby, { pathname: `/${DATABASE}` }).href
  const smtpPort = await freePort()
  const mails = await startMailServer(smtpPort)
  started.defer(mails.close)
  const places = {
    database: databaseUrl,
    standby: readUrl,
    server: Object.assign(new URL(databaseUrl), { pathname: '/postgres' }).href,
  }
  const start = (name: ServiceName) => startService(name, { folder, databaseUrl, readUrl, smtpPort, started })
  const [auth, payments, inventory] = await Promise.all([start('auth'), start('payments'), start('inventory')])
  return {
    auth,
    payments,
    inventory,
    mails,
    connect: async (place) => {
      const client = new pg.Client({ connectionString: places[place ?? 'database'] })
      // Some faults close all connections. Without a listener, the error of an idle connection would end the drill.
      client.on('error', () => {})
      await client.connect()
      return client
    },
    databaseName: DATABASE,
  }
}

async function startService(
  name: ServiceName,
  options: {
    readonly folder: string
    readonly databaseUrl: string
    readonly readUrl: string
    readonly smtpPort: number
    readonly started: AsyncDisposableStack
  },
): Promise<FixtureService> {
  const [port, metricsPort] = [await freePort(), await freePort()]
  const prefix = name.toUpperCase()
  const { smtpPort } = options
  const deployment: Deployment = await deploy(name, {
    folder: options.folder,
    databaseUrl: options.databaseUrl,
    env: {
      [PORTS[name]]: String(port),
      [`${prefix}_OTEL_EXPORTER_PROMETHEUS_PORT`]: String(metricsPort),
      ...(name === 'auth' ? { AUTH_SMTP_PORT: String(smtpPort) } : { [`${prefix}_DB_READ_URL`]: options.readUrl }),
      ...(name === 'payments' ? { PAYMENTS_SMTP_URL: `smtp://127.0.0.1:${smtpPort}` } : {}),
      ...SETTINGS[name],
    },
  })
  const run = () => deployment.start()
  let server: Server = await run()
  options.started.defer(() => server.stop())
  return {
    url: server.url,
    metricsPort,
    command: async (...args) => {
      await deployment.runCommand(...args)
    },
    kill: () => server.kill(),
    start: async () => {
      server = await run()
    },
  }
}

export interface MailServer {
  close(): Promise<void>
  /** Accepts connections but never responds. */
  silence(): Promise<void>
  open(): Promise<void>
}

/** Starts the server on a port of 127.0.0.1. */
async function startMailServer(port: number): Promise<MailServer> {
  let listener = await startSmtpListener({ add: async () => {} }, port)
  const close = async () => {
    await listener.close()
    listener = NOBODY
  }
  const NOBODY = { port, close: async () => {} }
  return {
    close,
    silence: async () => {
      await close()
      listener = { port, close: await startSilence(port) }
    },
    open: async () => {
      await close()
      listener = await startSmtpListener({ add: async () => {} }, port)
    },
  }
}
