import { readFileSync } from 'node:fs'
import { createTemporaryDatabase, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { z } from 'zod'

/** The databases of supabase/auth servers, by version. */
export const VERSIONS = ['v2.43.1', 'v2.101.0', 'v2.151.0', 'v2.196.0', 'v2.196.0-encrypted'] as const
/** A version of supabase/auth. `-encrypted` means that it encrypts secrets. */
export type Version = (typeof VERSIONS)[number]

const Session = z.object({
  access_token: z.string(),
  refresh_token: z.string(),
  session_id: z.string(),
  aal: z.enum(['aal1', 'aal2']),
})
const Key = z.object({
  credential_id: z.string(),
  user_handle: z.string(),
  counter: z.number(),
  private_key: z.record(z.string(), z.string()),
})
const OldUser = z.object({
  name: z.string(),
  id: z.string().optional(),
  email: z.string().optional(),
  phone: z.string().optional(),
  password: z.string().optional(),
  signs_in: z.boolean().optional(),
  deleted: z.boolean().optional(),
  sessions: z.array(Session).default([]),
  dead_sessions: z.array(Session).default([]),
  parents: z.array(z.string()).default([]),
  grandparents: z.array(z.string()).default([]),
  pending: z
    .object({
      type: z.string(),
      hashed_token: z.string(),
      email_otp: z.string(),
      new_email: z.string().optional(),
    })
    .optional(),
  pkce: z.object({ auth_code: z.string(), code_verifier: z.string() }).optional(),
  totp: z.object({ factor_id: z.string(), secret: z.string() }).optional(),
  passkey: Key.optional(),
  webauthn: Key.extend({ factor_id: z.string() }).optional(),
  external: z.object({ provider: z.string(), sub: z.string() }).optional(),
  tokens: z.object({ access_token: z.string(), refresh_token: z.string(), user: z.string() }).optional(),
})
const Manifest = z.object({
  made: z.string(),
  jwt_secret: z.string(),
  migration: z.string(),
  rows: z.record(z.string(), z.number()),
  users: z.array(OldUser),
  encryption: z.object({ key: z.string() }).optional(),
})

/** The content of a database, according to the answers of its old server. */
export type Manifest = z.output<typeof Manifest>
/** A user, with all data that a test needs to act for the user. */
export type OldUser = z.output<typeof OldUser>

export function readManifest(version: Version): Manifest {
  return Manifest.parse(JSON.parse(readFileSync(new URL(`databases/${version}.json`, import.meta.url), 'utf8')))
}

/** A database of supabase/auth. Its owner connects to `url`. */
export interface RestoredDatabase {
  readonly superuserUrl: string
  readonly url: string
  readonly manifest: Manifest
  readonly drop: TemporaryDatabase['drop']
}

const OWNER = 'supabase_auth_admin'
const PASSWORD = 'root'

/** The roles of Supabase. They stay on the server, because several test files need them at the same time. */
const ROLES = {
  supabase_admin: 'LOGIN CREATEROLE CREATEDB REPLICATION BYPASSRLS',
  [OWNER]: `LOGIN NOINHERIT CREATEROLE PASSWORD '${PASSWORD}'`,
  anon: 'NOLOGIN',
  authenticated: 'NOLOGIN',
  service_role: 'NOLOGIN BYPASSRLS',
  postgres: 'BYPASSRLS',
}

/** Runs one or more SQL statements, and returns the rows of a single one. */
export async function runSql<Row = Record<string, unknown>>(url: string, text: string): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const result = await client.query(text).finally(() => client.end())
  return result.rows
}

/** Reads tables over one connection. @param selects the statement for each table */
export async function readTables(
  url: string,
  selects: Readonly<Record<string, string>>,
): Promise<readonly (readonly [table: string, rows: readonly unknown[]])[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const tables: [string, readonly unknown[]][] = []
    for (const [table, select] of Object.entries(selects)) tables.push([table, (await client.query(select)).rows])
    return tables
  } finally {
    await client.end()
  }
}

/** Creates a database from the dump of a version. The dump is loaded once, and each database is a copy. */
export function restoreDatabase(version: Version): Promise<RestoredDatabase> {
  return restoreCopy(version, `auth dump ${version}`, (url) => loadDump(url, version))
}

/**
 * Copies a database that is created from the dump of a version.
 * @param template identifies the copied database
 * @param make fills an empty database, as the superuser of its URL
 */
export async function restoreCopy(
  version: Version,
  template: string,
  make: (superuserUrl: string) => Promise<unknown>,
): Promise<RestoredDatabase> {
  const { directUrl: superuserUrl, drop } = await createTemporaryDatabase({ template, migrate: make })
  await giveToOwner(superuserUrl)
  return { superuserUrl, url: ownerUrl(superuserUrl), manifest: readManifest(version), drop }
}

/** Loads the dump of a version into an empty database, as its superuser. */
export async function loadDump(superuserUrl: string, version: Version): Promise<void> {
  for (const [role, rights] of Object.entries(ROLES)) {
    await runSql(
      superuserUrl,
      `DO $$ BEGIN CREATE ROLE ${role} ${rights}; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$`,
    )
  }
  await runSql(superuserUrl, readFileSync(new URL(`databases/${version}.sql`, import.meta.url), 'utf8'))
}

/**
 * Gives the owner of the tables the properties that a copied database lacks: the right to create schemas, and the search path.
 */
export async function giveToOwner(superuserUrl: string, schema = 'auth'): Promise<void> {
  const name = new URL(superuserUrl).pathname.slice(1)
  await runSql(
    superuserUrl,
    `GRANT CREATE ON DATABASE ${name} TO ${OWNER}; ALTER ROLE ${OWNER} IN DATABASE ${name} SET search_path = ${schema}`,
  )
}

/** The connection URL of the owner of the tables. */
export function ownerUrl(url: string): string {
  return Object.assign(new URL(url), { username: OWNER, password: PASSWORD }).href
}

/** The OAuth client sessions that `--check` and an import count. @param fate what happens to them */
export function lostSessions(
  { manifest }: Pick<RestoredDatabase, 'manifest'>,
  fate: string,
): readonly { readonly what: string; readonly count: number }[] {
  const count = manifest.users.filter(({ tokens }) => tokens !== undefined).length
  const what = `sessions of OAuth clients, which this service does not serve: ${fate}`
  return count === 0 ? [] : [{ what, count }]
}

/** The settings with which this service replaces the server of the database. */
export function settingsFor({
  url,
  manifest,
}: Pick<RestoredDatabase, 'url' | 'manifest'>): Readonly<Record<string, string>> {
  return {
    AUTH_PROFILE: 'supabase',
    AUTH_DATABASE_URL: url,
    AUTH_DB_DRIVER: 'postgres',
    AUTH_SITE_URL: 'http://localhost:3000',
    AUTH_API_EXTERNAL_URL: 'http://127.0.0.1:9999',
    AUTH_JWT_SECRET: manifest.jwt_secret,
    AUTH_MAILER_AUTOCONFIRM: 'true',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    AUTH_SMS_AUTOCONFIRM: 'true',
    AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
    AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
    AUTH_MFA_WEBAUTHN_ENROLL_ENABLED: 'true',
    AUTH_MFA_WEBAUTHN_VERIFY_ENABLED: 'true',
    AUTH_PASSKEY_ENABLED: 'true',
    AUTH_WEBAUTHN_RP_ID: 'localhost',
    AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'Fixture',
    AUTH_WEBAUTHN_RP_ORIGINS: 'http://localhost:3000',
    AUTH_SECURITY_FAILED_ATTEMPTS: 'off',
    ...(manifest.encryption && { AUTH_SECURITY_DATABASE_ENCRYPTION_KEY: manifest.encryption.key }),
  }
}
