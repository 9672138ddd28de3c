import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { freePort } from '@trestle/testing/free-port.ts'
import { signAdminToken } from '../fixtures.ts'
import { type DatabaseServer, execute } from '../servers/database.ts'
import { runProgram } from '../servers/run-program.ts'
import { startServer } from '../servers/server.ts'
import { type Peers, startPeers } from './peers.ts'
import type { Side } from './run-steps.ts'
import type { Round } from './step.ts'
import { SECRET } from './tokens.ts'

/** How one of the two servers is started in each round. */
export interface ServerKind {
  readonly name: 'theirs' | 'ours'
  readonly prefix: 'GOTRUE_' | 'AUTH_'
  migrate(databaseUrl: string): Promise<void>
  /** Starts the server. The environment contains the database URL and the port. */
  start(
    env: Readonly<Record<string, string>>,
    url: string,
  ): Promise<{
    stop(): Promise<void>
    kill(): Promise<void>
  }>
  environment(databaseUrl: string, port: number): Readonly<Record<string, string>>
}

export function theirServer(program: string, folder: string): ServerKind {
  const base = { PATH: process.env.PATH ?? '' }
  const environment = (databaseUrl: string, port: number) => ({
    ...base,
    // Most statements of supabase/auth name tables without a schema.
    DATABASE_URL: `${databaseUrl}?search_path=auth`,
    GOTRUE_DB_DRIVER: 'postgres',
    // Otherwise supabase/auth opens a connection for each statement.
    GOTRUE_DB_MAX_POOL_SIZE: '10',
    GOTRUE_DB_MAX_IDLE_POOL_SIZE: '10',
    // Old versions read migrations from the folder of the program.
    GOTRUE_DB_MIGRATIONS_PATH: join(dirname(program), 'migrations'),
    GOTRUE_LOG_LEVEL: 'warn',
    PORT: String(port),
  })
  return {
    name: 'theirs',
    prefix: 'GOTRUE_',
    environment,
    migrate: async (databaseUrl) => {
      // The migrations grant rights to this role and need the schema.
      await execute(databaseUrl, `DO $$ BEGIN CREATE ROLE postgres; EXCEPTION WHEN duplicate_object THEN NULL; END $$`)
      await execute(databaseUrl, 'CREATE SCHEMA auth')
      const needed = {
        GOTRUE_JWT_SECRET: SECRET,
        GOTRUE_SITE_URL: 'http://localhost',
        API_EXTERNAL_URL: 'http://localhost',
      }
      const env = { ...environment(databaseUrl, 0), ...needed, GOTRUE_API_HOST: '127.0.0.1' }
      await runProgram({ program, args: ['migrate'], env, cwd: folder })
    },
    start: (env, url) =>
      startServer({
        name: program,
        program,
        args: ['serve'],
        env,
        cwd: folder,
        cores: undefined,
        url,
        signs: ['/health'],
      }),
  }
}

export function ourServer(checkout: string, folder: string, profile: string): ServerKind {
  const entry = join(checkout, 'services', 'auth', 'src', 'main.ts')
  const base = { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: join(folder, 'cache') }
  const environment = (databaseUrl: string, port: number) => ({
    ...base,
    AUTH_PROFILE: profile,
    AUTH_DB_DRIVER: 'postgres',
    DATABASE_URL: databaseUrl,
    AUTH_API_PORT: String(port),
    AUTH_LOG_FILE: join(folder, 'ours.log'),
  })
  return {
    name: 'ours',
    prefix: 'AUTH_',
    environment,
    migrate: async (databaseUrl) => {
      const needed = {
        AUTH_JWT_SECRET: SECRET,
        AUTH_SITE_URL: 'http://localhost',
        AUTH_API_EXTERNAL_URL: 'http://localhost',
      }
      const smtp = { AUTH_SMTP_HOST: '127.0.0.1', AUTH_SMTP_PORT: '25', AUTH_SMTP_ADMIN_EMAIL: 'auth@example.com' }
      const env = { ...environment(databaseUrl, 0), ...needed, ...smtp }
      await runProgram({ program: process.execPath, args: [entry, 'migrate'], env, cwd: folder })
    },
    start: (env, url) =>
      startServer({ name: 'auth', args: [entry, 'serve'], env, cwd: folder, cores: undefined, url, signs: ['/ready'] }),
  }
}

/** A server with the settings of a round and a separate database. */
interface StartedSide {
  readonly side: Side
  close(): Promise<void>
}

/** Prepares one of the two servers for each round. */
export interface Sides {
  start(round: Round): Promise<StartedSide>
}

/** Starts servers of one kind, each with a copy of one migrated database. */
export async function openSides(kind: ServerKind, database: DatabaseServer): Promise<Sides> {
  const template = `trestle_bench_compare_${kind.name}`
  await kind.migrate(await database.create(template))
  return {
    start: async (round) => {
      await using opened = new AsyncDisposableStack()
      const peers = await startPeers({ http: 0, smtp: 0 })
      opened.defer(peers.close)
      const port = await freePort()
      const url = `http://127.0.0.1:${port}`
      const databaseUrl = await database.create(`${template}_${round.name.replaceAll(/\W/g, '_')}`, template)
      const settings = settingsOf(round, { url, peers })
      const own = Object.entries(settings).map(([name, value]) => [kind.prefix + name, value])
      const env = { ...kind.environment(databaseUrl, port), ...Object.fromEntries(own), API_EXTERNAL_URL: url }
      const server = await kind.start(env, url)
      opened.defer(server.stop)
      const all = opened.move()
      return { side: { url, peers, adminToken: signAdminToken(SECRET) }, close: () => all.disposeAsync() }
    },
  }
}

/** The ports of the stubs for a server that was started by hand. */
const FIXED_PORTS = { http: 8126, smtp: 8125 } as const

/** The environment lines that a server started by hand needs for a round. */
export function printableSettings(round: Round, url: string): readonly string[] {
  const peers = `http://127.0.0.1:${FIXED_PORTS.http}`
  const context = { url, peers: { url: peers, realm: `${peers}/realms/test`, smtpPort: FIXED_PORTS.smtp } }
  const own = Object.entries(settingsOf(round, context)).map(([name, value]) => `GOTRUE_${name}=${value}`)
  return [...own, `API_EXTERNAL_URL=${url}`]
}

/** Uses a running server, which has the settings of a round and an empty database. */
export function attachSides(url: string): Sides {
  return {
    start: async () => {
      const peers = await startPeers(FIXED_PORTS)
      return { side: { url, peers, adminToken: signAdminToken(SECRET) }, close: peers.close }
    },
  }
}

export function createServerFolder(folder: string, name: ServerKind['name']): string {
  const own = join(folder, name)
  mkdirSync(own, { recursive: true })
  return own
}

const HOOK_SECRET = `v1,whsec_${Buffer.from('a secret of the hooks of both servers').toString('base64')}`

/** The kinds of mails with templates. */
const KINDS = [
  ...['INVITE', 'CONFIRMATION', 'RECOVERY', 'EMAIL_CHANGE', 'MAGIC_LINK', 'REAUTHENTICATION'],
  ...['PASSWORD_CHANGED', 'EMAIL_CHANGED', 'PHONE_CHANGED', 'IDENTITY_LINKED', 'IDENTITY_UNLINKED'].map(notification),
  ...['MFA_FACTOR_ENROLLED', 'MFA_FACTOR_UNENROLLED'].map(notification),
]

function notification(event: string): string {
  return `${event}_NOTIFICATION`
}

/** Settings for every round: all sign-in methods are on, and no limit rejects requests. */
const USUAL: Readonly<Record<string, string>> = {
  JWT_SECRET: SECRET,
  JWT_AUD: 'authenticated',
  JWT_EXP: '3600',
  JWT_DEFAULT_GROUP_NAME: 'authenticated',
  JWT_ADMIN_ROLES: 'supabase_admin,service_role',
  API_HOST: '127.0.0.1',
  SITE_URL: 'http://localhost:3000',
  URI_ALLOW_LIST: 'http://localhost:3000/**,https://app.example.com/**,myapp://callback,myapp://callback/**',
  EXTERNAL_EMAIL_ENABLED: 'true',
  EXTERNAL_PHONE_ENABLED: 'true',
  EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  SECURITY_MANUAL_LINKING_ENABLED: 'true',
  MFA_PHONE_ENROLL_ENABLED: 'true',
  MFA_PHONE_VERIFY_ENABLED: 'true',
  SMTP_HOST: '127.0.0.1',
  SMTP_ADMIN_EMAIL: 'auth@example.com',
  SMTP_SENDER_NAME: 'Auth',
  // supabase/auth treats 0 as unset.
  SMTP_MAX_FREQUENCY: '1ns',
  SMS_MAX_FREQUENCY: '1ns',
  MFA_PHONE_MAX_FREQUENCY: '1ns',
  RATE_LIMIT_EMAIL_SENT: '1000000',
  RATE_LIMIT_SMS_SENT: '1000000',
  RATE_LIMIT_VERIFY: '1000000',
  RATE_LIMIT_TOKEN_REFRESH: '1000000',
  RATE_LIMIT_SSO: '1000000',
  RATE_LIMIT_ANONYMOUS_USERS: '1000000',
  RATE_LIMIT_OTP: '1000000',
  RATE_LIMIT_PASSKEY: '1000000',
  MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: '1000000',
}

interface SettingsContext {
  readonly url: string
  readonly peers: Pick<Peers, 'url' | 'realm' | 'smtpPort'>
}

/** The settings of a server in a round, without prefix. */
function settingsOf(round: Round, { url, peers }: SettingsContext): Readonly<Record<string, string>> {
  const hooks = (round.hooks ?? []).flatMap((name) => [
    [`HOOK_${name}_ENABLED`, 'true'],
    [`HOOK_${name}_URI`, `${peers.url}/hooks/${name}`],
    [`HOOK_${name}_SECRETS`, HOOK_SECRET],
  ])
  const templates = KINDS.map((kind) => [`MAILER_TEMPLATES_${kind}`, `${peers.url}/templates/${kind}`])
  return {
    ...USUAL,
    SMTP_PORT: String(peers.smtpPort),
    EXTERNAL_KEYCLOAK_ENABLED: 'true',
    EXTERNAL_KEYCLOAK_CLIENT_ID: 'client',
    EXTERNAL_KEYCLOAK_SECRET: 'secret of the client',
    EXTERNAL_KEYCLOAK_REDIRECT_URI: `${url}/callback`,
    EXTERNAL_KEYCLOAK_URL: peers.realm,
    ...Object.fromEntries(hooks),
    ...(round.hasTemplates && Object.fromEntries(templates)),
    ...round.settings,
  }
}
